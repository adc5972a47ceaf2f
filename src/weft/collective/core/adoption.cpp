#include "weft/collective/parts/adoption.h"

#include <utility>

#include "weft/collective/parts/swarm_fingerprint.h"
#include "weft/collective/parts/swarm_parts.h"

namespace weft {

// How long to wait for a joiner whose newer state makes no progress.
static constexpr Duration kHeldTimeout = std::chrono::seconds(30);

void Adoption::begin(const PeerId& holder) {
  state_.adopting = holder;
  state_.bytes = core_.fetch.bytes_received();
  state_.until = core_.now() + kHeldTimeout;
  core_.taking.take_from(holder);
}

bool Adoption::settle() {
  if (!state_.adopting) return false;
  const TimePoint now = core_.now();
  if (core_.fetch.bytes_received() != state_.bytes) {
    state_.bytes = core_.fetch.bytes_received();
    state_.until = now + kHeldTimeout;
  }
  if (core_.gathering.held_by(*state_.adopting) != nullptr && now < state_.until) return true;
  core_.gathering.forget(*std::exchange(state_.adopting, std::nullopt));
  core_.taking.stop();
  return false;
}

void Adoption::on_loaded(const Hash256& root) {
  if (!state_.adopting) return;
  const Round round = core_.trainer.round();
  state_.taken_root = root;
  state_.taken_from = std::exchange(state_.adopting, std::nullopt);
  core_.gathering.on_adopted(*state_.taken_from, round);
  core_.rounds.restart_at(round);
  core_.start.set_round(round);
  core_.taking.stop();
}

void Adoption::fingerprint(Fingerprint& out) const { out.add(state_); }

}  // namespace weft
