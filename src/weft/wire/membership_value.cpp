// The parts that membership messages share: members, departures and what is agreed on.
#include <algorithm>
#include <vector>

#include "weft/wire/codec.h"
#include "weft/wire/membership_message.h"
#include "weft/wire/printable.h"

namespace weft {

namespace {

void write_departure(Writer& out, const Departure& departure) {
  out.peer(departure.id)
      .u64(departure.incarnation)
      .u8(static_cast<std::uint8_t>(departure.cause))
      .text(to_printable(departure.reason, kReasonBytesMax));
}

Departure read_departure(Reader& in) {
  Departure departure;
  departure.id = in.peer("departure.id");
  departure.incarnation = in.u64("departure.incarnation");
  const std::uint8_t cause = in.u8("departure.cause");
  if (cause > static_cast<std::uint8_t>(DepartureCause::kExpelled)) {
    in.fail("departure.cause", "expected 0 to 3");
  } else {
    departure.cause = static_cast<DepartureCause>(cause);
  }
  departure.reason = read_printable(in, "departure.reason", kReasonBytesMax);
  return departure;
}

bool has_duplicates(const std::vector<Member>& members) {
  std::vector<PeerId> ids;
  ids.reserve(members.size());
  for (const Member& member : members) ids.push_back(member.id);
  std::sort(ids.begin(), ids.end());
  return std::adjacent_find(ids.begin(), ids.end()) != ids.end();
}

}  // namespace

void write_member(Writer& out, const Member& member) {
  WEFT_CHECK(member.endpoints.size() <= kEndpointsMax);
  out.peer(member.id).u64(member.incarnation);
  out.u32(static_cast<std::uint32_t>(member.endpoints.size()));
  for (const std::string& endpoint : member.endpoints) {
    out.text(to_printable(endpoint, kEndpointBytesMax));
  }
}

Member read_member(Reader& in) {
  Member member;
  member.id = in.peer("member.id");
  member.incarnation = in.u64("member.incarnation");
  const std::uint32_t count = in.count("member.endpoints", kEndpointsMax);
  for (std::uint32_t i = 0; i < count && !in.failed(); ++i) {
    member.endpoints.push_back(read_printable(in, "member.endpoint", kEndpointBytesMax));
  }
  return member;
}

void write_view_value(Writer& out, const ViewValue& value) {
  WEFT_CHECK(value.members.size() <= kMembersMax && value.departures.size() <= kMembersMax);
  out.round(value.base_round).u32(static_cast<std::uint32_t>(value.members.size()));
  for (const Member& member : value.members) write_member(out, member);
  out.u32(static_cast<std::uint32_t>(value.departures.size()));
  for (const Departure& departure : value.departures) write_departure(out, departure);
}

ViewValue read_view_value(Reader& in) {
  ViewValue value;
  value.base_round = in.round("value.base_round");
  const std::uint32_t members = in.count("value.members", kMembersMax);
  if (members == 0) in.fail("value.members", "expected at least one");
  for (std::uint32_t i = 0; i < members && !in.failed(); ++i) {
    value.members.push_back(read_member(in));
  }
  if (has_duplicates(value.members)) in.fail("value.members", "expected no peer twice");
  const std::uint32_t departures = in.count("value.departures", kMembersMax);
  for (std::uint32_t i = 0; i < departures && !in.failed(); ++i) {
    value.departures.push_back(read_departure(in));
  }
  return value;
}

}  // namespace weft
