// Members that cannot reach a quorum: when that is so, and the text for people.
#include <algorithm>

#include "weft/peer/parts/fingerprint.h"
#include "weft/peer/parts/membership_core.h"

namespace weft {
void QuorumWatch::on_view() { state_.unreachable_since.reset(); }

void QuorumWatch::check_quorum() {
  if (core_.ending.ended()) return;
  const bool can = core_.balloting.may_go_alone() || core_.watch.reachable() >= core_.view.quorum();
  const bool stuck = core_.balloting.stuck(core_.options.quorum_timeout);
  if (can && !stuck) {
    state_.unreachable_since.reset();
    return;
  }
  if (core_.state == MembershipState::kIsolated) return;
  if (!state_.unreachable_since) state_.unreachable_since = core_.now;
  if (stuck || core_.now - *state_.unreachable_since >= core_.options.quorum_timeout) isolate();
}

void QuorumWatch::isolate() {
  IsolatedReport report;
  report.view = core_.view;
  for (const Member& member : core_.view.members) {
    if (member.id == core_.options.self) continue;
    const Watched& seen = core_.watch.all().at(member.id);
    if (!seen.reachable()) report.missing.push_back(member);
  }
  report.needed = std::max(0, core_.view.quorum() - core_.watch.reachable());
  report.text = isolation_text(report);
  core_.balloting.freeze();
  core_.balloting.demand_change();
  core_.state = MembershipState::kIsolated;
  state_.isolated_since = core_.now;
  if (core_.balloting.propose_at() == kNever) {
    core_.balloting.propose_by(core_.now + core_.options.takeover_timeout);
  }
  // A branch would take them along.
  if (!core_.merges()) core_.newcomers.send_joiners_away();
  core_.sink.on_isolated(report);
}

std::string QuorumWatch::isolation_text(const IsolatedReport& report) const {
  std::string text = "training waits: " + std::to_string(core_.view.quorum()) + " of " +
                     std::to_string(core_.view.size()) + " members are needed to go on, and " +
                     std::to_string(core_.watch.reachable()) + " can be reached from here";
  std::string separator = "; missing: ";
  for (const Member& member : report.missing) {
    const Watched& seen = core_.watch.all().at(member.id);
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
  text += ". The state up to round " + std::to_string(core_.sink.round_status().done.value()) +
          " is kept here. What to do: bring missing members back into reach, or start them again "
          "by weft join with the --out that they had, and training goes on by itself; if they are "
          "gone for good, stop all that are left and start weft run --resume at one of them.";
  if (core_.view.size() == 2) {
    text +=
        " Of two members only one may go on alone, so that they never train two different "
        "models; lone_survivor = true allows it to either where both run on one machine.";
  }
  return text;
}

void QuorumWatch::fingerprint(Fingerprint& out) const { out.add(state_); }

}  // namespace weft
