// Optimizer: turns gradients into new parameters, over a whole ParameterArena at a time.
//
// Where it stands: train step, after the exchange -> Optimizer -> the arena's parameters. Each one
// is a file NAME_optimizer.cpp; see docs/HACKING.md to add one. State is in the arena under names
// ("momentum"), so state transfer, checkpoints and the state hash include it automatically.
// The arithmetic has one fixed order: equal inputs give equal bits on every peer, for any
// instruction set and number of threads. Buffers (running statistics) are left alone.
// A parameter that is frozen, by its group or by Module::set_requires_grad(), or that has no
// gradient (ParameterArena::has_gradient) is skipped as in PyTorch: neither it nor its state
// changes, not even by decay or momentum, and the step does not count for it.
// It computes on the arena's device and shares its buffers: the arena may be moved or destroyed
// before the optimizer. A step is a write in place: the backward of earlier results throws if it
// needs the old values.
// Threads: the training thread's.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/array/arena/parameter_arena.h"
#include "weft/base/status.h"
#include "weft/optim/parameter_group.h"

namespace weft {

struct OptimizerOptions {
  std::string name = "sgd";
  double learning_rate = 0.01;
  double weight_decay = 0.0;  // decoupled: adamw, adafactor, lion, muon; else in the gradient
  // sgd, rmsprop, muon
  double momentum = 0.0;
  double dampening = 0.0;  // sgd
  bool nesterov = false;   // sgd, muon
  // adam, adamw, lion; muon for parameters that it does not orthogonalise
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;  // all that divide, but adafactor
  bool amsgrad = false;   // adam, adamw
  // rmsprop, adadelta: share of the old mean of squares
  double smoothing = 0.99;
  bool centered = false;  // rmsprop
  // adafactor: the rate is at most 1 / sqrt(step); it is relative to the parameter's own scale
  bool relative_step = true;
  bool scale_parameter = true;
  double clip_threshold = 1.0;  // largest root mean square of an update
  // muon: factor of the learning rate for the other parameters
  double rest_rate_factor = 0.015;
  // Other settings for some parameters; the first group that fits holds.
  std::vector<ParameterGroup> groups = {};
  // Whether weight_decay reaches biases and the scales and shifts of norms, which no group names.
  bool decay_biases_and_norms = true;
};

// Elements [begin, end) of the arena and what holds for all of them.
struct ArenaRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  int entry = 0;  // of the layout: the first in the range, or the only one
  double rate_factor = 1.0;
  double weight_decay = 0.0;
  std::int64_t steps = 0;  // that count for its parameters, before this one
  std::int64_t size() const { return end - begin; }
  // Its part of a buffer with the arena's layout; undefined if that is.
  Array of(const Array& buffer) const {
    return buffer.defined() ? buffer.slice(0, begin, end) : Array();
  }
};

// The range that an optimizer gets in one call: all with equal settings, or one parameter.
enum class RangeUnit : std::uint8_t { kSettings, kParameter };

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // One step with the arena's own gradients, of the parameters that have one, and with the rows
  // that were added since the last step. Throws std::logic_error if there was never a gradient: no
  // module is bound to the arena (Module::bind), and no value other than 0 was written to
  // gradients().
  void step();
  // One step with other gradients of the arena's layout, gaps included (their values there are 0).
  // All parameters that are not frozen have one. Throws std::invalid_argument on another size. The
  // span is memory of the host, from where it is copied if the arena is on another device.
  void step(const Array& gradients);
  void step(std::span<const float> gradients);

  // Gives the next step() the gradient of some rows of a parameter [rows, width], such as those of
  // an embedding that a batch has used: values [rows.size(), width]; all other rows have 0. The
  // step has the same bits as with the complete gradient. Sgd without momentum and adagrad, both
  // without weight decay, read only these rows, unless a backward has written the parameter's
  // gradient too; for the others the rows are added to the arena's gradient. Copies; a frozen
  // parameter ignores them.
  // Fails: kInvalidArgument on rows out of range or not rising, or another number of values.
  Status add_rows(int parameter, std::span<const std::int64_t> rows, std::span<const float> values);

  const std::string& name() const { return options_.name; }
  double learning_rate() const { return options_.learning_rate; }
  void set_learning_rate(double learning_rate) { options_.learning_rate = learning_rate; }

  // Steps taken. Part of the state, besides the arena's buffers: code that restores those sets it.
  std::int64_t steps() const { return steps_; }
  void set_steps(std::int64_t steps) { steps_ = steps; }

 protected:
  // Shares the buffers of `arena`.
  Optimizer(ParameterArena& arena, OptimizerOptions options, RangeUnit unit = RangeUnit::kSettings);

  // Keeps how many steps count for each parameter, as the arena's state "steps": for those whose
  // arithmetic asks for range.steps, in their constructor.
  void count_steps();

  // Part of a step, where the arena is: flat f32 views of equal length of one range without buffers
  // or frozen parameters. For kernel/optimizer/optimizer_steps.h.
  virtual void apply(const ArenaRange& range, const Array& gradients, Array& parameters) = 0;

  // Whether a gradient of 0 leaves parameter and state as they are, weight decay apart.
  virtual bool leaves_zeros_alone() const { return false; }

  const OptimizerOptions& options() const { return options_; }
  double rate_of(const ArenaRange& range) const {
    return options_.learning_rate * range.rate_factor;
  }
  ParameterArena& arena() { return arena_; }

 private:
  struct Rows {
    std::vector<std::int64_t> rows;
    std::vector<float> values;
  };
  void check_fed();
  bool is_present(int entry, bool own_gradients) const;
  std::vector<ArenaRange> present_ranges(bool own_gradients);
  void move(const Array& gradients, bool own_gradients);
  void move_rows(const ArenaRange& range, const Rows& rows);
  void add_to_gradient(int entry, const Rows& rows);
  void note_writes(std::span<const ArenaRange> written);

  ParameterArena arena_;
  OptimizerOptions options_;
  RangeUnit unit_;
  std::vector<ArenaRange> parameters_;  // one for each that no group freezes, in order
  std::map<int, Rows> rows_;            // for the next step, by entry
  Array step_counts_;                   // undefined: nobody asks
  std::int64_t steps_ = 0;
  bool is_fed_ = false;  // somebody gives the arena gradients
};

struct OptimizerDef {
  const char* name;
  std::unique_ptr<Optimizer> (*make)(const OptimizerOptions& options, ParameterArena& arena);
};

// All optimizers, sorted by name.
std::span<const OptimizerDef* const> optimizer_table();
std::vector<std::string> optimizer_names();

// Adds its state to `arena`, whose buffers it shares. Fails: kInvalidArgument for an unknown name
// (lists the known ones), a value out of range (learning_rate, weight_decay, epsilon >= 0;
// momentum, beta1, beta2 and smoothing in [0, 1); Nesterov needs momentum and no dampening), or a
// group that fits no parameter.
Result<std::unique_ptr<Optimizer>> make_optimizer(const OptimizerOptions& options,
                                                  ParameterArena& arena);

}  // namespace weft
