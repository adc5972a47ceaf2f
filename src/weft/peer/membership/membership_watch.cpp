// What happens with links, with each sign of life, and once a heartbeat interval.
#include <algorithm>

#include "weft/peer/parts/membership_core.h"

namespace weft {
namespace {

// A joiner dials the members that it has no link with once in this many heartbeats.
constexpr int kBeatsPerDial = 4;
constexpr int kBeatsPerTelling = 8;

}  // namespace

void Membership::Core::on_link_up(const LinkInfo& link) {
  const PeerId& peer = link.peer;
  stirred = true;
  joining.on_link_up(peer);
  links.add(link);
  if (watch.on_link_up(peer)) {
    on_sign_of_life(peer);
    watch.send_heartbeat(peer);
    if (leaving) send(peer, frame_type::kLeaving, LeavingMessage{view.id});
    bans.send_revocations(peer);
    if (state == MembershipState::kIsolated) {
      // Further links may come up before a member proposes.
      const Duration wait = from_seconds(to_seconds(options.takeover_timeout) * rng.uniform());
      balloting.propose_by(now + wait);
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
    meetings.send_standing(peer);
  } else if (state == MembershipState::kIsolated &&
             (former.all().count(peer) != 0 || balloting.has_accepted(peer))) {
    // It may be a member of a view that this peer does not know: then its answer shows that.
    keys.show_key(peer);
    watch.send_heartbeat(peer);
  }
}

void Membership::Core::on_link_down(const PeerId& peer, const Status& why) {
  stirred = true;
  links.remove(peer);
  keys.on_link_down(peer);
  bans.on_link_down(peer);
  joining.on_link_down(peer, why);
  if (watch.on_link_down(peer, why)) return;
  newcomers.on_link_down(peer);
  joining.go_on_without(peer, why);
}

void Membership::Core::on_sign_of_life(const PeerId& from) {
  if (!watch.on_sign_of_life(from)) newcomers.on_sign_of_life(from);
}

// Everything that happens once a heartbeat interval.
void Membership::Core::beat() {
  const bool stood_still = beats != 0 && now - beat_at > 2 * options.heartbeat_interval;
  beat_at = now + options.heartbeat_interval;
  ++beats;
  links.turn_away_expired();
  if (stood_still) {
    watch.forgive();
    newcomers.forgive();
  }
  past.past_beat();
  if (state == MembershipState::kSyncing && joining.attempt() && joining.attempt()->sponsor) {
    watch.send_heartbeat(*joining.attempt()->sponsor);
    if (beats % kBeatsPerDial == 0) joining.dial_known();
    joining.admit_again();
  }
  if (!active()) return;
  for (const PeerId& observer : watch.observers()) {
    if (links.up(observer)) watch.send_heartbeat(observer);
  }
  watch.greet_restarted();
  watch.watch_members();
  records.keep_record(true);
  if (leaving) announce_leaving();
  watch.announce_suspicions();
  judgement.repeat_accusations();
  if (merges()) {
    meetings.branch_beat();
  } else if (state == MembershipState::kIsolated) {
    // All members of the last known view may be dead, and the run live on in others.
    former.dial_former();
  }
  newcomers.joiners_timer();
  if (beats % kBeatsPerTelling == 0) newcomers.announce_joiners_again();
}

bool Membership::Core::is_calm() const {
  if (!watch.all_linked() || balloting.frozen() || leaving || balloting.must_change() ||
      balloting.propose_at() != kNever || state == MembershipState::kIsolated ||
      !newcomers.joiners().empty() || !meetings.all().empty() || view.yields_to) {
    return false;
  }
  return std::all_of(watch.all().begin(), watch.all().end(), [](const auto& entry) {
    return !entry.second.own && !entry.second.gone && entry.second.reports.empty();
  });
}

}  // namespace weft
