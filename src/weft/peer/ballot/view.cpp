#include "weft/peer/view.h"

#include <algorithm>
#include <map>
#include <set>

#include "weft/base/check.h"
#include "weft/base/rng.h"
#include "weft/wire/codec.h"

namespace weft {

Rank View::rank_of(const PeerId& peer) const {
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (members[i].id == peer) return Rank(static_cast<std::int32_t>(i));
  }
  return Rank(-1);
}

const Member* View::find(const PeerId& peer) const {
  const Rank rank = rank_of(peer);
  return rank.value() < 0 ? nullptr : &members[static_cast<std::size_t>(rank.value())];
}

View view_of(const ViewNoticeMessage& notice) {
  const ViewValue& value = notice.value;
  return View{notice.view,     value.members, value.base_round, value.lineage,
              value.yields_to, value.merge,   value.links};
}

ViewId next_view_id(const RunId& run, const ViewId& previous, const ViewValue& value) {
  Writer out;
  out.text("weft view").raw(run).view(previous);
  write_view_value(out, value);
  return {previous.number.next(), sha256(out.written())};
}

ValueDifference difference_to(const RunId& run, const View& view, const ViewValue& value) {
  ValueDifference difference = difference_of(view.members, view.lineage, value);
  difference.next = next_view_id(run, view.id, value).hash;
  return difference;
}

Result<ViewValue> value_after(const RunId& run, const View& view,
                              const ValueDifference& difference) {
  WEFT_TRY_ASSIGN(ViewValue value, apply_difference(difference, view.members, view.lineage));
  if (next_view_id(run, view.id, value).hash != difference.next) {
    return corrupt("difference.next: the view's hash does not match what was put together");
  }
  return value;
}

const PeerId& tie_breaker(const RunId& run, const View& view) {
  WEFT_CHECK(view.size() == 2);
  const auto key = [&run](const PeerId& id) {
    return sha256(Writer().text("weft tie").raw(run).peer(id).written());
  };
  const PeerId& first = view.members[0].id;
  const PeerId& second = view.members[1].id;
  return key(first) < key(second) ? first : second;
}

std::vector<Member> next_members(const View& current, const std::vector<Departure>& departures,
                                 std::vector<Member> newcomers) {
  std::vector<Member> next;
  for (const Member& member : current.members) {
    const bool gone = std::any_of(departures.begin(), departures.end(),
                                  [&](const Departure& left) { return left.id == member.id; });
    if (!gone) next.push_back(member);
  }
  std::sort(newcomers.begin(), newcomers.end(),
            [](const Member& a, const Member& b) { return a.id < b.id; });
  next.insert(next.end(), newcomers.begin(), newcomers.end());
  return next;
}

Status check_successor(const View& current, const ViewValue& value, bool merges) {
  if (value.base_round < current.base_round) return corrupt("its base round is an earlier one");
  std::map<PeerId, const Member*> staying;
  for (const Member& member : value.members) staying.emplace(member.id, &member);
  std::set<PeerId> departing;
  for (const Departure& departure : value.departures) {
    const Member* member = current.find(departure.id);
    if (member == nullptr || member->incarnation != departure.incarnation) {
      return corrupt("peer " + departure.id.short_name() + " departs and is no member");
    }
    if (!departing.insert(departure.id).second || staying.count(departure.id) != 0) {
      return corrupt("peer " + departure.id.short_name() + " departs and stays, or departs twice");
    }
  }
  for (const Member& member : current.members) {
    const auto found = staying.find(member.id);
    if (found != staying.end() && *found->second != member) {
      return corrupt("member " + member.id.short_name() + " stays as another one");
    }
    if (found == staying.end() && departing.count(member.id) == 0) {
      return corrupt("member " + member.id.short_name() + " is missing without a reason");
    }
  }
  if (!merges && (value.yields_to || value.merge)) return corrupt("branches do not merge here");
  if (value.yields_to && value.merge) return corrupt("it both yields and merges");
  if (value.lineage.points != current.lineage.points ||
      (!value.merge && value.lineage.absorbed != current.lineage.absorbed)) {
    return corrupt("its branch has another history");
  }
  return {};
}

std::string to_string(const Departure& departure) {
  std::string text = "peer " + departure.id.short_name();
  switch (departure.cause) {
    case DepartureCause::kFailed:
      text += " failed";
      break;
    case DepartureCause::kLeft:
      text += " left";
      break;
    case DepartureCause::kRestarted:
      text += " restarted";
      break;
    case DepartureCause::kExpelled:
      text += " was expelled";
      break;
  }
  if (!departure.reason.empty()) text += " (" + departure.reason + ")";
  return text;
}

std::vector<int> observer_distances(const View& view, int observers) {
  std::uint64_t seed = 0;
  for (std::size_t i = 0; i < sizeof seed; ++i) seed = seed << 8U | view.id.hash[i];
  std::vector<int> distances;
  for (int distance = 1; distance < view.size(); ++distance) distances.push_back(distance);
  Rng pick(seed);
  const auto wanted = static_cast<std::size_t>(std::max(1, observers));
  while (distances.size() > wanted) {
    const auto drop = static_cast<std::ptrdiff_t>(pick.below(distances.size()));
    distances.erase(distances.begin() + drop);
  }
  return distances;
}

}  // namespace weft
