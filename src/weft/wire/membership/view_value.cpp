#include "weft/wire/view_value.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "weft/base/check.h"
#include "weft/wire/codec.h"
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

void write_merge(Writer& out, const MergeDirective& merge) {
  out.raw(merge.branch).view(merge.view).round(merge.round).raw(merge.snapshot);
  out.u64(merge.samples).u64(merge.own_samples);
}

MergeDirective read_merge(Reader& in) {
  MergeDirective merge;
  merge.branch = in.raw<32>("merge.branch");
  merge.view = in.view("merge.view");
  merge.round = in.round("merge.round");
  merge.snapshot = in.raw<32>("merge.snapshot");
  merge.samples = in.u64("merge.samples");
  merge.own_samples = in.u64("merge.own_samples");
  return merge;
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
  out.u8(std::min(member.halvings, kShareHalvingsMax));
}

Member read_member(Reader& in) {
  Member member;
  member.id = in.peer("member.id");
  member.incarnation = in.u64("member.incarnation");
  const std::uint32_t count = in.count("member.endpoints", kEndpointsMax);
  for (std::uint32_t i = 0; i < count && !in.failed(); ++i) {
    member.endpoints.push_back(read_printable(in, "member.endpoint", kEndpointBytesMax));
  }
  member.halvings = in.u8("member.halvings");
  if (member.halvings > kShareHalvingsMax) in.fail("member.halvings", "expected 0 to 16");
  return member;
}

void write_departures(Writer& out, const std::vector<Departure>& departures) {
  WEFT_CHECK(departures.size() <= kViewMembersMax);
  out.u32(static_cast<std::uint32_t>(departures.size()));
  for (const Departure& departure : departures) write_departure(out, departure);
}

std::vector<Departure> read_departures(Reader& in) {
  std::vector<Departure> out;
  const std::uint32_t count = in.count("value.departures", kViewMembersMax);
  for (std::uint32_t i = 0; i < count && !in.failed(); ++i) out.push_back(read_departure(in));
  return out;
}

void write_lineage(Writer& out, const Lineage& lineage) {
  WEFT_CHECK(lineage.points.size() <= kBranchPointsMax && lineage.absorbed.size() <= kAbsorbedMax);
  out.u32(static_cast<std::uint32_t>(lineage.points.size()));
  for (const BranchPoint& point : lineage.points) {
    out.raw(point.branch).view(point.from).u64(point.samples);
  }
  out.u32(static_cast<std::uint32_t>(lineage.absorbed.size()));
  for (const AbsorbedBranch& absorbed : lineage.absorbed) {
    out.raw(absorbed.branch).u64(absorbed.until);
  }
}

Lineage read_lineage(Reader& in) {
  Lineage lineage;
  const std::uint32_t points = in.count("lineage.points", kBranchPointsMax);
  for (std::uint32_t i = 0; i < points && !in.failed(); ++i) {
    BranchPoint& point = lineage.points.emplace_back();
    point.branch = in.raw<32>("point.branch");
    point.from = in.view("point.from");
    point.samples = in.u64("point.samples");
  }
  const std::uint32_t absorbed = in.count("lineage.absorbed", kAbsorbedMax);
  for (std::uint32_t i = 0; i < absorbed && !in.failed(); ++i) {
    AbsorbedBranch& one = lineage.absorbed.emplace_back();
    one.branch = in.raw<32>("absorbed.branch");
    one.until = in.u64("absorbed.until");
  }
  return lineage;
}

void write_value_end(Writer& out, const std::optional<Hash256>& yields_to,
                     const std::optional<MergeDirective>& merge, const LinkSummary& links) {
  out.u8(yields_to ? 1 : 0);
  if (yields_to) out.raw(*yields_to);
  out.u8(merge ? 1 : 0);
  if (merge) write_merge(out, *merge);
  write_link_summary(out, links);
}

void read_value_end(Reader& in, std::optional<Hash256>& yields_to,
                    std::optional<MergeDirective>& merge, LinkSummary& links) {
  if (in.boolean("value.yields")) yields_to = in.raw<32>("value.yields_to");
  if (in.boolean("value.merges")) merge = read_merge(in);
  links = read_link_summary(in);
}

void write_view_value(Writer& out, const ViewValue& value) {
  WEFT_CHECK(value.members.size() <= kViewMembersMax);
  out.round(value.base_round).u32(static_cast<std::uint32_t>(value.members.size()));
  for (const Member& member : value.members) write_member(out, member);
  write_departures(out, value.departures);
  write_lineage(out, value.lineage);
  write_value_end(out, value.yields_to, value.merge, value.links);
}

ViewValue read_view_value(Reader& in) {
  ViewValue value;
  value.base_round = in.round("value.base_round");
  const std::uint32_t members = in.count("value.members", kViewMembersMax);
  if (members == 0) in.fail("value.members", "expected at least one");
  for (std::uint32_t i = 0; i < members && !in.failed(); ++i) {
    value.members.push_back(read_member(in));
  }
  if (has_duplicates(value.members)) in.fail("value.members", "expected no peer twice");
  value.departures = read_departures(in);
  value.lineage = read_lineage(in);
  read_value_end(in, value.yields_to, value.merge, value.links);
  return value;
}

}  // namespace weft
