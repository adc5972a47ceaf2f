#include <stdexcept>
#include <string>

#include "weft/autograd/backward.h"
#include "weft/autograd/node.h"
#include "weft/graph/control.h"
#include "weft/graph/control_parts.h"
#include "weft/graph/sub_graph.h"
#include "weft/kernel/elementwise/elementwise.h"

namespace weft {
namespace {

using internal::Drive;
using internal::Piece;

// The variables of every iteration of the latest run, the first iteration first. Its arrays stay
// for the next run.
class LoopStack {
 public:
  void clear() { count_ = 0; }
  void push(const std::vector<Array>& variables) {
    if (count_ == saved_.size()) saved_.emplace_back(variables.size());
    std::vector<Array>& entry = saved_[count_++];
    for (std::size_t i = 0; i < variables.size(); ++i) {
      if (!entry[i].defined()) entry[i] = Array::empty(variables[i].shape(), variables[i].dtype());
      entry[i].copy_from(variables[i]);
    }
  }
  std::size_t size() const { return count_; }
  const std::vector<Array>& operator[](std::size_t i) const { return saved_[i]; }

 private:
  std::vector<std::vector<Array>> saved_;
  std::size_t count_ = 0;
};

struct Loop {
  LoopCondition condition;
  LoopBody body;
  WhileOptions options;
  std::vector<Array> constants;
};

std::vector<Tensor> call_body(const Loop& loop, const std::vector<Tensor>& variables,
                              const std::vector<Tensor>& constants) {
  std::vector<Tensor> results = loop.body(variables, constants);
  internal::check_results("while_loop", results, internal::arrays_of(variables));
  return results;
}

// Writes whether the loop goes on to `flag`.
Piece condition_piece(const Loop& loop, const std::vector<Array>& variables, const Array& flag) {
  return [loop, variables, flag] {
    const NoGrad guard;
    const Tensor goes_on =
        loop.condition(internal::plain_tensors(variables), internal::plain_tensors(loop.constants));
    internal::write_flag("while_loop", goes_on, flag);
  };
}

// Writes the next values to the variables.
Piece body_piece(const Loop& loop, const std::vector<Array>& variables) {
  return [loop, variables] {
    const std::vector<Tensor> results = call_body(loop, internal::plain_tensors(variables),
                                                  internal::plain_tensors(loop.constants));
    internal::refuse_foreign_gradients("while_loop", results);
    internal::write_results(internal::arrays_of(results), variables);
  };
}

// `own` is the flag and the variables.
Drive forward_drive(std::shared_ptr<LoopStack> stack, std::int64_t iterations_max) {
  return [stack = std::move(stack), iterations_max](LaunchArrays own,
                                                    std::span<const Piece> pieces) {
    std::vector<Array> variables;
    for (int i = 1; i < own.size(); ++i) variables.push_back(own[i]);
    if (stack) stack->clear();
    for (std::int64_t iteration = 0;; ++iteration) {
      pieces[0]();
      if (!internal::read_flag(own[0])) return;
      if (iteration >= iterations_max) {
        throw std::runtime_error("[while_loop] expected at most " + std::to_string(iterations_max) +
                                 " iterations, got a condition that still holds");
      }
      if (stack) stack->push(variables);
      pieces[1]();
    }
  };
}

// What goes from iteration to iteration on the way back.
struct BackwardState {
  // Written by the forward: the loop back needs that loop's stack, whoever uses its results.
  Array flag;
  std::vector<Array> variables;           // of the iteration, before its body
  std::vector<Array> gradients;           // of the variables; undefined for integers
  std::vector<Array> constant_gradients;  // sums so far; undefined where none is wanted

  std::vector<Array> all() const {
    std::vector<Array> arrays = variables;
    arrays.push_back(flag);
    for (const std::vector<Array>* const list : {&gradients, &constant_gradients}) {
      for (const Array& array : *list) {
        if (array.defined()) arrays.push_back(array);
      }
    }
    return arrays;
  }
};

// From the gradients after one iteration to those before it.
Piece loop_backward_piece(const Loop& loop, const BackwardState& state) {
  return [loop, state] {
    internal::GradientPiece piece;
    for (std::size_t i = 0; i < state.variables.size(); ++i) {
      piece.leaves.emplace_back(state.variables[i], state.gradients[i].defined());
    }
    std::vector<Tensor> constants;
    for (std::size_t j = 0; j < loop.constants.size(); ++j) {
      constants.emplace_back(loop.constants[j], state.constant_gradients[j].defined());
    }
    const std::vector<Tensor> results = call_body(loop, piece.leaves, constants);
    piece.leaves.insert(piece.leaves.end(), constants.begin(), constants.end());
    const std::vector<Array> gradients = piece.run(results, state.gradients);
    const std::size_t count = state.variables.size();
    internal::write_results({gradients.begin(), gradients.begin() + static_cast<long>(count)},
                            state.gradients);
    for (std::size_t j = 0; j < constants.size(); ++j) {
      Array sum = state.constant_gradients[j];
      if (sum.defined() && gradients[count + j].defined()) {
        accumulate(gradients[count + j].strided(), sum);
      }
    }
  };
}

// What the gradient needs of the forward.
struct Forward {
  Array flag;
  std::vector<Array> variables;
  std::shared_ptr<LoopStack> stack;
};

void run_loop_backward(const Loop& loop, const Forward& forward, std::span<const Array> dy,
                       const InputGradients& dx) {
  const std::vector<Array>& variables = forward.variables;
  const int count = static_cast<int>(variables.size());
  BackwardState state;
  state.flag = forward.flag;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    state.variables.push_back(Array::zeros(variables[i].shape(), variables[i].dtype()));
    state.gradients.push_back(internal::seed_of(dy[i], variables[i]));
  }
  for (std::size_t j = 0; j < loop.constants.size(); ++j) {
    const Array& constant = loop.constants[j];
    state.constant_gradients.push_back(dx.needs(count + static_cast<int>(j))
                                           ? Array::zeros(constant.shape(), constant.dtype())
                                           : Array());
  }
  const Drive drive = [stack = forward.stack, count](LaunchArrays own,
                                                     std::span<const Piece> pieces) {
    for (std::size_t iteration = stack->size(); iteration-- > 0;) {
      for (int i = 0; i < count; ++i) {
        own[i].copy_from((*stack)[iteration][static_cast<std::size_t>(i)]);
      }
      pieces[0]();
    }
  };
  internal::run_control("while_loop_gradient", state.all(), {loop_backward_piece(loop, state)},
                        drive);
  for (int i = 0; i < count; ++i) {
    if (dx.needs(i)) dx.add(i, state.gradients[static_cast<std::size_t>(i)]);
  }
  for (std::size_t j = 0; j < loop.constants.size(); ++j) {
    const int index = count + static_cast<int>(j);
    if (dx.needs(index)) dx.add(index, state.constant_gradients[j]);
  }
}

}  // namespace

std::vector<Tensor> while_loop(const LoopCondition& condition, const LoopBody& body,
                               const std::vector<Tensor>& variables,
                               const std::vector<Tensor>& constants, const WhileOptions& options) {
  const Loop loop{condition, body, options, internal::arrays_of(constants)};
  std::vector<Array> own = {Array::zeros({}, DType::kBool)};
  std::vector<Array> state;
  for (const Tensor& variable : variables) {
    if (!variable.defined()) internal::throw_control("while_loop", "variables", "an undefined one");
    state.push_back(variable.array().clone());
  }
  own.insert(own.end(), state.begin(), state.end());
  std::vector<const Tensor*> inputs;
  inputs.reserve(variables.size() + constants.size());
  for (const Tensor& variable : variables) inputs.push_back(&variable);
  for (const Tensor& constant : constants) inputs.push_back(&constant);
  const bool keeps = grad_enabled() && internal::any_requires_grad(inputs);
  const auto stack = keeps ? std::make_shared<LoopStack>() : nullptr;
  internal::run_control("while_loop", own,
                        {condition_piece(loop, state, own[0]), body_piece(loop, state)},
                        forward_drive(stack, options.iterations_max));
  return record_many("while_loop", state, std::span<const Tensor* const>(inputs),
                     [loop, forward = Forward{own[0], state, stack}](std::span<const Array> dy,
                                                                     const InputGradients& dx) {
                       run_loop_backward(loop, forward, dy, dx);
                     });
}

}  // namespace weft
