// Which members are alive: heartbeats, suspicions and their announcement.
#include "weft/peer/parts/member_watch.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "weft/peer/parts/fingerprint.h"
#include "weft/peer/parts/membership_core.h"

namespace weft {
namespace {

// If two peers lose their link, one dials at once and the other a little later.
constexpr Duration kDialStagger = std::chrono::milliseconds(100);
// A suspicion is sent again after this, then after twice as long, and so on.
constexpr Duration kTellGap = std::chrono::seconds(1);
// How many members receive a suspicion at first; all of them when it is sent again.
constexpr int kFirstListeners = 8;
// A restored link is remembered for about this long, and this often is more than bad luck.
constexpr Duration kFlapsFade = std::chrono::seconds(60);
constexpr double kFlapsPatient = 1.5;
// A member that was removed in error counts as one with an unstable link.
constexpr double kFlapsOfReturned = 3;

std::string seconds_text(Duration duration) {
  const auto tenths = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count() / 100;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}
std::string short_reason(std::string reason) {
  if (reason.size() > kReasonBytesMax) reason.resize(kReasonBytesMax);
  return reason;
}

}  // namespace

bool MemberWatch::on_link_up(const PeerId& peer) {
  const auto found = state_.watched.find(peer);
  if (found == state_.watched.end()) return false;
  Watched& member = found->second;
  if (!member.linked && member.had_link) {
    const double since = to_seconds(core_.now - member.flapped);
    member.flaps = 1 + member.flaps * std::exp(-since / to_seconds(kFlapsFade));
    member.flapped = core_.now;
  }
  set_linked(member, true);
  member.had_link = true;
  member.dial_at = kNever;
  return true;
}

bool MemberWatch::on_link_down(const PeerId& peer, const Status& why) {
  const auto found = state_.watched.find(peer);
  if (found == state_.watched.end()) return false;
  Watched& member = found->second;
  if (member.linked) {
    set_linked(member, false);
    member.unlinked_since = core_.now;
    member.dial_at = core_.options.self < peer ? core_.now : core_.now + kDialStagger;
    member.patience =
        flapping(member) ? core_.options.suspicion_timeout : core_.options.reconnect_timeout;
  } else if (member.had_link && !flapping(member)) {
    set_suspicion(peer, SuspicionKind::kLink,
                  "connection lost, and again on dialling: " + why.message());
  }
  watch_links();
  return true;
}

bool MemberWatch::on_sign_of_life(const PeerId& peer) {
  const auto found = state_.watched.find(peer);
  if (found == state_.watched.end()) return false;
  found->second.detector.on_sign_of_life(core_.now);
  const Watched& member = found->second;
  if (member.own && !member.owes() && member.linked) withdraw_suspicion(peer);
  return true;
}

void MemberWatch::forgive() {
  for (auto& [peer, member] : state_.watched) member.detector.forgive(core_.now);
}

void MemberWatch::put_out(const PeerId& peer, Departure departure) {
  const auto found = state_.watched.find(peer);
  if (found == state_.watched.end()) return;
  found->second.gone = std::move(departure);
  core_.balloting.hurry();
}

void MemberWatch::fingerprint(Fingerprint& out) const { out.add(state_); }

void MemberWatch::send_heartbeat(const PeerId& to) {
  HeartbeatMessage message;
  message.view = core_.joining.attempt() && !core_.active() ? core_.joining.attempt()->known.id
                                                            : core_.view.id;
  message.incarnation = core_.options.incarnation;
  message.sequence = core_.beats;
  message.done =
      core_.active() ? core_.sink.round_status().done : Round(core_.sink.sync_progress());
  core_.send(to, frame_type::kHeartbeat, message);
}

void MemberWatch::watch_members() {
  for (const PeerId& peer : state_.observed) {
    const auto found = state_.watched.find(peer);
    if (found == state_.watched.end() || !found->second.linked || found->second.own) continue;
    const FailureDetector& detector = found->second.detector;
    if (detector.silent(core_.now)) {
      set_suspicion(peer, SuspicionKind::kSilent,
                    "no heartbeat for " + seconds_text(detector.silent_for(core_.now)));
    }
  }
}

void MemberWatch::count_unlinked() {
  state_.unlinked =
      static_cast<int>(std::count_if(state_.watched.begin(), state_.watched.end(),
                                     [](const auto& entry) { return !entry.second.linked; }));
}

void MemberWatch::set_linked(Watched& member, bool linked) {
  if (member.linked != linked) state_.unlinked += linked ? -1 : 1;
  member.linked = linked;
}

// Whether its link was restored so often lately that it is likely to be restored again.
bool MemberWatch::flapping(const Watched& member) const {
  return member.flaps * std::exp(-to_seconds(core_.now - member.flapped) / to_seconds(kFlapsFade)) >
         kFlapsPatient;
}

void MemberWatch::watch_links() {
  if (all_linked()) return;
  for (auto& [peer, member] : state_.watched) {
    if (member.linked) continue;
    if (core_.now >= member.dial_at) {
      // An unstable link is dialled more often while this peer waits for it.
      const bool soon = !member.own && flapping(member);
      member.dial_at =
          core_.now + (soon ? std::min(core_.options.redial_interval, member.patience / 4)
                            : core_.options.redial_interval);
      if (const Member* address = core_.view.find(peer))
        core_.sink.connect({peer, address->endpoints});
    }
    if (!member.own && core_.now >= member.unlinked_since + member.patience) {
      set_suspicion(peer, SuspicionKind::kLink,
                    "no connection for " + seconds_text(core_.now - member.unlinked_since));
    }
  }
}

void MemberWatch::set_suspicion(const PeerId& peer, SuspicionKind kind, const std::string& reason) {
  const auto found = state_.watched.find(peer);
  if (!core_.active() || found == state_.watched.end() || found->second.own) return;
  core_.stirred = true;
  core_.calm = false;
  found->second.own =
      OwnSuspicion{kind, short_reason(reason), core_.now, core_.now, kTellGap, false};
  announce_suspicions();
}

void MemberWatch::withdraw_suspicion(const PeerId& peer) {
  const auto found = state_.watched.find(peer);
  if (found == state_.watched.end() || !found->second.own) return;
  if (found->second.own->announced) announce_suspicion(peer, core_.view.size(), true);
  found->second.own.reset();
}

// Announces to the others which members this peer suspects, now and then again; not while the view
// is changing, and not a suspicion that enough members have reported already. The first
// announcement goes to those that would propose the change; when a whole group is cut off,
// announcements from all to all would be n^3 frames.
void MemberWatch::announce_suspicions() {
  if (core_.balloting.frozen() || core_.calm) return;
  for (auto& [peer, member] : state_.watched) {
    if (!member.own || core_.now < member.own->announce_at) continue;
    OwnSuspicion& own = *member.own;
    own.announce_at = core_.now + own.announce_gap;
    own.announce_gap *= 2;
    if (member.reports.size() >= 3) continue;
    announce_suspicion(peer, own.announced ? core_.view.size() : kFirstListeners, false);
    own.announced = true;
  }
}

// To the first `listeners` members, in ring order, that can be reached; a member that only owes the
// collective something is one of them: it may do so because of the very member that is suspected.
void MemberWatch::announce_suspicion(const PeerId& suspect, int listeners, bool withdrawn) {
  const std::string reason = withdrawn ? "" : state_.watched.at(suspect).own->reason;
  for (const Member& member : core_.view.members) {
    if (listeners == 0) return;
    if (member.id == core_.options.self || member.id == suspect) continue;
    const Watched& listener = state_.watched.at(member.id);
    if (!listener.linked || (!listener.reachable() && !withdrawn)) continue;
    core_.send(member.id, frame_type::kSuspicion,
               SuspicionMessage{core_.view.id, suspect, withdrawn, reason});
    --listeners;
  }
}

void MemberWatch::on_heartbeat(const PeerId& from, const HeartbeatMessage& message) {
  if (core_.active()) core_.newcomers.note_progress(from, message.done.value());
  if (!core_.is_current(from, message.view)) return;
  const auto found = state_.watched.find(from);
  if (found != state_.watched.end()) found->second.detector.on_heartbeat(core_.now);
}

void MemberWatch::on_suspicion(const PeerId& from, const SuspicionMessage& message) {
  if (!core_.is_current(from, message.view)) return;
  const auto found = state_.watched.find(message.who);
  if (found == state_.watched.end() || message.who == from) return;
  if (message.withdrawn) {
    const bool alive_here = found->second.linked && !found->second.own;
    if (found->second.reports.erase(from) != 0 && alive_here) {
      core_.judgement.blame(
          from, Offence::kFalseSuspicion,
          "took back its suspicion of " + message.who.short_name() + ", which was alive here");
    }
    return;
  }
  // Beyond the second report another one changes nothing.
  const bool fresh =
      found->second.reports.try_emplace(from, Report{message.reason, core_.now}).second;
  if (fresh && reporters(found->second) <= 2) core_.stirred = true;
}

void MemberWatch::on_outside(const PeerId& from, const OutsideMessage& message) {
  // A sponsor that is out itself accepts no newcomer.
  if (core_.joining.has_sponsor(from)) core_.joining.ask_others();
  if (!core_.active()) return;
  const Member* member = core_.view.find(from);
  if (member == nullptr) return;
  if (message.incarnation > member->incarnation) {
    mark_restarted(from, message.incarnation);
    const auto found = state_.watched.find(from);
    if (found != state_.watched.end() && found->second.restarted()) {
      core_.stirred = true;
      found->second.votes_on = message.votes_in == core_.view.id;
      if (message.votes_in && *message.votes_in < core_.view.id)
        core_.send_current(from, message.votes_in);
    }
  } else {
    // Admitted, and the news got lost.
    core_.send(from, frame_type::kViewNotice, core_.keys.notice_for(from));
  }
}

void MemberWatch::on_leaving(const PeerId& from, const LeavingMessage& message) {
  if (!core_.is_current(from, message.view)) return;
  const auto found = state_.watched.find(from);
  if (found == state_.watched.end() || found->second.gone) return;
  core_.stirred = true;
  found->second.gone = Departure{from, core_.view.find(from)->incarnation, DepartureCause::kLeft,
                                 "it asked to leave"};
}

void MemberWatch::mark_restarted(const PeerId& peer, std::uint64_t incarnation) {
  const auto found = state_.watched.find(peer);
  const Member* member = core_.view.find(peer);
  if (found == state_.watched.end() || member == nullptr || incarnation <= member->incarnation)
    return;
  // A verdict stands for the next life, too.
  if (found->second.gone && (found->second.gone->cause == DepartureCause::kRestarted ||
                             found->second.gone->cause == DepartureCause::kExpelled)) {
    return;
  }
  found->second.gone = Departure{peer, member->incarnation, DepartureCause::kRestarted,
                                 "its process was started again"};
  core_.balloting.hurry();
}

// Each member is watched by the members at a few fixed distances along the ring; the distances
// follow from the view's hash, so all members agree on them.
void MemberWatch::choose_observers() {
  state_.observers_of_self.clear();
  state_.observed.clear();
  const int n = core_.view.size();
  const int rank = core_.view.rank_of(core_.options.self).value();
  for (const int distance : observer_distances(core_.view, core_.options.observers)) {
    const auto at = [&](int r) { return core_.view.members[static_cast<std::size_t>(r % n)].id; };
    state_.observers_of_self.push_back(at(rank + distance));
    state_.observed.push_back(at(rank + n - distance));
  }
}

// Their answers are all that a restarted member sends in the old view.
void MemberWatch::greet_restarted() {
  for (const auto& [peer, member] : state_.watched) {
    if (member.linked && member.restarted()) send_heartbeat(peer);
  }
}

// Keeps what is known of members that stay, and starts to watch the new ones.
void MemberWatch::rebuild_watch(const View& previous, const std::set<PeerId>& returned) {
  std::map<PeerId, Watched> before = std::move(state_.watched);
  state_.watched.clear();
  for (const Member& member : core_.view.members) {
    if (member.id == core_.options.self) continue;
    const Member* old = previous.find(member.id);
    const auto found = before.find(member.id);
    const bool linked = core_.links.up(member.id);
    if (old != nullptr && old->incarnation == member.incarnation && found != before.end()) {
      Watched kept = std::move(found->second);
      kept.reports.clear();
      // In a smaller or larger view its accusers may not be a majority; take_verdicts() counts
      // again.
      if (kept.gone && kept.gone->cause == DepartureCause::kExpelled) kept.gone.reset();
      if (kept.owes()) kept.own.reset();
      if (kept.own) {
        kept.own->since = kept.own->announce_at = core_.now;
        kept.own->announce_gap = core_.options.redial_interval;
        kept.own->announced = false;
      }
      if (kept.restarted()) {
        core_.balloting.note_own_news();
        // It must report itself in which view it votes now.
        kept.votes_on = false;
      }
      state_.watched.emplace(member.id, std::move(kept));
      continue;
    }
    Watched fresh(FailureDetector(core_.options.heartbeat_interval, core_.options.suspicion_timeout,
                                  core_.now),
                  core_.now);
    fresh.linked = fresh.had_link = linked;
    fresh.patience = linked ? core_.options.reconnect_timeout : core_.options.suspicion_timeout;
    if (returned.count(member.id) != 0) {
      fresh.detector.be_patient();
      fresh.flaps = kFlapsOfReturned;
      fresh.flapped = core_.now;
    }
    if (!linked) {
      fresh.dial_at = core_.options.self < member.id
                          ? core_.now
                          : core_.now + core_.options.reconnect_timeout / 2;
    }
    state_.watched.emplace(member.id, std::move(fresh));
  }
}

}  // namespace weft
