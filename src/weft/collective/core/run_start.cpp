#include "weft/collective/parts/run_start.h"

#include "weft/collective/parts/swarm_fingerprint.h"
#include "weft/collective/parts/swarm_parts.h"

namespace weft {

void RunStart::found(Round after) {
  state_.founder = true;
  state_.round = after;
  wait_anew();
}

void RunStart::join() { wait_anew(); }

void RunStart::wait_anew() { state_.since = core_.now(); }

TimePoint RunStart::ends() const { return state_.since + core_.options.start_timeout; }

bool RunStart::overdue() const { return core_.now() >= ends(); }

bool RunStart::may_start() const {
  if (core_.gathering.open()) return false;
  if (core_.trainer.round() != state_.round) return true;
  if (core_.view().size() >= state_.members) return true;
  if (overdue()) return true;
  // The founder has the say, because it has waited longest.
  return !state_.founder && core_.rounds.begun_elsewhere(core_.trainer.round().next());
}

TimePoint RunStart::deadline() const {
  const bool waits = core_.trainer.requested() && core_.trainer.round() == state_.round;
  return waits && !overdue() ? ends() : TimePoint::max();
}

void RunStart::fingerprint(Fingerprint& out) const { out.add(state_); }

}  // namespace weft
