#include "contents.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace weft::hostile {
namespace {

constexpr std::size_t kRecordedMax = 16;
constexpr std::size_t kRecordedBytesMax = std::size_t{1} << 20;

Bytes random_bytes_of(std::size_t size, Rng& rng) {
  Bytes bytes(size);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(rng.next_u32());
  return bytes;
}

Bytes body_for(const FrameKind& kind, Rng& rng) {
  if (kind.body_bytes == 0) return {};
  const std::size_t size = rng.chance(0.7) ? kind.body_bytes : rng.below(kind.body_bytes + 1);
  return random_bytes_of(size, rng);
}

Lane other_lane(Lane lane) { return lane == Lane::kControl ? Lane::kBulk : Lane::kControl; }

Shot right_shot(const FrameKind& kind, const Facts& facts, Rng& rng) {
  return {kind.lane, framed(kind.type, kind.head(facts, rng), body_for(kind, rng))};
}

Shot wrong_shot(const FrameKind& kind, const Facts& facts, Rng& rng) {
  switch (rng.below(5)) {
    case 0: {
      // Some bytes are others.
      Bytes head = kind.head(facts, rng);
      const std::uint64_t changes = 1 + rng.below(8);
      for (std::uint64_t i = 0; i < changes && !head.empty(); ++i) {
        head[rng.below(head.size())] = static_cast<std::uint8_t>(rng.next_u32());
      }
      return {kind.lane, framed(kind.type, head, body_for(kind, rng))};
    }
    case 1:
      // Nothing but noise.
      return {kind.lane, framed(kind.type, random_bytes_of(rng.below(300), rng))};
    case 2: {
      Shot shot = right_shot(kind, facts, rng);
      shot.lane = other_lane(kind.lane);
      return shot;
    }
    case 3:
      // A body where none is meant to be.
      return {kind.lane,
              framed(kind.type, kind.head(facts, rng), random_bytes_of(1 + rng.below(5000), rng))};
    default:
      return right_shot(kind, distorted(facts, rng), rng);
  }
}

Shot huge_shot(const FrameKind& kind, const Facts& facts, Rng& rng) {
  constexpr std::array<std::uint32_t, 5> kLengths = {0xffffffff, 1U << 31U, (256U << 10U) + 1,
                                                     256U << 10U, 1025};
  switch (rng.below(4)) {
    case 0: {
      // Lengths that say the most; little or nothing follows.
      const std::uint32_t head_bytes = kLengths[rng.below(kLengths.size())];
      const std::uint32_t body_bytes = rng.chance(0.5) ? 0 : kLengths[rng.below(kLengths.size())];
      Bytes bytes = frame_header(head_bytes, body_bytes, kind.type);
      const Bytes some = random_bytes_of(rng.below(2000), rng);
      bytes.insert(bytes.end(), some.begin(), some.end());
      return {kind.lane, std::move(bytes)};
    }
    case 1:
      // As much as a frame may have.
      return {kind.lane, framed(kind.type, random_bytes_of(kFrameHeadBytesMax, rng))};
    case 2:
      return {kind.lane,
              framed(kind.type, kind.head(facts, rng), random_bytes_of(kFrameBodyBytesMax, rng))};
    default: {
      Bytes head = kind.head(inflated(facts, rng), rng);
      if (head.size() >= 4 && rng.chance(0.5)) {
        // A count or a length beyond its bound, if one is hit.
        const std::size_t at = rng.below(std::min<std::size_t>(head.size() - 3, 128));
        std::fill_n(head.begin() + static_cast<std::ptrdiff_t>(at), 4, std::uint8_t{0xff});
      }
      return {kind.lane, framed(kind.type, head, body_for(kind, rng))};
    }
  }
}

Shot truncated_shot(const FrameKind& kind, const Facts& facts, Rng& rng) {
  if (rng.chance(0.5)) {
    Bytes head = kind.head(facts, rng);
    head.resize(rng.below(head.size() + 1));
    return {kind.lane, framed(kind.type, head, body_for(kind, rng))};
  }
  // The header promises more than comes.
  Shot shot = right_shot(kind, facts, rng);
  shot.bytes.resize(rng.below(shot.bytes.size() + 1));
  return shot;
}

std::vector<Shot> replayed_shots(const FrameKind& kind, const Knowledge& knowledge, Rng& rng) {
  Shot shot = right_shot(kind, rng.chance(0.5) ? knowledge.now : knowledge.first, rng);
  if (const auto heard = knowledge.recording.any(kind.type, rng)) {
    shot.bytes = framed(heard->type, heard->head, heard->body);
  }
  return std::vector<Shot>(1 + rng.below(4), shot);
}

}  // namespace

std::optional<Content> parse_content(std::string_view name) {
  constexpr std::array<std::string_view, 7> kNames = {"right",     "wrong",    "old",  "huge",
                                                      "truncated", "replayed", "flood"};
  const auto* const found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Content>(std::distance(kNames.begin(), found));
}

void Recording::add(std::uint8_t type, Bytes head, Bytes body) {
  if (head.size() + body.size() > kRecordedBytesMax) return;
  std::deque<HeardFrame>& known = frames_[type];
  // The first ones stay: they grow old.
  if (known.size() >= kRecordedMax) known.erase(known.begin() + kRecordedMax / 2);
  known.push_back({type, std::move(head), std::move(body)});
}

std::optional<HeardFrame> Recording::any(std::uint8_t type, Rng& rng) const {
  const auto found = frames_.find(type);
  if (found == frames_.end() || found->second.empty()) return std::nullopt;
  return found->second[rng.below(found->second.size())];
}

std::vector<Shot> make_shots(const FrameKind& kind, Content content, const Knowledge& knowledge,
                             Rng& rng) {
  switch (content) {
    case Content::kRight:
      return {right_shot(kind, knowledge.now, rng)};
    case Content::kWrong:
      return {wrong_shot(kind, knowledge.now, rng)};
    case Content::kOld: {
      // Who speaks, and over which link, stays as it is.
      Facts old = knowledge.first;
      old.self = knowledge.now.self;
      old.peer = knowledge.now.peer;
      old.exporter = knowledge.now.exporter;
      old.other = knowledge.now.other;
      old.ticket = knowledge.now.ticket;
      old.spares_others = knowledge.now.spares_others;
      return {right_shot(kind, old, rng)};
    }
    case Content::kHuge:
      return {huge_shot(kind, knowledge.now, rng)};
    case Content::kTruncated:
      return {truncated_shot(kind, knowledge.now, rng)};
    case Content::kReplayed:
      return replayed_shots(kind, knowledge, rng);
    case Content::kFlood:
      return std::vector<Shot>(kFloodFrames, right_shot(kind, knowledge.now, rng));
  }
  return {};
}

}  // namespace weft::hostile
