// Wiring: makes the parts that a recipe demands. It is the only place where a recipe's words become
// options.
//
// Threads: pure. Fails: kInvalidArgument, kUnavailable or kCorrupt with the remedy in the message.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "weft/base/status.h"
#include "weft/collective/swarm/swarm.h"
#include "weft/data/batch_loader.h"
#include "weft/data/catalog.h"
#include "weft/data/dataset.h"
#include "weft/gossip/gossip_member.h"
#include "weft/mix/mix_member.h"
#include "weft/nn/zoo.h"
#include "weft/optim/optimizer.h"
#include "weft/optim/schedule.h"
#include "weft/train/recipe/recipe.h"
#include "weft/train/step/local_step.h"
#include "weft/train/step/round_step.h"

namespace weft {

// Sizes of inputs, classes and vocabulary are those of `data`, as the transforms leave it. Fails
// where the model takes another kind of data.
Result<ModelOptions> model_options(const Recipe& recipe, const DataDescription& data);
Result<OptimizerOptions> optimizer_options(const Recipe& recipe);
Result<ScheduleOptions> schedule_options(const Recipe& recipe);

// The split that the recipe asks for, cut to its *_samples_max.
Result<Dataset> open_recipe_dataset(const Recipe& recipe, Split split, const DataPlaces& places);
// The same as the model with this description takes it: with its tokenizer and its normalisation.
// Fails also with kInvalidArgument where classes, columns or vocabulary are others.
Result<Dataset> open_described_dataset(const Recipe& recipe, Split split, const DataPlaces& places,
                                       const DataDescription& described);
Result<Transforms> recipe_transforms(const Recipe& recipe);
Result<BatchLoaderOptions> loader_options(const Recipe& recipe, const Dataset& data);

// REQUIRES: recipe.local.steps > 1.
LocalOptions local_options(const Recipe& recipe);
// What members do in a round, of the siblings that RoundStep has. Borrows `arena`, which must
// outlive it; local steps add their state to it.
std::unique_ptr<RoundStep> make_round_step(const Recipe& recipe, ParameterArena& arena);

// Rounds of a run: those that train, local.steps steps each, and the evaluation if there is one.
Round last_round(const Recipe& recipe);

// Settings of one machine.
struct PeerSettings {
  PeerIdentity identity = PeerIdentity::generate();
  std::string listen = "*:0";
  bool map_port = false;
  // "host:port" each; others dial these before the machine's own addresses.
  std::vector<std::string> advertise;
  // The table behind group.rendezvous; none: the key is passed over.
  std::function<MakeRendezvousTable(const std::string& node)> rendezvous;
};
// For Swarm::found and Swarm::join; the founder adds its run id and invitation key.
SwarmOptions swarm_options(const Recipe& recipe, const Layout& layout,
                           const PeerSettings& settings);

// For GossipMember::start; a joiner adds its ticket and its run id.
GossipMemberOptions gossip_options(const Recipe& recipe, const Layout& layout,
                                   const PeerSettings& settings);

// For MixMember::start; likewise. Fails: kInvalidArgument for a number of members that the method
// cannot do with.
Result<MixMemberOptions> mix_options(const Recipe& recipe, const Layout& layout,
                                     const PeerSettings& settings);

}  // namespace weft
