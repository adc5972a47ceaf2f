// Members that cannot reach a quorum: when that is so, and what people are told.
#include <algorithm>

#include "weft/peer/membership_core.h"

namespace weft {

void Membership::Core::check_quorum() {
  if (ended) return;
  const bool can = may_go_alone() || reachable() >= view.quorum();
  const bool stuck = frozen && now - frozen_since >= options.quorum_timeout;
  if (can && !stuck) {
    unreachable_since.reset();
    return;
  }
  if (state == MembershipState::kIsolated) return;
  if (!unreachable_since) unreachable_since = now;
  if (stuck || now - *unreachable_since >= options.quorum_timeout) isolate();
}

void Membership::Core::isolate() {
  IsolatedReport report;
  report.view = view;
  for (const Member& member : view.members) {
    if (member.id == options.self) continue;
    const Watched& seen = watched.at(member.id);
    if (!seen.reachable()) report.missing.push_back(member);
  }
  report.needed = std::max(0, view.quorum() - reachable());
  report.text = isolation_text(report);
  freeze();
  must_change = true;
  state = MembershipState::kIsolated;
  isolated_since = now;
  if (propose_at == kNever) propose_at = now + options.takeover_timeout;
  // A branch would take them along.
  if (!merges()) send_joiners_away();
  sink.on_isolated(report);
}

std::string Membership::Core::isolation_text(const IsolatedReport& report) const {
  std::string text = "training waits: " + std::to_string(view.quorum()) + " of " +
                     std::to_string(view.size()) + " members are needed to go on, and " +
                     std::to_string(reachable()) + " can be reached from here";
  std::string separator = "; missing: ";
  for (const Member& member : report.missing) {
    const Watched& seen = watched.at(member.id);
    text += separator + member.id.short_name();
    std::string about = member.endpoints.empty() ? "" : member.endpoints.front();
    if (seen.restarted() && !seen.votes_on) {
      about += about.empty() ? "" : ", ";
      about += "started again, and has no vote here: its record is lost or of a later view";
    } else if (seen.own) {
      about += (about.empty() ? "" : ", ") + seen.own->reason;
    }
    if (!about.empty()) text += " (" + about + ")";
    separator = ", ";
  }
  if (report.missing.empty()) text += "; the members do not answer in time";
  text += ". The state up to round " + std::to_string(sink.round_status().done.value()) +
          " is kept here. What to do: bring missing members back into reach, or start them again "
          "by weft join with the --out that they had, and training goes on by itself; if they are "
          "gone for good, stop all that are left and start weft run --resume at one of them.";
  if (view.size() == 2) {
    text +=
        " Of two members only one may go on alone, so that they never train two different "
        "models; lone_survivor = true allows it to either where both run on one machine.";
  }
  return text;
}

}  // namespace weft
