#include "frame_makers.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace weft::hostile {
namespace {

std::uint64_t extreme_number(std::uint64_t near_to, Rng& rng) {
  switch (rng.below(6)) {
    case 0:
      return 0;
    case 1:
      return std::numeric_limits<std::uint64_t>::max();
    case 2:
      return std::uint64_t{1} << 63U;
    case 3:
      return near_to + 1 + rng.below(4);
    case 4:
      return near_to > 3 ? near_to - 1 - rng.below(3) : near_to + 7;
    default:
      return rng.next_u64();
  }
}

}  // namespace

Facts distorted(const Facts& facts, Rng& rng) {
  Facts out = facts;
  // One field is enough to be wrong; with all of them a frame dies at the first check.
  const bool all = rng.chance(0.2);
  const std::uint64_t one = rng.below(9);
  const auto turn = [&](std::uint64_t number) { return all || one == number; };
  if (turn(0)) {
    out.current.view.number = ViewNumber(extreme_number(facts.current.view.number.value(), rng));
  }
  if (turn(1)) out.current.view.hash = random_array<Hash256>(rng);
  if (turn(2)) out.current.previous.hash = random_array<Hash256>(rng);
  if (turn(3)) out.round = Round(extreme_number(facts.round.value(), rng));
  if (turn(4)) out.other = PeerId{random_array<Hash256>(rng)};
  if (turn(5)) out.incarnation = extreme_number(facts.incarnation, rng);
  if (turn(6)) {
    out.snapshot.root = random_array<Hash256>(rng);
    out.snapshot.bytes = extreme_number(facts.snapshot.bytes, rng);
    out.elements = extreme_number(facts.elements, rng);
  }
  if (turn(7)) {
    out.ticket.expiry_unix_s += rng.chance(0.5) ? 3600 : -1000000000;
    out.ticket.run = random_array<RunId>(rng);
    out.layout_hash = random_array<Hash256>(rng);
  }
  if (turn(8) && !facts.spares_others) {
    // A view in which this peer is alone, or in which it has taken the place of all others.
    Member self;
    self.id = facts.self;
    self.incarnation = facts.incarnation;
    self.endpoints = {facts.trap};
    out.current.value.members = {self};
    out.current.value.base_round = Round(extreme_number(facts.round.value(), rng));
    out.current.view.number = ViewNumber(facts.current.view.number.value() + 1);
    out.current.previous = facts.current.view;
  }
  return out;
}

Facts inflated(const Facts& facts, Rng& rng) {
  Facts out = facts;
  constexpr std::uint32_t kMost[] = {256, 257, 1024, 4096};
  out.entries = kMost[rng.below(std::size(kMost))];
  out.elements = std::uint64_t{1} << (20U + rng.below(44));
  out.snapshot.bytes = std::uint64_t{1} << (30U + rng.below(34));
  if (facts.spares_others) return out;
  out.current.value.members.clear();
  for (std::uint32_t i = 0; i < out.entries; ++i) {
    Member member;
    member.id = i == 0 ? facts.self : PeerId{random_array<Hash256>(rng)};
    member.incarnation = 1;
    member.endpoints = {facts.trap, facts.trap};
    out.current.value.members.push_back(std::move(member));
  }
  return out;
}

std::vector<FrameKind> frame_kinds() {
  std::vector<FrameKind> all;
  for (auto family : {link_kinds, membership_kinds, joining_kinds, collective_kinds, state_kinds,
                      gossip_kinds, mix_kinds, parking_kinds}) {
    std::vector<FrameKind> kinds = family();
    std::move(kinds.begin(), kinds.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace weft::hostile
