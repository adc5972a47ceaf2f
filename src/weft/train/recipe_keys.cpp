// The one table of recipe keys, sorted by name; see recipe.h.
#include "weft/train/recipe.h"

namespace weft {
namespace {

constexpr double kAny = 9.0e15;  // every whole number up to here is exact in a double

#define WEFT_SLOT(member) [](Recipe& recipe) -> RecipeSlot { return &recipe.member; }

constexpr RecipeKey kKeys[] = {
    {"checkpoint.every_steps", WEFT_SLOT(checkpoint.every_steps), 0, kAny, "",
     "Write a checkpoint after every so many steps; 0 writes only the one at the end."},
    {"checkpoint.keep", WEFT_SLOT(checkpoint.keep), 1, 1000, "",
     "How many of the newest checkpoints stay on disk."},
    {"data.name", WEFT_SLOT(data.name), 0, 0, "fashion-mnist|mnist|synthetic",
     "The dataset. `weft data list` tells where each is looked for; synthetic needs no file."},
    {"data.synthetic_samples", WEFT_SLOT(data.synthetic_samples), 16, 1 << 20, "",
     "Training samples of the synthetic dataset; its test set has a quarter as many."},
    {"data.test_samples_max", WEFT_SLOT(data.test_samples_max), 0, kAny, "",
     "Use at most the first so many test samples; 0 uses all."},
    {"data.train_samples_max", WEFT_SLOT(data.train_samples_max), 0, kAny, "",
     "Use at most the first so many training samples; 0 uses all."},
    {"group.bucket_bytes", WEFT_SLOT(group.bucket_bytes), 4096, 1 << 30, "",
     "Gradients travel in buckets of about this size, each as soon as backward has filled it."},
    {"group.heartbeat_interval_ms", WEFT_SLOT(group.heartbeat_interval_ms), 10, 60000, "",
     "How often a member tells the others that it is alive."},
    {"group.joins_at_once", WEFT_SLOT(group.joins_at_once), 1, 64, "",
     "How many newcomers may take the state at the same time."},
    {"group.lone_survivor", WEFT_SLOT(group.lone_survivor), 0, 1, "",
     "Two members: may either go on alone when the other is lost? Safe only where the network "
     "cannot split, as on one machine: after a split both sides would go on."},
    {"group.on_quorum_lost", WEFT_SLOT(group.on_quorum_lost), 0, 0, "wait|exit",
     "What a member does when more than half of the group is gone for group.quorum_timeout_s: "
     "keep the state and wait for them, or save a checkpoint and exit."},
    {"group.quorum_timeout_s", WEFT_SLOT(group.quorum_timeout_s), 0.1, 86400, "",
     "How long a majority may be out of reach before on_quorum_lost applies."},
    {"group.result_log_bytes", WEFT_SLOT(group.result_log_bytes), 0, 64LL << 30, "",
     "Memory for the results of past rounds, from which a newcomer catches up."},
    {"group.segment_bytes", WEFT_SLOT(group.segment_bytes), 1024, 1 << 20, "",
     "A bucket travels round the ring in pieces of this size, so that hops overlap."},
    {"group.start_members", WEFT_SLOT(group.start_members), 1, 64, "",
     "The first round begins when the group has so many members; later ones do not wait."},
    {"group.start_timeout_s", WEFT_SLOT(group.start_timeout_s), 0, 86400, "",
     "If no further newcomer comes for so long, the first round begins with those who are there."},
    {"group.suspicion_timeout_ms", WEFT_SLOT(group.suspicion_timeout_ms), 50, 600000, "",
     "A member that was silent for this long is taken for lost."},
    {"group.ticket_valid_h", WEFT_SLOT(group.ticket_valid_h), 1, 8760, "",
     "For how many hours a printed ticket lets others join."},
    {"model.dropout", WEFT_SLOT(model.dropout), 0, 1, "", "Train the CNN with its dropout layers."},
    {"model.hidden_units", WEFT_SLOT(model.hidden_units), 1, 65536, "",
     "Width of the hidden layer of the model mlp."},
    {"model.name", WEFT_SLOT(model.name), 0, 0, "mlp|cnn|lenet", "The model of the zoo."},
    {"optimizer.beta1", WEFT_SLOT(optimizer.beta1), 0, 0.999999, "",
     "adam, adamw: decay of the mean of gradients."},
    {"optimizer.beta2", WEFT_SLOT(optimizer.beta2), 0, 0.999999, "",
     "adam, adamw: decay of the mean of squared gradients."},
    {"optimizer.epsilon", WEFT_SLOT(optimizer.epsilon), 1e-16, 1, "",
     "adam, adamw: added to the denominator."},
    {"optimizer.learning_rate", WEFT_SLOT(optimizer.learning_rate), 0, 1000, "",
     "Step size before the schedule scales it."},
    {"optimizer.momentum", WEFT_SLOT(optimizer.momentum), 0, 0.999999, "", "sgd: momentum."},
    {"optimizer.name", WEFT_SLOT(optimizer.name), 0, 0, "sgd|adam|adamw", "The optimizer."},
    {"optimizer.nesterov", WEFT_SLOT(optimizer.nesterov), 0, 1, "", "sgd: Nesterov momentum."},
    {"optimizer.weight_decay", WEFT_SLOT(optimizer.weight_decay), 0, 10, "",
     "Weight decay: into the gradient (sgd, adam) or decoupled (adamw)."},
    {"run.evaluate", WEFT_SLOT(run.evaluate), 0, 1, "",
     "Measure the accuracy on the test set in a last round that all members share."},
    {"run.global_batch", WEFT_SLOT(run.global_batch), 1, 1 << 20, "",
     "Samples a step, over all members together: the mathematics of a run does not depend on how "
     "many take part."},
    {"run.name", WEFT_SLOT(run.name), 0, 0, "", "A name for people."},
    {"run.round_seconds_min", WEFT_SLOT(run.round_seconds_min), 0, 3600, "",
     "A round takes at least so long: to leave a machine time for other work, or to watch a small "
     "run."},
    {"run.seed", WEFT_SLOT(run.seed), 0, kAny, "",
     "Seed of initial parameters, order of the samples and dropout."},
    {"run.steps", WEFT_SLOT(run.steps), 1, kAny, "", "Optimizer steps of the whole run."},
    {"schedule.drop_every_steps", WEFT_SLOT(schedule.drop_every_steps), 1, kAny, "",
     "step: the rate is multiplied by schedule.drop_factor after every so many steps."},
    {"schedule.drop_factor", WEFT_SLOT(schedule.drop_factor), 0, 1, "", "step: the factor."},
    {"schedule.final_fraction", WEFT_SLOT(schedule.final_fraction), 0, 1, "",
     "cosine: the learning rate at the end as a fraction of the first."},
    {"schedule.name", WEFT_SLOT(schedule.name), 0, 0, "constant|cosine|step",
     "How the learning rate changes with the step."},
    {"schedule.warmup_steps", WEFT_SLOT(schedule.warmup_steps), 0, kAny, "",
     "The learning rate rises from 0 in a straight line over so many steps first, at most over "
     "half "
     "of the run."},
};

#undef WEFT_SLOT

}  // namespace

std::span<const RecipeKey> recipe_keys() { return kKeys; }

}  // namespace weft
