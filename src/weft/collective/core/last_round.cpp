#include "weft/collective/parts/last_round.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "weft/collective/parts/swarm_fingerprint.h"
#include "weft/collective/parts/swarm_parts.h"
#include "weft/wire/frame_type.h"

namespace weft {

bool LastRound::at_last_round() const {
  const Round last = core_.options.last_round;
  return last > Round() && core_.trainer.round() >= last;
}

bool LastRound::reached() const { return core_.trainer.has_state() && at_last_round(); }

bool LastRound::committed() const {
  const Round last = core_.options.last_round;
  return last > Round() && core_.rounds.committed() >= last;
}

bool LastRound::coming() const {
  const Round last = core_.options.last_round;
  const std::optional<Round> here = core_.taking.snapshot_round();
  return last > Round() && here && *here >= last;
}

void LastRound::on_state() {
  if (!reached() || state_.since != TimePoint::max()) return;
  state_.since = core_.now();
  const Round round = core_.trainer.round();
  for (const PeerId& peer : core_.partners()) send_finished(peer);
  if (core_.is_member()) {
    core_.membership.run_over(round, core_.now() + core_.options.linger, core_.now());
    return;
  }
  core_.news
      .report(SwarmEventKind::kRunOver,
              fmt::format("the run has ended with round {}, and its final state is here",
                          round.value()))
      .round = round;
}

void LastRound::send_finished(const PeerId& peer) {
  if (!core_.group().contains(peer) || !core_.transport.linked(peer)) return;
  core_.outlet.send_message(peer, frame_type::kFinished, FinishedMessage{core_.trainer.round()});
}

// From a member, or from a newcomer that has got the final state.
Status LastRound::on_frame(const PeerId& from, const FrameView& frame) {
  const Round last = core_.options.last_round;
  WEFT_TRY_ASSIGN(const FinishedMessage message, FinishedMessage::decode(frame.head));
  if (message.round != last) return corrupt("finished: another last round");
  if (core_.view().contains(from)) core_.rounds.learn_committed(last, core_.now());
  state_.finished.insert(from);
  if (state_.leaving && at_last_round() && others_finished()) state_.left = true;
  return {};
}

bool LastRound::others_finished() const {
  if (state_.since == TimePoint::max()) return false;
  const Duration limit = core_.options.finish_timeout;
  const Duration waited = core_.now() - state_.since;
  if (waited >= limit) return true;
  return std::ranges::all_of(core_.view().members, [&](const Member& member) {
    // One whose link is gone has ended its process, or crashed after it was done.
    const bool gone = !core_.transport.linked(member.id) && waited >= limit / 5;
    return member.id == core_.self() || state_.finished.contains(member.id) || gone;
  });
}

// Whether a newcomer takes the final state from here, or may be about to.
bool LastRound::is_needed() const {
  return core_.membership.awaits_newcomers(core_.now()) ||
         std::ranges::any_of(core_.giving.joiners(), [&](const PeerId& joiner) {
           return core_.transport.linked(joiner) && !state_.finished.contains(joiner);
         });
}

bool LastRound::holds_on() {
  const Duration linger = core_.options.linger;
  if (!core_.is_member() || state_.since == TimePoint::max()) return false;
  if (!others_finished()) return true;
  if (core_.now() >= state_.since + linger || !is_needed()) return false;
  if (!std::exchange(state_.reported_lingering, true)) {
    const Round round = core_.trainer.round();
    core_.news
        .report(SwarmEventKind::kRunOver,
                fmt::format("the run has ended with round {}; newcomers are given its final state, "
                            "for at most {:.0f} s",
                            round.value(), to_seconds(linger)))
        .round = round;
  }
  return true;
}

std::optional<Turn> LastRound::turn() {
  const Round round = core_.trainer.round();
  if (holds_on()) {
    if (!core_.giving.wanted() || core_.giving.published() == round) return std::nullopt;
    return core_.giving.order(round);
  }
  core_.membership.stop_serving(core_.now());
  return core_.trainer.make_turn(TurnKind::kFinished, round);
}

TimePoint LastRound::deadline() const {
  const bool waits = core_.trainer.requested() && state_.since != TimePoint::max();
  return waits ? core_.now() + core_.options.finish_timeout / 20 : TimePoint::max();
}

// --- This peer leaves.

void LastRound::leave() {
  const TimePoint now = core_.now();
  core_.late.stop();
  if (reached()) core_.membership.end_record();
  core_.rounds.cancel(aborted("this peer leaves"), now);
  state_.leaving = true;
  if (at_last_round()) core_.membership.stop_serving(now);
  const bool alone = core_.view().size() <= 1 || !core_.is_member();
  if (alone || others_finished()) {
    state_.left = true;
  } else {
    core_.membership.leave(now);
  }
}

// --- The newcomer, and the member that lags.

void LastRound::on_run_over(Round round) {
  if (reached()) return;
  core_.news
      .report(SwarmEventKind::kRunOver,
              fmt::format("the run has ended with round {}; its final state is taken while members "
                          "still give it",
                          round.value()))
      .round = round;
}

void LastRound::on_run_gone(const std::optional<Round>& ended_with) {
  if (reached() || coming()) return;
  if (ended_with) {
    miss(fmt::format("the run ended at round {}, before this peer had taken its state",
                     ended_with->value()));
    return;
  }
  const Round newest = std::max(core_.taking.newest(), core_.trainer.round());
  const Round last = core_.options.last_round;
  std::string known;
  if (newest > Round()) {
    known = fmt::format("; its last known round is {}", newest.value());
    if (last > Round()) known += fmt::format(" of {}", last.value());
  }
  miss(
      fmt::format("the run is gone: no process listens at the addresses of its members any more"
                  "{}. It has ended, or all its members were killed",
                  known));
}

void LastRound::miss(std::string text) {
  core_.news.report(SwarmEventKind::kRunMissed, text).round = core_.options.last_round;
  core_.trainer.fail(unavailable(std::move(text)));
}

void LastRound::fingerprint(Fingerprint& out) const { out.add(state_); }

}  // namespace weft
