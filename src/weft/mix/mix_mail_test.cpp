// Letters over links that break: each arrives once and in order; what no member sends is corrupt.
#include "weft/mix/mix_mail.h"

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/rng.h"
#include "weft/base/testing/test_seeds.h"
#include "weft/wire/frame_type.h"

namespace weft::mix_mail_test {
namespace {

constexpr PeerId kOther{{7}};

// One end of a link: takes frames in while it stands, up to a bound on the bulk lane.
class QueueTransport final : public Transport {
 public:
  const PeerId& self() const override { return self_; }
  void set_handler(TransportHandler& /*handler*/) override {}
  void connect(const PeerAddress& /*peer*/) override {}
  Status send(const PeerId& /*to*/, Lane lane, Frame frame) override {
    if (!up) return unavailable("no link");
    if (lane == Lane::kBulk) queued += frame.body.size();
    frames.push_back(std::move(frame));
    return {};
  }
  std::size_t queued_bytes(const PeerId& /*to*/, Lane /*lane*/) const override { return queued; }
  void cancel_bulk(const PeerId& /*to*/) override {}
  void close(const PeerId& /*peer*/, const Status& /*why*/) override {}
  bool linked(const PeerId& /*peer*/) const override { return up; }
  void set_trust(const PeerId& /*peer*/, LinkTrust /*trust*/) override {}

  bool up = false;
  std::size_t queued = 0;
  std::deque<Frame> frames;

 private:
  PeerId self_{};
};

MixLetter letter(std::uint64_t number, std::size_t bytes) {
  Bytes body(bytes, static_cast<std::uint8_t>(number));
  return {MixGivenMessage{{}, number, 1}, SharedBytes(std::move(body))};
}

constexpr std::uint64_t kLetterBytesMax = 9 * kMixPieceBytes;

constexpr MixMailOptions kMailOptions = {kLetterBytesMax, kLetterBytesMax};

struct End {
  QueueTransport transport;
  MixMail mail{transport, kMailOptions};
  std::vector<std::uint64_t> come;

  void link(bool up) {
    transport.up = up;
    transport.frames.clear();
    transport.queued = 0;
    if (up) return mail.link_up(kOther);
    mail.link_down(kOther);
  }
  Status take(const Frame& frame) {
    if (frame.type == frame_type::kMixReceived) return mail.received(kOther, frame.head);
    const auto whole = mail.piece(kOther, {frame.type, frame.head, frame.body.span()});
    if (!whole.ok()) return whole.status();
    if (!*whole) return {};
    const auto& given = std::get<MixGivenMessage>((*whole)->message);
    const ByteSpan bytes = (*whole)->bytes.span();
    EXPECT_TRUE(std::ranges::all_of(bytes, [&](std::uint8_t byte) {
      return byte == static_cast<std::uint8_t>(given.version);
    }));
    come.push_back(given.version);
    return {};
  }
};

// The oldest frame of one end reaches the other.
void carry(End& from, End& to) {
  if (from.transport.frames.empty()) return;
  const Frame frame = std::move(from.transport.frames.front());
  from.transport.frames.pop_front();
  from.transport.queued -= std::min(from.transport.queued, frame.body.size());
  EXPECT_TRUE(to.take(frame).ok());
  from.mail.writable(kOther);
}

TEST(MixMail, EachLetterArrivesOnceAndInOrderWhateverBecomesOfTheLink) {
  for (const std::uint64_t seed : TestSeeds(1, 30)) {
    Rng rng(seed, 1);
    End left;
    End right;
    std::vector<std::uint64_t> sent;
    for (int event = 0; event < 2000; ++event) {
      const std::uint64_t drawn = rng.below(100);
      if (drawn < 3 && left.mail.waiting() < kMixLettersMax) {
        const std::uint64_t number = sent.size();
        ASSERT_TRUE(left.mail.post(kOther, letter(number, 1 + rng.below(3 * kMixPieceBytes))));
        sent.push_back(number);
      } else if (drawn < 6) {
        const bool up = !left.transport.up;
        left.link(up);
        right.link(up);
      } else if (drawn < 53) {
        carry(left, right);
      } else {
        carry(right, left);
      }
    }
    left.link(false);
    right.link(false);
    left.link(true);
    right.link(true);
    while (!left.transport.frames.empty() || !right.transport.frames.empty()) {
      carry(left, right);
      carry(right, left);
    }
    EXPECT_EQ(right.come, sent) << "seed " << seed;
    EXPECT_EQ(left.mail.waiting(kOther), 0U) << "seed " << seed;
  }
}

TEST(MixMail, ALinkIsNotGivenMuchMoreThanItTakes) {
  End left;
  left.link(true);
  ASSERT_TRUE(left.mail.received(kOther, MixReceivedMessage{0}.encode()).ok());
  ASSERT_TRUE(left.mail.post(kOther, letter(1, 9 * kMixPieceBytes)));
  EXPECT_LE(left.transport.queued, 5 * kMixPieceBytes);
  left.transport.queued = 0;
  left.mail.writable(kOther);
  EXPECT_GT(left.transport.queued, 0U);
}

TEST(MixMail, AMemberThatTakesNothingIsGivenNoMore) {
  End left;
  for (std::size_t i = 0; i < kMixLettersMax; ++i) {
    ASSERT_TRUE(left.mail.post(kOther, letter(i, 1)));
  }
  EXPECT_FALSE(left.mail.post(kOther, letter(0, 1)));
  left.mail.forget(kOther);
  EXPECT_EQ(left.mail.waiting(), 0U);
}

TEST(MixMail, WhatNoMemberSendsIsCorrupt) {
  End end;
  end.link(true);
  EXPECT_EQ(end.mail.received(kOther, MixReceivedMessage{1}.encode()).code(), Code::kCorrupt);
  const Bytes body(kMixPieceBytes);
  const auto code_of = [&](const MixPiece& piece, std::size_t bytes) {
    const Bytes head = MixGivenMessage{piece, 1, 1}.encode();
    const FrameView frame = {frame_type::kMixGiven, head, ByteSpan(body).first(bytes)};
    return end.mail.piece(kOther, frame).status().code();
  };
  // Nothing of this size is allocated: it would not fit into any memory.
  EXPECT_EQ(code_of({0, kMixBytesMax, 0}, kMixPieceBytes), Code::kCorrupt);
  EXPECT_EQ(code_of({0, kLetterBytesMax + 1, 0}, kMixPieceBytes), Code::kCorrupt);
  EXPECT_EQ(code_of({0, 100, 0}, 99), Code::kCorrupt);
  EXPECT_EQ(code_of({1, 100, 0}, 100), Code::kCorrupt);
  EXPECT_EQ(code_of({0, 2 * kMixPieceBytes, 1}, kMixPieceBytes), Code::kCorrupt);
  EXPECT_EQ(code_of({0, 2 * kMixPieceBytes, 0}, kMixPieceBytes), Code::kOk);
  EXPECT_EQ(code_of({0, 2 * kMixPieceBytes + 1, 1}, kMixPieceBytes), Code::kCorrupt);
  EXPECT_EQ(code_of({0, 2 * kMixPieceBytes, 1}, kMixPieceBytes), Code::kOk);
  EXPECT_EQ(code_of({0, 100, 0}, 100), Code::kCorrupt);  // it has come already
}

}  // namespace
}  // namespace weft::mix_mail_test
