// The members that are to be removed, as far as one member knows.
#include <algorithm>

#include "weft/peer/parts/member_watch.h"
#include "weft/peer/parts/membership_core.h"

namespace weft {

// How many members, this one included, suspect it.
int MemberWatch::reporters(const Watched& member) const {
  return static_cast<int>(member.reports.size()) + (member.own ? 1 : 0);
}

// In a view of two, the other member is alive and only owes the collective something. Its vote
// would be needed, and it would vote to remove itself; only the tie-breaker may propose that. A
// member that reports that it computes does not suspect the other, so that it may vote for its own
// removal.
bool MemberWatch::owes_only(const Watched& member) const {
  return core_.view.size() == 2 && member.reachable() && !member.computes() &&
         !core_.balloting.may_go_alone();
}

// Whether all others within reach are restarted members, which watch no member.
bool MemberWatch::watches_alone() const {
  bool some = false;
  for (const auto& [peer, member] : state_.watched) {
    if (!member.reachable()) continue;
    if (!member.restarted()) return false;
    some = true;
  }
  return some;
}

// The members that should be removed, as far as this peer knows. Two reports are needed: with one
// alone it may be the reporter's own link that is broken. Only where no other member could report,
// one will do.
std::vector<Departure> MemberWatch::departures() const {
  std::vector<Departure> out;
  // Where all others compute, no other member can report it.
  const bool others_compute =
      std::all_of(state_.watched.begin(), state_.watched.end(),
                  [](const auto& entry) { return entry.second.computes(); });
  const int needed = core_.view.size() == 2 || others_compute || watches_alone() ? 1 : 2;
  int voters = core_.view.size();
  for (const Member& member : core_.view.members) {
    if (member.id == core_.options.self) {
      if (core_.leaving) {
        out.push_back({member.id, member.incarnation, DepartureCause::kLeft, "it asked to leave"});
      }
      continue;
    }
    const Watched& seen = state_.watched.at(member.id);
    if (seen.gone) {
      out.push_back(*seen.gone);
      // A restarted one that votes on is with us.
      const bool votes = seen.restarted() && seen.votes_on;
      if (seen.gone->cause != DepartureCause::kLeft && !votes) --voters;
    } else if (reporters(seen) >= needed && !owes_only(seen)) {
      const std::string& reason = seen.own ? seen.own->reason : seen.reports.begin()->second.reason;
      out.push_back({member.id, member.incarnation, DepartureCause::kFailed, reason});
      // Whoever computes still votes.
      if (!seen.computes() || !seen.linked) --voters;
    }
  }
  add_bad_links(out);
  // Whoever would remove a majority is itself cut off.
  if (voters < core_.view.quorum() && core_.view.size() > 2) {
    const auto failed = [](const Departure& d) { return d.cause == DepartureCause::kFailed; };
    out.erase(std::remove_if(out.begin(), out.end(), failed), out.end());
  }
  return out;
}

// Two members that cannot reach each other although all others reach both: the one of higher rank
// goes, since a collective needs the link.
void MemberWatch::add_bad_links(std::vector<Departure>& out) const {
  if (core_.view.size() < 3) return;
  // That a restarted member reports nothing is no sign that it reaches both.
  const bool restarts = std::any_of(state_.watched.begin(), state_.watched.end(),
                                    [](const auto& entry) { return entry.second.restarted(); });
  if (restarts) return;
  const auto is_out = [&out](const PeerId& peer) {
    return std::any_of(out.begin(), out.end(), [&](const Departure& d) { return d.id == peer; });
  };
  for (const auto& [peer, seen] : state_.watched) {
    if (reporters(seen) != 1 || is_out(peer)) continue;
    const PeerId reporter = seen.own ? core_.options.self : seen.reports.begin()->first;
    const TimePoint since = seen.own ? seen.own->since : seen.reports.begin()->second.since;
    if (core_.now - since < core_.options.bad_link_timeout || is_out(reporter)) continue;
    const bool reporter_goes = core_.view.rank_of(reporter) > core_.view.rank_of(peer);
    const PeerId& goes = reporter_goes ? reporter : peer;
    const PeerId& stays = reporter_goes ? peer : reporter;
    const Member* member = core_.view.find(goes);
    if (member == nullptr) continue;
    out.push_back({goes, member->incarnation, DepartureCause::kFailed,
                   "its connection with " + stays.short_name() + " stays broken"});
  }
}

int MemberWatch::reachable() const {
  int count = 1;
  for (const auto& [peer, member] : state_.watched) {
    if (member.reachable()) ++count;
  }
  return count;
}

bool MemberWatch::all_others_gone() const {
  return std::all_of(state_.watched.begin(), state_.watched.end(), [](const auto& entry) {
    return entry.second.gone.has_value() || entry.second.own.has_value();
  });
}

}  // namespace weft
