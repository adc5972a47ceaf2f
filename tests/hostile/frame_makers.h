// A maker of heads for every type of frame, from what a hostile peer knows of a run.
//
// The table names each type as src/weft/wire/frame_type.h does; tests/hostile/hostile_test.py
// compares the two. A maker gives a message in good order; what is wrong, old or huge with it comes
// from the facts that it is given, and from contents.h.
// Threads: values. Fails: never.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/rng.h"
#include "weft/peer/ticket.h"
#include "weft/wire/collective_message.h"
#include "weft/wire/membership_message.h"
#include "weft/wire/state_message.h"

namespace weft::hostile {

struct Facts {
  Ticket ticket;
  // The ends of the link that the frame goes over.
  PeerId self;
  PeerId peer;
  std::array<std::uint8_t, 32> exporter{};
  std::uint64_t incarnation = 1;
  // Another peer that `peer` may be linked with.
  PeerId other;
  // The newest view that was heard of, and the newest round.
  ViewNoticeMessage current;
  Round round;
  Hash128 result_hash{};
  Hash256 layout_hash{};
  Hash256 invitation_key{};
  SnapshotName snapshot;
  std::string recipe;
  // How many elements a round's vector has.
  std::uint64_t elements = 1000;
  // The team of its first exchange.
  TeamId team{};
  // Where something listens that nobody has a reason to call.
  std::string trap = "127.0.0.1:9";
  // Members believe each other's proposals: who is one proposes no view without another.
  bool spares_others = false;
  // How many entries lists have, and how long texts are.
  std::uint32_t entries = 1;
};

// Each field that others check against something is another one, some of them extreme.
Facts distorted(const Facts& facts, Rng& rng);
// Lists and texts as long as some format allows.
Facts inflated(const Facts& facts, Rng& rng);

template <class Array>
Array random_array(Rng& rng) {
  Array value{};
  for (auto& byte : value) byte = static_cast<std::uint8_t>(rng.next_u32());
  return value;
}

struct FrameKind {
  std::uint8_t type = 0;
  std::string_view name;
  Lane lane = Lane::kControl;
  Bytes (*head)(const Facts& facts, Rng& rng) = nullptr;
  // The size of the body in a frame in good order.
  std::size_t body_bytes = 0;
};
// One entry for each constant of frame_type.h that names a type.
std::vector<FrameKind> frame_kinds();

// By family, for frame_kinds().
std::vector<FrameKind> link_kinds();
std::vector<FrameKind> membership_kinds();
std::vector<FrameKind> joining_kinds();
std::vector<FrameKind> collective_kinds();
std::vector<FrameKind> state_kinds();
std::vector<FrameKind> gossip_kinds();
std::vector<FrameKind> mix_kinds();
std::vector<FrameKind> parking_kinds();

}  // namespace weft::hostile
