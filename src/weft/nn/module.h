// Module: a part of a model, with named parameters and named parts.
//
// Where it stands: the zoo builds a tree of Modules; bind() moves all its parameters into one
// ParameterArena, over which the all-reduce, the optimizer and checkpoints are flat loops.
// A new Module's parameters are zeros (ones for norms) until initialize(seed) gives them the
// values that every peer with this seed computes.
// Threads: the training thread's; a Module is neither copied nor moved.
// Fails: std::invalid_argument where shapes do not fit, "[op] expected ..., got ...".
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/array/arena/layout.h"
#include "weft/array/arena/parameter_arena.h"
#include "weft/autograd/tensor.h"
#include "weft/nn/init.h"

namespace weft {

// The facts about a step that a layer may depend on besides its input. Dropout uses them, so that a
// batch split over peers has the masks of the whole batch.
struct StepContext {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  std::uint64_t first_row = 0;  // of this peer's shard within the global batch
};

// A parameter or a buffer somewhere below a module.
struct NamedValue {
  std::string name;  // "conv1.weight"
  ParameterKind kind = ParameterKind::kWeight;
  Array value;  // shared, contiguous
};

struct NamedParameter {
  std::string name;
  Tensor value;
};

class Module {
 public:
  Module() = default;
  virtual ~Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  virtual Tensor forward(const Tensor& x) = 0;
  Tensor operator()(const Tensor& x) { return forward(x); }
  // forward() and then max(x, 0), in one pass over memory if fuses_relu().
  virtual Tensor forward_relu(const Tensor& x);
  virtual bool fuses_relu() const { return false; }
  // Whether this is the plain ReLU, which the previous part may apply instead.
  virtual bool is_relu() const { return false; }

  // This part and then `norm`, a batch normalisation, as one where that is possible; with `relu`
  // max(x, 0) follows.
  virtual Tensor forward_normalized(const Tensor& x, Module& norm, bool relu);
  // Whether this normalises channels, which the previous part may do instead.
  virtual bool is_batch_norm() const { return false; }

  // Modules start in training mode. Both functions apply to all parts below.
  void train(bool on = true);
  bool is_training() const { return training_; }
  void set_step_context(const StepContext& context);

  // All values in a fixed order: own parameters and buffers as they were registered, then those of
  // each part; the index of a value is its ParameterId.
  std::vector<NamedValue> values() const;
  // Only the parameters, in the same order; the handles share value and gradient.
  std::vector<Tensor> parameters() const;
  // The same with their names.
  std::vector<NamedParameter> named_parameters() const;
  // Copies values by name, from any floating type. Throws std::invalid_argument unless each of
  // values() is given once, with its shape, and nothing else.
  void load_values(const std::vector<NamedValue>& values);
  // Replaces parameters() by tensors in that order, such as casts of them for a forward pass in
  // another precision; the caller puts the old ones back. Throws std::invalid_argument unless
  // number and shapes fit.
  void replace_parameters(const std::vector<Tensor>& tensors);
  Layout layout() const;

  // Calls visit(name, module) for this ("") and all parts below, parents first.
  void visit_modules(const std::function<void(const std::string& name, Module&)>& visit);
  // Calls change(module) for all parts below and then for this, as PyTorch's apply does.
  void apply(const std::function<void(Module&)>& change);

  // Sets whether the parameters whose names begin with `prefix` are trained. Frozen ones get no
  // gradient, and no optimizer changes them; their places in an arena's gradient buffer are zeroed
  // once and then left alone. Throws std::invalid_argument if no name has the prefix.
  void set_requires_grad(bool on, std::string_view prefix = "");
  // Sets the initializer for values named `name` or "anything.name"; throws if there is none.
  void set_initializer(std::string_view name, const Initializer& initializer);

  // Draws value i from Rng(seed, i).
  void initialize(std::uint64_t seed);
  // Copies all values into the arena; from then on they are views of it, gradients accumulate in
  // its gradient buffer, and it knows which parameters are trained and have one. Earlier handles
  // from parameters() or values() refer to the same parameters, unless the arena is on another
  // device: then they keep the old values. It may be called once for each module, and once for each
  // arena. Throws std::invalid_argument unless arena.layout() == layout(), and if this or a part of
  // it is bound already, or another existing module is bound to the arena.
  void bind(ParameterArena& arena);

 protected:
  // Both borrow the object that they register, a member of the derived class, and set its shape.
  void register_parameter(std::string name, Tensor& parameter, const Shape& shape,
                          ParameterKind kind, Initializer initializer);
  void register_buffer(std::string name, Array& buffer, const Shape& shape, double value);
  // Takes `part` and returns it; names of values below it get the prefix "name.".
  Module& register_part(std::string name, std::unique_ptr<Module> part);

  // The position of this module in the tree, counted from the root (0); the same on every peer.
  std::uint32_t place() const { return place_; }
  const StepContext& step_context() const { return context_; }
  // seed, step and first row of the step context as an array, i64 [3]: a layer that is random in
  // training passes it to its ops, so that each replay of a captured step uses the present values.
  const Array& step_words() const { return step_words_; }

 private:
  struct Entry {
    std::string name;
    ParameterKind kind = ParameterKind::kWeight;
    Tensor* parameter = nullptr;  // or
    Array* buffer = nullptr;
    Initializer initializer = {};
    // For parameters in an arena: the place of the gradient, and the id.
    Array gradient = {};
    ParameterId id = kNoParameter;
    std::shared_ptr<ParameterUse> use = nullptr;
    std::weak_ptr<Storage> made = {};  // by this for the value, before bind()
    bool is_bound = false;
    const Array& value() const { return parameter != nullptr ? parameter->array() : *buffer; }
  };
  struct Part {
    std::string name;
    std::unique_ptr<Module> module;
  };

  // Calls visit(full name, Entry&) for every value, in order.
  template <class Visit>
  void visit_entries(const std::string& prefix, const Visit& visit) const;
  // Connects a parameter in an arena to its gradient there, or disconnects it.
  static void connect(Entry& entry, bool trained);
  static void follow(const Entry& entry, const Array& place);
  template <class Visit>
  void change_entries(const std::string& prefix, const Visit& visit);
  void visit_modules(const std::string& name,
                     const std::function<void(const std::string&, Module&)>& visit);
  std::uint32_t set_context(const StepContext& context, std::uint32_t place);

  std::vector<Entry> entries_;
  std::vector<Part> parts_;
  // Identifies this module to an arena while it exists.
  std::shared_ptr<const void> identity_ = std::make_shared<char>();
  StepContext context_;
  Array step_words_ = Array::zeros({3}, DType::kI64);
  std::uint32_t place_ = 0;
  bool training_ = true;
};

}  // namespace weft
