#include "weft/autograd/node.h"
#include "weft/graph/capture_recorder.h"
#include "weft/graph/control.h"
#include "weft/graph/control_parts.h"
#include "weft/graph/sub_graph.h"

namespace weft {
namespace {

using internal::Drive;
using internal::Piece;

struct Choice {
  Branch then;
  Branch otherwise;
  std::vector<Array> operands;
  const Branch& of(bool predicate) const { return predicate ? then : otherwise; }
};

// `own[0]` is the flag.
void drive_choice(LaunchArrays own, std::span<const Piece> pieces) {
  pieces[internal::read_flag(own[0]) ? 0 : 1]();
}

std::vector<Array> results_of(const Branch& branch, const std::vector<Array>& operands) {
  const std::vector<Tensor> results = branch(internal::plain_tensors(operands));
  internal::refuse_foreign_gradients("if_else", results);
  return internal::arrays_of(results);
}

// Zeros with the shapes and types of the branch's results. It runs once; what it writes to arrays
// from before is undone, and nothing of it is part of the graph.
std::vector<Array> results_like(const Branch& branch, const std::vector<Array>& operands) {
  std::vector<Array> models;
  {
    internal::CaptureRecorder trial(internal::CaptureRecorder::OuterWrites::kUndo);
    {
      const RecorderScope scope(&trial);
      const AttributionScope operations(trial.attribution());
      models = results_of(branch, operands);
    }
    trial.undo_outer_writes();
  }
  std::vector<Array> results;
  results.reserve(models.size());
  for (const Array& model : models) results.push_back(Array::zeros(model.shape(), model.dtype()));
  return results;
}

Piece forward_piece(const Branch& branch, const std::vector<Array>& operands,
                    const std::vector<Array>& targets) {
  return [branch, operands, targets] {
    const std::vector<Tensor> results = branch(internal::plain_tensors(operands));
    internal::refuse_foreign_gradients("if_else", results);
    internal::check_results("if_else", results, targets);
    internal::write_results(internal::arrays_of(results), targets);
  };
}

Piece branch_backward_piece(const Branch& branch, const std::vector<Array>& operands,
                            const std::vector<Array>& seeds, const std::vector<Array>& targets) {
  return [branch, operands, seeds, targets] {
    internal::GradientPiece piece;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      piece.leaves.emplace_back(operands[i], targets[i].defined());
    }
    const std::vector<Tensor> results = branch(piece.leaves);
    internal::write_results(piece.run(results, seeds), targets);
  };
}

void run_choice_backward(const Choice& choice, const Array& flag, const std::vector<Array>& results,
                         std::span<const Array> dy, const InputGradients& dx) {
  std::vector<Array> seeds;
  for (std::size_t i = 0; i < results.size(); ++i) {
    seeds.push_back(internal::seed_of(dy[i], results[i]));
  }
  std::vector<Array> own = {flag};
  std::vector<Array> targets;
  for (std::size_t i = 0; i < choice.operands.size(); ++i) {
    const Array& operand = choice.operands[i];
    targets.push_back(dx.needs(static_cast<int>(i)) ? Array::zeros(operand.shape(), operand.dtype())
                                                    : Array());
    if (targets.back().defined()) own.push_back(targets.back());
  }
  internal::run_control("if_else_gradient", own,
                        {branch_backward_piece(choice.then, choice.operands, seeds, targets),
                         branch_backward_piece(choice.otherwise, choice.operands, seeds, targets)},
                        drive_choice);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (targets[i].defined()) dx.add(static_cast<int>(i), targets[i]);
  }
}

}  // namespace

std::vector<Tensor> if_else(const Tensor& predicate, const Branch& then, const Branch& otherwise,
                            const std::vector<Tensor>& operands) {
  const Choice choice{then, otherwise, internal::arrays_of(operands)};
  const Array flag = Array::zeros({}, DType::kBool);
  internal::write_flag("if_else", predicate, flag);
  std::vector<Array> results;
  if (current_recorder() == nullptr) {
    results = results_of(choice.of(internal::read_flag(flag)), choice.operands);
    // A result may be an operand itself; two tensors with one history each need two arrays.
    for (Array& result : results) result = result.strided().clone();
  } else {
    results = results_like(then, choice.operands);
    std::vector<Array> own = {flag};
    own.insert(own.end(), results.begin(), results.end());
    internal::run_control("if_else", own,
                          {forward_piece(then, choice.operands, results),
                           forward_piece(otherwise, choice.operands, results)},
                          drive_choice);
  }
  std::vector<const Tensor*> inputs;
  inputs.reserve(operands.size());
  for (const Tensor& operand : operands) inputs.push_back(&operand);
  return record_many("if_else", results, std::span<const Tensor* const>(inputs),
                     [choice, flag, results](std::span<const Array> dy, const InputGradients& dx) {
                       run_choice_backward(choice, flag, results, dy, dx);
                     });
}

}  // namespace weft
