#include "weft/wire/value_difference.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "weft/base/check.h"
#include "weft/wire/codec.h"

namespace weft {
namespace {

// Up to so many places, each is one byte.
constexpr std::size_t kBytePlaces = 256;

bool by_id(const Member& a, const Member& b) { return a.id < b.id; }

// Those of `members` that stay, in their order, then `coming`.
std::vector<Member> default_ring(const std::vector<Member>& members,
                                 const std::vector<std::uint16_t>& going,
                                 const std::vector<Member>& coming) {
  std::vector<Member> ring;
  auto next = going.begin();
  for (std::size_t place = 0; place < members.size(); ++place) {
    if (next != going.end() && *next == place) {
      ++next;
    } else {
      ring.push_back(members[place]);
    }
  }
  ring.insert(ring.end(), coming.begin(), coming.end());
  return ring;
}

bool names_one_twice(const std::vector<Member>& ring) {
  std::vector<PeerId> ids;
  ids.reserve(ring.size());
  for (const Member& member : ring) ids.push_back(member.id);
  std::sort(ids.begin(), ids.end());
  return std::adjacent_find(ids.begin(), ids.end()) != ids.end();
}

bool is_permutation_of(const std::vector<std::uint16_t>& order, std::size_t size) {
  std::vector<bool> seen(size, false);
  for (const std::uint16_t place : order) {
    if (place >= size || seen[place]) return false;
    seen[place] = true;
  }
  return order.size() == size;
}

}  // namespace

ValueDifference difference_of(const std::vector<Member>& members, const Lineage& lineage,
                              const ViewValue& value) {
  WEFT_CHECK(members.size() <= kViewMembersMax && value.members.size() <= kViewMembersMax);
  ValueDifference out;
  out.base_round = value.base_round;
  out.departures = value.departures;
  if (value.lineage != lineage) out.lineage = value.lineage;
  out.yields_to = value.yields_to;
  out.merge = value.merge;
  out.links = value.links;

  std::map<PeerId, const Member*> wanted;
  for (const Member& member : value.members) wanted.emplace(member.id, &member);
  for (std::size_t place = 0; place < members.size(); ++place) {
    const auto found = wanted.find(members[place].id);
    if (found != wanted.end() && *found->second == members[place]) {
      wanted.erase(found);
    } else {
      out.going.push_back(static_cast<std::uint16_t>(place));
    }
  }
  // In the order of their ids.
  for (const auto& [id, member] : wanted) out.coming.push_back(*member);

  const std::vector<Member> ring = default_ring(members, out.going, out.coming);
  if (ring == value.members) return out;
  std::map<PeerId, std::uint16_t> places;
  for (std::size_t place = 0; place < ring.size(); ++place) {
    places.emplace(ring[place].id, static_cast<std::uint16_t>(place));
  }
  for (const Member& member : value.members) out.order.push_back(places.at(member.id));
  return out;
}

Result<ViewValue> apply_difference(const ValueDifference& difference,
                                   const std::vector<Member>& members, const Lineage& lineage) {
  const std::vector<std::uint16_t>& going = difference.going;
  const bool ascending =
      std::adjacent_find(going.begin(), going.end(), std::greater_equal<>()) == going.end();
  if (!ascending || (!going.empty() && going.back() >= members.size())) {
    return corrupt("difference.going: expected ascending places of the view's " +
                   std::to_string(members.size()) + " members");
  }
  std::vector<Member> ring = default_ring(members, going, difference.coming);
  if (ring.empty()) return corrupt("difference: expected at least one member");
  if (ring.size() > kViewMembersMax) return corrupt("difference: expected fewer members");
  if (!std::is_sorted(difference.coming.begin(), difference.coming.end(), by_id) ||
      names_one_twice(ring)) {
    return corrupt("difference.coming: expected members by id, and no peer twice");
  }
  ViewValue value;
  if (difference.order.empty()) {
    value.members = std::move(ring);
  } else {
    if (!is_permutation_of(difference.order, ring.size())) {
      return corrupt("difference.order: expected each of " + std::to_string(ring.size()) +
                     " places once");
    }
    for (const std::uint16_t place : difference.order) value.members.push_back(ring[place]);
  }
  value.base_round = difference.base_round;
  value.departures = difference.departures;
  value.lineage = difference.lineage.value_or(lineage);
  value.yields_to = difference.yields_to;
  value.merge = difference.merge;
  value.links = difference.links;
  return value;
}

void write_difference(Writer& out, const ValueDifference& difference) {
  out.round(difference.base_round).u32(static_cast<std::uint32_t>(difference.going.size()));
  for (const std::uint16_t place : difference.going) out.u16(place);
  out.u32(static_cast<std::uint32_t>(difference.coming.size()));
  for (const Member& member : difference.coming) write_member(out, member);
  out.u32(static_cast<std::uint32_t>(difference.order.size()));
  const bool bytes = difference.order.size() <= kBytePlaces;
  for (const std::uint16_t place : difference.order) {
    if (bytes) {
      out.u8(static_cast<std::uint8_t>(place));
    } else {
      out.u16(place);
    }
  }
  write_departures(out, difference.departures);
  out.u8(difference.lineage ? 1 : 0);
  if (difference.lineage) write_lineage(out, *difference.lineage);
  write_value_end(out, difference.yields_to, difference.merge, difference.links);
  out.raw(difference.next);
}

ValueDifference read_difference(Reader& in) {
  ValueDifference out;
  out.base_round = in.round("difference.base_round");
  const std::uint32_t going = in.count("difference.going", kViewMembersMax);
  for (std::uint32_t i = 0; i < going && !in.failed(); ++i) {
    out.going.push_back(in.u16("difference.going"));
  }
  const std::uint32_t coming = in.count("difference.coming", kViewMembersMax);
  for (std::uint32_t i = 0; i < coming && !in.failed(); ++i) out.coming.push_back(read_member(in));
  const std::uint32_t places = in.count("difference.order", kViewMembersMax);
  const bool bytes = places <= kBytePlaces;
  for (std::uint32_t i = 0; i < places && !in.failed(); ++i) {
    out.order.push_back(bytes ? in.u8("difference.order") : in.u16("difference.order"));
  }
  out.departures = read_departures(in);
  if (in.boolean("difference.moved")) out.lineage = read_lineage(in);
  read_value_end(in, out.yields_to, out.merge, out.links);
  out.next = in.raw<32>("difference.next");
  return out;
}

}  // namespace weft
