// MixExchange: a run's turns where members train by a method of loose exchange.
//
// A piece of work is a kTrain turn of a group of one: its state is the model to work on, and
// finish() waits for the model that this member works on next, or for the last one. So a round is
// that of the version which it began with; where members need not wait for each other, a round may
// come twice and another one never. A member that has no work when the run ends gets the last model
// by a kApply turn. What follows is this member's own: it measures that model on the whole test
// set.
//
// Where it stands: as SwarmExchange, behind GroupExchange. Threads: the training thread; status(),
// ticket() and take_events() on any. Fails: as MixMember; kAborted where it was asked to stop.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "weft/base/status.h"
#include "weft/mix/mix_member.h"
#include "weft/train/exchange/group_exchange.h"

namespace weft {

struct MixExchangeOptions {
  std::int64_t elements = 0;  // of the model
  Round training_rounds;
  // That of the evaluation, or the same.
  Round last_round;
  // Steps of the run, and of a round.
  std::int64_t steps = 1;
  std::int64_t local_steps = 1;
  std::uint32_t members = 1;
  std::shared_ptr<const MixMethod> method{};
  // What the member with this number begins with; called on the training thread, once.
  std::function<MixVector(std::uint32_t member)> first_model{};
  // What its combination asks of the model; likewise.
  std::function<Result<MixTools>(std::uint32_t member)> make_tools{};
  // Looked at while finish() waits.
  std::function<bool()> stop_asked{};
};

// Takes the member.
std::unique_ptr<GroupExchange> make_mix_exchange(std::unique_ptr<MixMember> member,
                                                 MixExchangeOptions options);

}  // namespace weft
