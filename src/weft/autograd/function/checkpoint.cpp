// IMPLEMENTATION: the idea is that of Chen, Xu, Zhang, Guestrin, "Training Deep Nets with Sublinear
// Memory Cost" (2016).
#include "weft/autograd/function/checkpoint.h"

#include <stdexcept>
#include <string>
#include <utility>

#include "weft/autograd/anomaly_check.h"
#include "weft/autograd/in_place_history.h"
#include "weft/autograd/node_access.h"
#include "weft/autograd/sweep.h"
#include "weft/base/thread.h"

namespace weft {
namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
constinit thread_local bool is_recomputing = false;

class Recomputing {
 public:
  explicit Recomputing(const std::vector<RestoreState>& snapshots)
      : before_(std::exchange(is_recomputing, true)) {
    for (const RestoreState& snapshot : snapshots) states_.push_back(snapshot());
  }
  ~Recomputing() {
    while (!states_.empty()) states_.pop_back();
    is_recomputing = before_;
  }
  Recomputing(const Recomputing&) = delete;
  Recomputing& operator=(const Recomputing&) = delete;

 private:
  bool before_;
  std::vector<std::shared_ptr<void>> states_;
};

using Captures = std::vector<std::function<RestoreState()>>;
Guarded<Captures>& captures() {
  // Never destroyed: layers may register late. NOLINTNEXTLINE(*-avoid-non-const-global-variables)
  static auto& all = *new Guarded<Captures>();
  return all;
}

std::vector<RestoreState> snapshot() {
  const Captures all = captures().with([](const Captures& list) { return list; });
  std::vector<RestoreState> snapshots;
  for (const auto& capture : all) snapshots.push_back(capture());
  return snapshots;
}

// The same tensor under a new history, so that its gradient from here is told from others.
Tensor alias(const Tensor& x) {
  return record(
      "checkpoint_input", x.array(), {&x},
      [](const Array& dy, const InputGradients& dx) { dx.add(0, dy); },
      [](const Tensor& dy, const TensorGradients& dx) { dx.add(0, dy); });
}

// The sweep is over, and leaves are again what they were, before anyone adds to them.
std::vector<Tensor> gradients_of(const Tensor& y, const Tensor& dy, std::span<const Tensor> targets,
                                 bool create_graph) {
  BackwardSweep sweep({.create_graph = create_graph});
  return sweep.gradients(std::span(&y, 1), std::span(&dy, 1), targets, TargetPaths::kEndThere);
}

// What a checkpoint keeps.
struct Plan {
  CheckpointFunction function;
  std::vector<Array> inputs;
  std::vector<Tensor> used;  // leaves that the function captures, the last used first
  std::vector<internal::SavedMark> marks;
  std::vector<RestoreState> snapshots;

  Tensor again(std::span<const Tensor> tensors, const Tensor& dy) const {
    for (const internal::SavedMark& mark : marks) internal::check_saved(mark, "checkpoint");
    const EnableGrad enable_grad;
    const Recomputing recomputing(snapshots);
    Tensor y = function(tensors);
    if (y.shape() == dy.shape() && y.dtype() == dy.dtype()) return y;
    throw std::invalid_argument("[checkpoint] expected the same output when computed again, " +
                                to_string(dy.shape()) + ", got " + to_string(y.shape()));
  }

  // `targets`: the inputs as the function sees them; gradients go to `dx` by index.
  template <class Gradients, class Add>
  void differentiate(std::vector<Tensor> targets, const Tensor& dy, bool create_graph,
                     const Gradients& dx, const Add& add) const {
    const Tensor y = again(targets, dy);
    if (!y.requires_grad()) return;
    targets.insert(targets.end(), used.begin(), used.end());
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if (!dx.needs(static_cast<int>(i))) targets[i] = Tensor();
    }
    const std::vector<Tensor> gradients = gradients_of(y, dy, targets, create_graph);
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      if (gradients[i].defined()) add(static_cast<int>(i), gradients[i]);
    }
  }
};

}  // namespace

Tensor checkpoint(const CheckpointFunction& function, std::span<const Tensor> inputs) {
  if (!grad_enabled()) return function(inputs);
  Plan plan{function, {}, {}, {}, snapshot()};
  Array output;
  {
    const NoGrad no_grad;
    const internal::HistoryCollector collector;
    std::vector<Tensor> plain;
    for (const Tensor& input : inputs) plain.push_back(input.detach());
    output = function(plain).array();
    plan.used.assign(collector.tensors().rbegin(), collector.tensors().rend());
  }
  for (const Tensor& used : plan.used) {
    if (used.is_leaf()) continue;
    throw std::invalid_argument(
        std::string("[checkpoint] expected a function of its inputs and of leaves, got one that "
                    "uses the output of \"") +
        NodeAccess::name(*NodeAccess::node(used)) + "\", which is not among the inputs");
  }
  std::vector<const Tensor*> all;
  for (const Tensor& input : inputs) {
    if (input.defined()) {
      plan.marks.push_back(internal::mark_saved(input.array(), static_cast<int>(all.size())));
    }
    plan.inputs.push_back(input.array());
    all.push_back(&input);
  }
  // The plan that is kept has the leaves' handles; record needs them only for the call.
  const std::vector<Tensor> used = plan.used;
  for (const Tensor& leaf : used) all.push_back(&leaf);
  const auto shared = std::make_shared<const Plan>(std::move(plan));
  Tensor result = record(
      "checkpoint", std::move(output), all,
      [shared](const Array& dy, const InputGradients& dx) {
        std::vector<Tensor> leaves;
        for (std::size_t i = 0; i < shared->inputs.size(); ++i) {
          leaves.emplace_back(shared->inputs[i], dx.needs(static_cast<int>(i)));
        }
        shared->differentiate(
            std::move(leaves), Tensor(dy), false, dx,
            [&dx](int index, const Tensor& gradient) { dx.add(index, gradient.array()); });
      },
      [shared](const Tensor& dy, const TensorGradients& dx) {
        std::vector<Tensor> aliases;
        for (std::size_t i = 0; i < shared->inputs.size(); ++i) {
          aliases.push_back(alias(dx.input(static_cast<int>(i), shared->inputs[i])));
        }
        shared->differentiate(
            std::move(aliases), dy, true, dx,
            [&dx](int index, const Tensor& gradient) { dx.add(index, gradient); });
      });
  forbid_following(result);
  return result;
}

bool recomputing() { return is_recomputing; }

void register_recomputed_state(std::function<RestoreState()> capture) {
  captures().with([&](Captures& all) { all.push_back(std::move(capture)); });
}

}  // namespace weft
