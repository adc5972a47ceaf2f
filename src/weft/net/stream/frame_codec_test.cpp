#include "weft/net/stream/frame_codec.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "weft/base/rng.h"
#include "weft/net/stream/frame_queue.h"

namespace weft::frame_codec_test {

namespace {

struct Collected : FrameSink {
  void on_frame(const FrameView& frame) override {
    frames.push_back({frame.type, Bytes(frame.head.begin(), frame.head.end()),
                      SharedBytes(Bytes(frame.body.begin(), frame.body.end()))});
    if (decoder != nullptr) decoder->halt();
  }
  MutableByteSpan body_destination(std::uint8_t, ByteSpan, std::size_t) override { return {}; }

  std::vector<Frame> frames;
  // Halted after each frame, if set.
  FrameDecoder* decoder = nullptr;
};

Status feed(FrameDecoder& decoder, ByteSpan bytes, Rng& rng, FrameSink& sink) {
  while (!bytes.empty()) {
    std::size_t given = 0;
    const std::size_t offered = 1 + rng.below(std::min<std::size_t>(bytes.size(), 5000));
    for (const MutableByteSpan part : decoder.destinations()) {
      const std::size_t size = std::min(part.size(), offered - given);
      std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(given), size, part.begin());
      given += size;
    }
    bytes = bytes.subspan(given);
    WEFT_TRY(decoder.received(given, sink));
    while (decoder.halted()) WEFT_TRY(decoder.resume(sink));
  }
  return {};
}

TEST(FrameCodec, WhatTheQueueGathersTheDecoderDelivers) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Rng rng(seed);
    FrameQueue queue;
    std::vector<Frame> sent;
    for (int i = 0; i < 30; ++i) {
      Frame frame;
      frame.type = static_cast<std::uint8_t>(0x10 + rng.below(200));
      frame.head.resize(rng.below(3) == 0 ? 0 : rng.below(3000));
      Bytes body(rng.below(3) == 0 ? 0 : rng.below(20000));
      for (std::uint8_t& byte : frame.head) byte = static_cast<std::uint8_t>(rng.next_u32());
      for (std::uint8_t& byte : body) byte = static_cast<std::uint8_t>(rng.next_u32());
      frame.body = SharedBytes(std::move(body));
      sent.push_back(frame);
      queue.push(frame);
    }
    FrameDecoder decoder(256);
    Collected received;
    if (seed % 2 == 0) received.decoder = &decoder;
    while (!queue.empty()) {
      std::array<ByteSpan, 7> parts;
      const std::size_t used = queue.gather(parts);
      Bytes stream;
      for (const ByteSpan part : std::span(parts).first(used)) {
        stream.insert(stream.end(), part.begin(), part.end());
      }
      stream.resize(1 + rng.below(stream.size()));
      queue.consume(stream.size());
      ASSERT_TRUE(feed(decoder, stream, rng, received).ok());
    }
    ASSERT_EQ(received.frames.size(), sent.size());
    for (std::size_t i = 0; i < sent.size(); ++i) {
      EXPECT_EQ(received.frames[i].type, sent[i].type);
      EXPECT_TRUE(received.frames[i].head == sent[i].head);
      EXPECT_TRUE(std::ranges::equal(received.frames[i].body.span(), sent[i].body.span()));
    }
  }
}

TEST(FrameQueue, CancelKeepsOnlyTheFrameUnderWay) {
  FrameQueue queue;
  for (int i = 0; i < 3; ++i) queue.push({0x30, Bytes(8), SharedBytes(Bytes(100))});
  EXPECT_EQ(queue.bytes(), 3 * 120U);
  queue.consume(130);
  queue.cancel();
  EXPECT_EQ(queue.bytes(), 110U);
  queue.consume(110);
  EXPECT_TRUE(queue.empty());
  queue.push({0x30, {}, {}});
  queue.cancel();
  EXPECT_TRUE(queue.empty());
}

}  // namespace

}  // namespace weft::frame_codec_test
