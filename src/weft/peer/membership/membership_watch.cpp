// Who is alive: links, heartbeats, suspicions and what follows from them.
#include <algorithm>
#include <chrono>
#include <cmath>

#include "weft/peer/parts/membership_core.h"

namespace weft {
namespace {

// Of two peers that lost their link one dials at once and the other a little later.
constexpr Duration kDialStagger = std::chrono::milliseconds(100);
// A suspicion is told again after this, then after twice as long, and so on.
constexpr Duration kTellGap = std::chrono::seconds(1);
// So many members hear of a suspicion at once, all of them when it is told again.
constexpr int kFirstListeners = 8;
// A joiner dials the members that it has no link with once in so many heartbeats.
constexpr int kBeatsPerDial = 4;
constexpr int kBeatsPerTelling = 8;
// A link that came back is remembered for about so long, and this often is more than bad luck.
constexpr Duration kFlapsFade = std::chrono::seconds(60);
constexpr double kFlapsPatient = 1.5;
std::string seconds_text(Duration duration) {
  const auto tenths = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count() / 100;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}
std::string short_reason(std::string reason) {
  if (reason.size() > kReasonBytesMax) reason.resize(kReasonBytesMax);
  return reason;
}

}  // namespace

void Membership::Core::on_link_up(const LinkInfo& link) {
  const PeerId& peer = link.peer;
  stirred = true;
  joining.on_link_up(peer);
  links.add(link);
  const auto found = watched.find(peer);
  if (found != watched.end()) {
    Watched& member = found->second;
    if (!member.linked && member.had_link) {
      const double since = to_seconds(now - member.flapped);
      member.flaps = 1 + member.flaps * std::exp(-since / to_seconds(kFlapsFade));
      member.flapped = now;
    }
    set_linked(member, true);
    member.had_link = true;
    member.dial_at = kNever;
    heard(peer);
    send_heartbeat(peer);
    if (leaving) send(peer, frame_type::kLeaving, LeavingMessage{view.id});
    bans.tell_revocations(peer);
    if (state == MembershipState::kIsolated) {
      // Let further links come up before somebody proposes.
      const Duration wait = from_seconds(to_seconds(options.takeover_timeout) * rng.uniform());
      propose_at = std::min(propose_at, now + wait);
    }
    return;
  }
  if (newcomers.on_link_up(peer)) return;
  if (past.life() && past.life()->view.contains(peer)) past.say_outside(peer);
  // With the last link that it lacked, a joiner may ask to be admitted.
  if (state == MembershipState::kSyncing) joining.admit_again();
  if (joining.attempt() && joining.attempt()->asked == peer) {
    joining.send_request();
  } else if (links.shuns(peer)) {
    links.turn_away(peer, unavailable("refused for what it did before"));
  } else if (merges() && active() && former.has_met(peer)) {
    meetings.tell_standing(peer);
  } else if (state == MembershipState::kIsolated &&
             (former.all().count(peer) != 0 || has_accepted(peer))) {
    // It may be a member, of a view that this peer has not heard of: then its answer says so.
    keys.show_key(peer);
    send_heartbeat(peer);
  }
}

void Membership::Core::on_link_down(const PeerId& peer, const Status& why) {
  stirred = true;
  links.remove(peer);
  keys.on_link_down(peer);
  bans.on_link_down(peer);
  joining.on_link_down(peer, why);
  const auto found = watched.find(peer);
  if (found != watched.end()) {
    Watched& member = found->second;
    if (member.linked) {
      set_linked(member, false);
      member.unlinked_since = now;
      member.dial_at = options.self < peer ? now : now + kDialStagger;
      member.patience = flapping(member) ? options.suspicion_timeout : options.reconnect_timeout;
    } else if (member.had_link && !flapping(member)) {
      set_suspicion(peer, SuspicionKind::kLink,
                    "connection lost, and again on dialling: " + why.message());
    }
    watch_links();
    return;
  }
  newcomers.on_link_down(peer);
  joining.go_on_without(peer, why);
}

void Membership::Core::heard(const PeerId& from) {
  const auto found = watched.find(from);
  if (found == watched.end()) {
    newcomers.heard(from);
    return;
  }
  found->second.detector.on_sign_of_life(now);
  const Watched& member = found->second;
  if (member.own && !member.owes() && member.linked) withdraw_suspicion(from);
}

// Everything that happens once a heartbeat interval.
void Membership::Core::beat() {
  const bool stood_still = beats != 0 && now - beat_at > 2 * options.heartbeat_interval;
  beat_at = now + options.heartbeat_interval;
  ++beats;
  links.turn_away_expired();
  if (stood_still) {
    for (auto& [peer, member] : watched) member.detector.forgive(now);
    newcomers.forgive();
  }
  past.past_beat();
  if (state == MembershipState::kSyncing && joining.attempt() && joining.attempt()->sponsor) {
    send_heartbeat(*joining.attempt()->sponsor);
    if (beats % kBeatsPerDial == 0) joining.dial_known();
    joining.admit_again();
  }
  if (!active()) return;
  for (const PeerId& observer : observers_of_self) {
    if (links.up(observer)) send_heartbeat(observer);
  }
  greet_restarted();
  watch_members();
  records.keep_record(true);
  if (leaving) tell_leaving();
  tell_suspicions();
  judgement.retell_accusations();
  if (merges()) {
    meetings.branch_beat();
  } else if (state == MembershipState::kIsolated) {
    // All members of the last known view may be dead, and the run live on in others.
    former.dial_former();
  }
  newcomers.joiners_timer();
  if (beats % kBeatsPerTelling == 0) newcomers.retell_joiners();
}

void Membership::Core::send_heartbeat(const PeerId& to) {
  HeartbeatMessage message;
  message.view = joining.attempt() && !active() ? joining.attempt()->known.id : view.id;
  message.incarnation = options.incarnation;
  message.sequence = beats;
  message.done = active() ? sink.round_status().done : Round(sink.sync_progress());
  send(to, frame_type::kHeartbeat, message);
}

void Membership::Core::watch_members() {
  for (const PeerId& peer : observed) {
    const auto found = watched.find(peer);
    if (found == watched.end() || !found->second.linked || found->second.own) continue;
    const FailureDetector& detector = found->second.detector;
    if (detector.silent(now)) {
      set_suspicion(peer, SuspicionKind::kSilent,
                    "no heartbeat for " + seconds_text(detector.silent_for(now)));
    }
  }
}

void Membership::Core::count_unlinked() {
  unlinked = static_cast<int>(std::count_if(
      watched.begin(), watched.end(), [](const auto& entry) { return !entry.second.linked; }));
}

void Membership::Core::set_linked(Watched& member, bool linked) {
  if (member.linked != linked) unlinked += linked ? -1 : 1;
  member.linked = linked;
}

// Whether its link has come back so often lately that it is likely to come back again.
bool Membership::Core::flapping(const Watched& member) const {
  return member.flaps * std::exp(-to_seconds(now - member.flapped) / to_seconds(kFlapsFade)) >
         kFlapsPatient;
}

bool Membership::Core::is_calm() const {
  if (!all_linked() || frozen || leaving || must_change || propose_at != kNever ||
      state == MembershipState::kIsolated || !newcomers.joiners().empty() ||
      !meetings.all().empty() || view.yields_to) {
    return false;
  }
  return std::all_of(watched.begin(), watched.end(), [](const auto& entry) {
    return !entry.second.own && !entry.second.gone && entry.second.reports.empty();
  });
}

void Membership::Core::watch_links() {
  if (all_linked()) return;
  for (auto& [peer, member] : watched) {
    if (member.linked) continue;
    if (now >= member.dial_at) {
      // A line that comes and goes is dialled more often, while it is waited for.
      const bool soon = !member.own && flapping(member);
      member.dial_at = now + (soon ? std::min(options.redial_interval, member.patience / 4)
                                   : options.redial_interval);
      if (const Member* address = view.find(peer)) sink.connect({peer, address->endpoints});
    }
    if (!member.own && now >= member.unlinked_since + member.patience) {
      set_suspicion(peer, SuspicionKind::kLink,
                    "no connection for " + seconds_text(now - member.unlinked_since));
    }
  }
}

void Membership::Core::set_suspicion(const PeerId& peer, SuspicionKind kind,
                                     const std::string& reason) {
  const auto found = watched.find(peer);
  if (!active() || found == watched.end() || found->second.own) return;
  stirred = true;
  calm = false;
  found->second.own = OwnSuspicion{kind, short_reason(reason), now, now, kTellGap, false};
  tell_suspicions();
}

void Membership::Core::withdraw_suspicion(const PeerId& peer) {
  const auto found = watched.find(peer);
  if (found == watched.end() || !found->second.own) return;
  if (found->second.own->told_others) tell_suspicion(peer, view.size(), true);
  found->second.own.reset();
}

// Tells the others what this peer suspects, now and then again; not while the view is changing,
// and not what enough members have said already. The first telling goes to those that would
// propose the change; when a whole group is cut off, everybody telling everybody would be n^3
// frames.
void Membership::Core::tell_suspicions() {
  if (frozen || calm) return;
  for (auto& [peer, member] : watched) {
    if (!member.own || now < member.own->tell_at) continue;
    OwnSuspicion& own = *member.own;
    own.tell_at = now + own.tell_gap;
    own.tell_gap *= 2;
    if (member.reports.size() >= 3) continue;
    tell_suspicion(peer, own.told_others ? view.size() : kFirstListeners, false);
    own.told_others = true;
  }
}

// To the first `listeners` members, in ring order, that can be reached; a member that only owes the
// collective something is one of them: it may do so because of the very one that is told of.
void Membership::Core::tell_suspicion(const PeerId& suspect, int listeners, bool withdrawn) {
  const std::string reason = withdrawn ? "" : watched.at(suspect).own->reason;
  for (const Member& member : view.members) {
    if (listeners == 0) return;
    if (member.id == options.self || member.id == suspect) continue;
    const Watched& listener = watched.at(member.id);
    if (!listener.linked || (!listener.reachable() && !withdrawn)) continue;
    send(member.id, frame_type::kSuspicion, SuspicionMessage{view.id, suspect, withdrawn, reason});
    --listeners;
  }
}

void Membership::Core::on_heartbeat(const PeerId& from, const HeartbeatMessage& message) {
  if (active()) newcomers.note_progress(from, message.done.value());
  if (!is_current(from, message.view)) return;
  const auto found = watched.find(from);
  if (found != watched.end()) found->second.detector.on_heartbeat(now);
}

void Membership::Core::on_suspicion(const PeerId& from, const SuspicionMessage& message) {
  if (!is_current(from, message.view)) return;
  const auto found = watched.find(message.who);
  if (found == watched.end() || message.who == from) return;
  if (message.withdrawn) {
    const bool heard_here = found->second.linked && !found->second.own;
    if (found->second.reports.erase(from) != 0 && heard_here) {
      judgement.blame(
          from, Offence::kFalseSuspicion,
          "took back its suspicion of " + message.who.short_name() + ", which was heard here");
    }
    return;
  }
  // Beyond the second report another one changes nothing.
  const bool fresh = found->second.reports.try_emplace(from, Report{message.reason, now}).second;
  if (fresh && reporters(found->second) <= 2) stirred = true;
}

void Membership::Core::on_outside(const PeerId& from, const OutsideMessage& message) {
  // A sponsor that is out itself lets nobody in.
  if (joining.has_sponsor(from)) joining.ask_others();
  if (!active()) return;
  const Member* member = view.find(from);
  if (member == nullptr) return;
  if (message.incarnation > member->incarnation) {
    mark_restarted(from, message.incarnation);
    const auto found = watched.find(from);
    if (found != watched.end() && found->second.restarted()) {
      stirred = true;
      found->second.votes_on = message.votes_in == view.id;
      if (message.votes_in && *message.votes_in < view.id) tell_current(from);
    }
  } else {
    // Admitted, and the news got lost.
    send(from, frame_type::kViewNotice, keys.notice_for(from));
  }
}

void Membership::Core::on_leaving(const PeerId& from, const LeavingMessage& message) {
  if (!is_current(from, message.view)) return;
  const auto found = watched.find(from);
  if (found == watched.end() || found->second.gone) return;
  stirred = true;
  found->second.gone =
      Departure{from, view.find(from)->incarnation, DepartureCause::kLeft, "it asked to leave"};
}

void Membership::Core::mark_restarted(const PeerId& peer, std::uint64_t incarnation) {
  const auto found = watched.find(peer);
  const Member* member = view.find(peer);
  if (found == watched.end() || member == nullptr || incarnation <= member->incarnation) return;
  // A verdict stands for the next life, too.
  if (found->second.gone && (found->second.gone->cause == DepartureCause::kRestarted ||
                             found->second.gone->cause == DepartureCause::kExpelled)) {
    return;
  }
  found->second.gone = Departure{peer, member->incarnation, DepartureCause::kRestarted,
                                 "its process was started again"};
  own_news = stirred = true;
}

// How many members, this one included, suspect it.
int Membership::Core::reporters(const Watched& member) const {
  return static_cast<int>(member.reports.size()) + (member.own ? 1 : 0);
}

// Of two members, the other one lives and only owes the collective something. Its vote would be
// needed, and it would vote itself out; the tie-breaker alone may say so. One that computes by its
// own word does not suspect the other, so that it may vote for going.
bool Membership::Core::owes_only(const Watched& member) const {
  return view.size() == 2 && member.reachable() && !member.computes() && !may_go_alone();
}

// Whether all others within reach are restarted members, which watch nobody.
bool Membership::Core::watches_alone() const {
  bool some = false;
  for (const auto& [peer, member] : watched) {
    if (!member.reachable()) continue;
    if (!member.restarted()) return false;
    some = true;
  }
  return some;
}

// Who should go, as far as this peer knows. Two reports are needed: with one alone it may be the
// reporter's own line that is broken. Only where no other member could report, one will do.
std::vector<Departure> Membership::Core::departures() const {
  std::vector<Departure> out;
  // Where all others compute there is nobody else to say so.
  const bool others_compute = std::all_of(
      watched.begin(), watched.end(), [](const auto& entry) { return entry.second.computes(); });
  const int needed = view.size() == 2 || others_compute || watches_alone() ? 1 : 2;
  int voters = view.size();
  for (const Member& member : view.members) {
    if (member.id == options.self) {
      if (leaving) {
        out.push_back({member.id, member.incarnation, DepartureCause::kLeft, "it asked to leave"});
      }
      continue;
    }
    const Watched& seen = watched.at(member.id);
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
  if (voters < view.quorum() && view.size() > 2) {
    const auto failed = [](const Departure& d) { return d.cause == DepartureCause::kFailed; };
    out.erase(std::remove_if(out.begin(), out.end(), failed), out.end());
  }
  return out;
}

// Two members that cannot reach each other although everybody else reaches both: the one of
// higher rank goes, since a collective needs the link.
void Membership::Core::add_bad_links(std::vector<Departure>& out) const {
  if (view.size() < 3) return;
  // What a restarted member does not say is no sign that it reaches both.
  const bool restarts = std::any_of(watched.begin(), watched.end(),
                                    [](const auto& entry) { return entry.second.restarted(); });
  if (restarts) return;
  const auto is_out = [&out](const PeerId& peer) {
    return std::any_of(out.begin(), out.end(), [&](const Departure& d) { return d.id == peer; });
  };
  for (const auto& [peer, seen] : watched) {
    if (reporters(seen) != 1 || is_out(peer)) continue;
    const PeerId reporter = seen.own ? options.self : seen.reports.begin()->first;
    const TimePoint since = seen.own ? seen.own->since : seen.reports.begin()->second.since;
    if (now - since < options.bad_link_timeout || is_out(reporter)) continue;
    const bool reporter_goes = view.rank_of(reporter) > view.rank_of(peer);
    const PeerId& goes = reporter_goes ? reporter : peer;
    const PeerId& stays = reporter_goes ? peer : reporter;
    const Member* member = view.find(goes);
    if (member == nullptr) continue;
    out.push_back({goes, member->incarnation, DepartureCause::kFailed,
                   "its connection with " + stays.short_name() + " stays broken"});
  }
}

int Membership::Core::reachable() const {
  int count = 1;
  for (const auto& [peer, member] : watched) {
    if (member.reachable()) ++count;
  }
  return count;
}

// Each member is watched by the members at a few fixed distances along the ring; the distances
// follow from the view's hash, so all members agree on them.
void Membership::Core::choose_observers() {
  observers_of_self.clear();
  observed.clear();
  const int n = view.size();
  const int rank = view.rank_of(options.self).value();
  std::uint64_t seed = 0;
  for (std::size_t i = 0; i < sizeof seed; ++i) seed = seed << 8U | view.id.hash[i];
  std::vector<int> distances;
  for (int distance = 1; distance < n; ++distance) distances.push_back(distance);
  Rng pick(seed);
  const auto wanted = static_cast<std::size_t>(std::max(1, options.observers));
  while (distances.size() > wanted) {
    const auto drop = static_cast<std::ptrdiff_t>(pick.below(distances.size()));
    distances.erase(distances.begin() + drop);
  }
  for (const int distance : distances) {
    const auto at = [&](int r) { return view.members[static_cast<std::size_t>(r % n)].id; };
    observers_of_self.push_back(at(rank + distance));
    observed.push_back(at(rank + n - distance));
  }
}

// Their answers are all that a restarted member says in the old view.
void Membership::Core::greet_restarted() {
  for (const auto& [peer, member] : watched) {
    if (member.linked && member.restarted()) send_heartbeat(peer);
  }
}

}  // namespace weft
