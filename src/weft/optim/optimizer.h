// Optimizer: turns gradients into new parameters, over a whole ParameterArena at a time.
//
// Where it stands: train step, after the exchange -> Optimizer -> the arena's parameters. One file
// NAME_optimizer.cpp each; see docs/HACKING.md to add one. State lives in the arena under names
// ("momentum"), so state transfer, checkpoints and the state hash see it without asking.
// The arithmetic is elementwise in one fixed order: equal inputs give equal bits on every peer.
// Buffers (running statistics) are left alone.
// Threads: the training thread's.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/array/parameter_arena.h"
#include "weft/base/status.h"

namespace weft {

struct OptimizerOptions {
  std::string name = "sgd";
  double learning_rate = 0.01;
  double weight_decay = 0.0;
  // sgd
  double momentum = 0.0;
  double dampening = 0.0;
  bool nesterov = false;
  // adam, adamw
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
};

// Elements [begin, end) of the arena.
struct ArenaRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t size() const { return end - begin; }
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // One step with the arena's own gradients.
  void step() { step(arena_.gradients()); }
  // One step with other gradients of the arena's layout, gaps included (their values there are 0).
  void step(std::span<const float> gradients);

  const std::string& name() const { return options_.name; }
  double learning_rate() const { return options_.learning_rate; }
  void set_learning_rate(double learning_rate) { options_.learning_rate = learning_rate; }

  // Steps taken. Part of the state, beside the arena's buffers: whoever restores those sets it.
  std::int64_t steps() const { return steps_; }
  void set_steps(std::int64_t steps) { steps_ = steps; }

 protected:
  // Borrows `arena`, which must outlive this.
  Optimizer(ParameterArena& arena, OptimizerOptions options);

  // Part of a step: spans of equal length over one range without buffers. steps() is still the
  // number of steps before this one.
  virtual void apply(ArenaRange range, std::span<const float> gradients,
                     std::span<float> parameters) = 0;

  const OptimizerOptions& options() const { return options_; }
  ParameterArena& arena() { return arena_; }

 private:
  ParameterArena& arena_;
  OptimizerOptions options_;
  std::vector<ArenaRange> ranges_;
  std::int64_t steps_ = 0;
};

struct OptimizerDef {
  const char* name;
  std::unique_ptr<Optimizer> (*make)(const OptimizerOptions& options, ParameterArena& arena);
};

// All optimizers, sorted by name.
std::span<const OptimizerDef* const> optimizer_table();
std::vector<std::string> optimizer_names();

// Adds its state to `arena`, which it borrows. Fails: kInvalidArgument for an unknown name (lists
// the known ones) or a value out of range (learning_rate, weight_decay, epsilon >= 0; momentum,
// beta1 and beta2 in [0, 1); Nesterov needs momentum and no dampening).
Result<std::unique_ptr<Optimizer>> make_optimizer(const OptimizerOptions& options,
                                                  ParameterArena& arena);

}  // namespace weft
