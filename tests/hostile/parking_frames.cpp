// Frames of parked links. Members of a small group park none, and none of theirs is parked here.
#include <algorithm>

#include "frame_makers.h"
#include "weft/wire/frame_type.h"
#include "weft/wire/parking_message.h"

namespace weft::hostile {
namespace {

Bytes ask(const Facts& /*facts*/, Rng& rng) {
  return ParkAskMessage{random_array<ParkNonce>(rng)}.encode();
}

Bytes answer(const Facts& /*facts*/, Rng& rng) {
  return ParkAnswerMessage{rng.chance(0.5)}.encode();
}

Bytes done(const Facts& /*facts*/, Rng& /*rng*/) { return ParkDoneMessage().encode(); }

Bytes resume(const Facts& /*facts*/, Rng& rng) {
  return ParkResumeMessage{rng.chance(0.2) ? ParkName() : random_array<ParkName>(rng)}.encode();
}

Bytes routed(const Facts& facts, Rng& rng) {
  RoutedMessage message;
  message.origin = rng.chance(0.5) ? facts.self : facts.other;
  message.target = rng.chance(0.5) ? facts.peer : facts.other;
  message.hops = static_cast<std::uint8_t>(rng.below(kRoutedHopsMax + 1));
  message.sealed.resize(std::min<std::size_t>(16 + 32 * facts.entries, kRoutedBytesMax));
  for (std::uint8_t& byte : message.sealed) byte = static_cast<std::uint8_t>(rng.next_u32());
  return message.encode();
}

}  // namespace

std::vector<FrameKind> parking_kinds() {
  using namespace frame_type;
  return {
      {kParkAsk, "kParkAsk", Lane::kControl, ask},
      {kParkAnswer, "kParkAnswer", Lane::kControl, answer},
      {kParkDone, "kParkDone", Lane::kBulk, done},
      {kParkResume, "kParkResume", Lane::kControl, resume},
      {kRouted, "kRouted", Lane::kControl, routed},
  };
}

}  // namespace weft::hostile
