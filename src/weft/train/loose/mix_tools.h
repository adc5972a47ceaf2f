// mix_tools: what combinations ask of the model (MixProbe, MixJudge), for a member that trains
// meanwhile.
//
// The tools have a model and an arena of their own beside the trainer's, since the member's loop
// thread combines while the training thread computes. A member needs that memory twice, and answers
// nobody while its tools pass forward over their samples.
//
// Where it stands: Trainer -> here -> MixMember. Threads: made on the training thread; used by one
// thread, any.
// Fails: kInvalidArgument where the model's units cannot change places, or where a member has no
// samples to judge by.
#pragma once

#include <cstdint>

#include "weft/base/status.h"
#include "weft/mix/mix_member.h"
#include "weft/mix/mix_method.h"
#include "weft/train/run/trainer.h"

namespace weft {

// Whether make_mix_tools() can make what the method needs: for a run that has not begun.
Status check_mix_tools(Trainer& trainer, const MixMethod& method, std::uint32_t members);

// None where the method needs none.
Result<MixTools> make_mix_tools(const Trainer& trainer, const MixMethod& method,
                                std::uint32_t member, std::uint32_t members);

}  // namespace weft
