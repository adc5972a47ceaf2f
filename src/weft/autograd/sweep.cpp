#include "weft/autograd/sweep.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "weft/array/launch.h"
#include "weft/autograd/anomaly_check.h"
#include "weft/autograd/node_access.h"
#include "weft/base/thread.h"

namespace weft {
namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
constinit thread_local BackwardSweep* current_sweep = nullptr;

std::uint64_t next_sweep() {
  static Atomic<std::uint64_t> counter{0};
  return ++counter;
}

[[noreturn]] void throw_used_up(const char* name) {
  throw std::invalid_argument(
      std::string("[backward] expected a graph with its saved values, got one that an earlier "
                  "backward has used up (at \"") +
      name + "\"); compute the loss again, or keep the graph with keep_graph");
}

}  // namespace

// What the outputs are the inputs of: hands each its seed.
class BackwardSweep::SeedNode final : public Node {
 public:
  SeedNode(std::span<const Tensor> outputs, std::span<const Tensor> seeds) : seeds_(seeds) {
    std::vector<const Tensor*> inputs;
    for (const Tensor& output : outputs) inputs.push_back(&output);
    NodeAccess::set_inputs(*this, "seed", inputs);
  }

 private:
  void run(const Array&, const InputGradients& dx) override {
    for (std::size_t i = 0; i < seeds_.size(); ++i) {
      if (dx.needs(static_cast<int>(i))) dx.add(static_cast<int>(i), seeds_[i].array());
    }
  }
  void run_tensors(const Tensor&, const TensorGradients& dx) override {
    for (std::size_t i = 0; i < seeds_.size(); ++i) {
      if (dx.needs(static_cast<int>(i))) dx.add(static_cast<int>(i), seeds_[i]);
    }
  }
  void release() override {}
  std::span<const Tensor> seeds_;
};

BackwardSweep::BackwardSweep(const Options& options)
    : options_(options), id_(next_sweep()), outer_(current_sweep) {
  current_sweep = this;
}

BackwardSweep::~BackwardSweep() {
  for (Held& held : held_) give_back(held);
  for (Outer& outer : set_aside_) {
    Node& node = *outer.node;
    node.sweep_ = outer.sweep;
    node.uses_left_ = outer.uses_left;
    node.skip_ = outer.skip;
    if (!node.leaf_) node.gradient_ = std::move(outer.gradient);
    if (!node.leaf_ || has_targets_) node.touched_ = outer.touched;
    if (node.extras_) node.extras_->held = outer.held;
    if (outer.tensor.defined()) NodeAccess::extras(node).gradient = std::move(outer.tensor);
  }
  for (auto target = targets_.rbegin(); target != targets_.rend(); ++target) {
    internal::NodeExtras& extras = NodeAccess::extras(*target->node);
    extras.wanted_by = target->wanted_by;
    extras.captured = std::move(target->captured);
  }
  current_sweep = outer_;
}

BackwardSweep* BackwardSweep::current() { return current_sweep; }

void BackwardSweep::run(std::span<const Tensor> outputs, std::span<const Tensor> seeds) {
  sweep(outputs, seeds);
}

std::vector<Tensor> BackwardSweep::gradients(std::span<const Tensor> outputs,
                                             std::span<const Tensor> seeds,
                                             std::span<const Tensor> inputs, TargetPaths paths) {
  has_targets_ = true;
  paths_ = paths;
  for (const Tensor& input : inputs) {
    const IntrusivePtr<Node> node = NodeAccess::node(input);
    if (!node) continue;
    internal::NodeExtras& extras = NodeAccess::extras(*node);
    targets_.push_back({node, extras.wanted_by, std::move(extras.captured)});
    extras.wanted_by = id_;
    extras.captured = Tensor();
  }
  // Below the only target there is no other.
  const auto same = [&](const Target& target) {
    return target.node.get() == targets_.front().node.get();
  };
  if (std::all_of(targets_.begin(), targets_.end(), same)) paths_ = TargetPaths::kEndThere;
  sweep(outputs, seeds);
  std::vector<Tensor> results;
  for (const Tensor& input : inputs) {
    const IntrusivePtr<Node> node = NodeAccess::node(input);
    results.push_back(node ? NodeAccess::extras(*node).captured : Tensor());
  }
  return results;
}

void BackwardSweep::sweep(std::span<const Tensor> outputs, std::span<const Tensor> seeds) {
  SeedNode seed_node(outputs, seeds);
  Node& seed = seed_node;
  if (has_targets_) find_wanted(seed);
  count_uses(seed);
  if (options_.create_graph) {
    const EnableGrad enable_grad;
    seed.run_tensors(Tensor(), TensorGradients(seed));
  } else {
    seed.run(Array(), InputGradients(seed, options_.overwrite));
  }
  pass_on(seed, false);
  while (!ready_.empty()) {
    const IntrusivePtr<Node> node = std::move(ready_.back());
    ready_.pop_back();
    visit(*node);
  }
}

bool BackwardSweep::is_outer(std::uint64_t sweep) const {
  for (const BackwardSweep* outer = outer_; outer != nullptr; outer = outer->outer_) {
    if (outer->id_ == sweep) return true;
  }
  return false;
}

bool BackwardSweep::is_shared(const Node& node) const {
  for (const Outer& outer : set_aside_) {
    if (outer.node.get() == &node) return true;
  }
  return false;
}

// Keeps the state of a node that a sweep around this one is in the midst of.
void BackwardSweep::set_aside(Node& node) {
  Outer outer{IntrusivePtr<Node>(&node),
              node.sweep_,
              node.uses_left_,
              node.touched_,
              node.skip_,
              node.extras_ ? node.extras_->held : -1,
              {},
              {}};
  if (!node.leaf_) outer.gradient = std::move(node.gradient_);
  if (node.extras_) outer.tensor = std::exchange(node.extras_->gradient, Tensor());
  set_aside_.push_back(std::move(outer));
}

void BackwardSweep::enter(Node& node) {
  const bool shared = outer_ != nullptr && is_outer(node.sweep_);
  if (shared) set_aside(node);
  node.sweep_ = id_;
  node.uses_left_ = 0;
  // To a leaf that an outer sweep has touched its gradients are added, whatever the option.
  if (!(shared && node.leaf_)) node.touched_ = false;
  if (!has_targets_) node.skip_ = false;
  internal::NodeExtras* const extras = node.extras_.get();
  if (extras != nullptr) extras->gradient = Tensor();
  if (node.leaf_) {
    const bool hooked = extras != nullptr && extras->hooks && !shared;
    if (!options_.create_graph && (has_targets_ || hooked)) hold(node, NodeAccess::extras(node));
    return;
  }
  if (node.released_ && !ends_here(node)) throw_used_up(node.name_);
  node.gradient_ = Array();
  stack_.push_back(&node);
}

// Collects the gradient of this sweep by itself.
void BackwardSweep::hold(Node& leaf, internal::NodeExtras& extras) {
  extras.held = static_cast<std::ptrdiff_t>(held_.size());
  held_.push_back({IntrusivePtr<Node>(&leaf), std::exchange(leaf.gradient_, Array()),
                   std::exchange(leaf.has_grad_storage_, false),
                   std::exchange(leaf.touched_, false)});
}

void BackwardSweep::give_back(Held& held) {
  if (!held.leaf) return;
  Node& leaf = *held.leaf;
  leaf.gradient_ = std::move(held.gradient);
  leaf.has_grad_storage_ = held.has_storage;
  leaf.touched_ = held.touched;
  NodeAccess::extras(leaf).held = -1;
  held.leaf = {};
}

// Also refuses a graph that was used up, before any gradient is touched.
void BackwardSweep::count_uses(Node& root) {
  root.sweep_ = id_;
  stack_.push_back(&root);
  while (!stack_.empty()) {
    Node& node = *stack_.back();
    stack_.pop_back();
    if (ends_here(node)) continue;
    for (int i = 0; i < node.input_count_; ++i) {
      Node* const input = node.input(i).get();
      if (input == nullptr) continue;
      // What leads to no target is left as it is.
      if (has_targets_ && input->skip_) continue;
      if (input->sweep_ != id_) enter(*input);
      ++input->uses_left_;
    }
  }
}

// Sets skip_ of every node that leads to no target, inputs before their users.
void BackwardSweep::find_wanted(Node& root) {
  const std::uint64_t seen = next_sweep();
  std::vector<std::pair<Node*, int>> path = {{&root, 0}};
  while (!path.empty()) {
    auto& [node, next] = path.back();
    if (next == node->input_count_ || ends_here(*node)) {
      const bool skip = node->skip_;
      path.pop_back();
      if (!path.empty() && !skip) path.back().first->skip_ = false;
      continue;
    }
    Node* const input = node->input(next++).get();
    if (input == nullptr) continue;
    if (input->sweep_ == seen) {
      if (!input->skip_) node->skip_ = false;
      continue;
    }
    if (outer_ != nullptr && is_outer(input->sweep_)) set_aside(*input);
    input->sweep_ = seen;
    input->skip_ = !(input->extras_ && is_wanted(*input->extras_));
    // Where it led is no longer known.
    if (input->released_ && !ends_here(*input)) throw_used_up(input->name_);
    path.emplace_back(input, 0);
  }
}

bool BackwardSweep::run_gradient(Node& node) {
  const GradientScope scope(node.name_);
  return options_.create_graph ? run_node_tensors(node) : run_node(node);
}

void BackwardSweep::visit(Node& node) {
  const bool ran = run_gradient(node);
  const bool keep = options_.keep_graph || options_.create_graph || !ran;
  if (!keep) {
    node.released_ = true;
    node.release();
  }
  pass_on(node, keep);
}

// Hooks, kept gradients and results of grad().
void BackwardSweep::observe(Node& node, Tensor& gradient) const {
  internal::NodeExtras& extras = *node.extras_;
  if (extras.hooks && !is_shared(node)) {
    // A hook may take itself away.
    const auto hooks = extras.hooks->hooks;
    for (const auto& [id, hook] : hooks) {
      Tensor replaced = hook(gradient);
      if (!replaced.defined()) continue;
      if (replaced.shape() != gradient.shape() || replaced.dtype() != gradient.dtype()) {
        const auto text = [](const Tensor& x) {
          return "shape " + to_string(x.shape()) + " and type " + std::string(to_string(x.dtype()));
        };
        throw std::invalid_argument("[register_hook] expected a gradient of " + text(gradient) +
                                    ", got one of " + text(replaced) + " from the hook");
      }
      gradient = std::move(replaced);
    }
  }
  if (extras.retains && !has_targets_) extras.kept = gradient;
  if (has_targets_ && is_wanted(extras)) extras.captured = gradient;
}

bool BackwardSweep::leads_on(Node& node) const {
  if (!has_targets_) return true;
  if (ends_here(node)) return false;
  for (int i = 0; i < node.input_count_; ++i) {
    const Node* const input = node.input(i).get();
    if (input != nullptr && !input->skip_) return true;
  }
  return false;
}

bool BackwardSweep::run_node(Node& node) {
  if (!node.gradient_.defined()) return leads_on(node);
  Array gradient = std::move(node.gradient_);
  node.gradient_ = Array();
  if (node.extras_) {
    Tensor observed(std::move(gradient));
    observe(node, observed);
    gradient = observed.array();
  }
  if (!leads_on(node)) return false;
  for (int i = 0; i < node.mark_count_; ++i) {
    internal::check_saved(node.marks_[static_cast<std::size_t>(i)], node.name_);
  }
  node.run(gradient, InputGradients(node, options_.overwrite));
  if (internal::watching) internal::check_input_gradients(node);
  return true;
}

bool BackwardSweep::run_node_tensors(Node& node) {
  if (!node.extras_ || !node.extras_->gradient.defined()) return leads_on(node);
  const EnableGrad enable_grad;
  Tensor gradient = std::exchange(node.extras_->gradient, Tensor());
  observe(node, gradient);
  if (!leads_on(node)) return false;
  for (int i = 0; i < node.mark_count_; ++i) {
    internal::check_saved(node.marks_[static_cast<std::size_t>(i)], node.name_);
  }
  node.run_tensors(gradient, TensorGradients(node));
  return true;
}

void BackwardSweep::pass_on(Node& node, bool keep) {
  if (ends_here(node)) return;
  for (int i = 0; i < node.input_count_; ++i) {
    IntrusivePtr<Node>& edge = node.input(i);
    if (!edge || (has_targets_ && edge->skip_)) continue;
    const IntrusivePtr<Node> input = keep ? edge : std::move(edge);
    if (--input->uses_left_ > 0) continue;
    if (input->leaf_) {
      finish_leaf(*input);
    } else {
      ready_.push_back(input);
    }
  }
}

void BackwardSweep::tell_written(const std::shared_ptr<bool>& written, const Node& leaf) {
  *written = true;
  if (current_recorder() == nullptr) return;
  launch_callback("mark_gradient", {&leaf.gradient_}, [written](LaunchArrays) { *written = true; });
}

void BackwardSweep::finish_leaf(Node& leaf) {
  internal::NodeExtras* const extras = leaf.extras_.get();
  if (options_.create_graph) {
    finish_tensors(leaf);
  } else if (extras != nullptr && extras->held >= 0) {
    finish_held(leaf, *extras);
  }
  if (has_targets_) return;
  // The sweep around this one says when all uses have been counted.
  if (is_shared(leaf)) return;
  if (extras != nullptr && extras->accumulated_hooks && leaf.touched_) {
    const auto hooks = extras->accumulated_hooks->hooks;
    for (const auto& [id, hook] : hooks) hook(leaf.gradient_);
  }
  if (extras != nullptr && extras->written && leaf.touched_) tell_written(extras->written, leaf);
  if (leaf.parameter_id_ == kNoParameter) return;
  if (!leaf.touched_) {
    if (!leaf.gradient_.defined()) {
      leaf.gradient_ = Array::zeros(leaf.shape_, leaf.dtype_, leaf.device_);
    } else if (options_.overwrite) {
      leaf.gradient_.fill(0);
    }
  }
  if (options_.sink == nullptr || !*options_.sink) return;
  if (current_recorder() == nullptr) {
    (*options_.sink)(leaf.parameter_id_, leaf.gradient_);
    return;
  }
  // A replay hands each gradient over at the same point: it keeps its own copy of the sink.
  launch_callback("gradient", {&leaf.gradient_},
                  [sink = *options_.sink, id = leaf.parameter_id_](LaunchArrays gradient) {
                    sink(id, gradient[0]);
                  });
}

void BackwardSweep::finish_held(Node& leaf, internal::NodeExtras& extras) {
  Tensor gradient(std::exchange(leaf.gradient_, Array()));
  give_back(held_[static_cast<std::size_t>(extras.held)]);
  if (!gradient.defined()) return;
  observe(leaf, gradient);
  if (!has_targets_) add_to_leaf(leaf, gradient.array());
}

void BackwardSweep::add_to_leaf(Node& leaf, Array gradient) const {
  const Tensor handle = NodeAccess::with_history(Array(), IntrusivePtr<Node>(&leaf));
  SeedNode to_leaf(std::span(&handle, 1), {});
  InputGradients(to_leaf, options_.overwrite).add(0, std::move(gradient));
}

void BackwardSweep::finish_tensors(Node& leaf) {
  internal::NodeExtras* const extras = leaf.extras_.get();
  if (extras == nullptr || !extras->gradient.defined()) return;
  const EnableGrad enable_grad;
  Tensor gradient = std::exchange(extras->gradient, Tensor());
  observe(leaf, gradient);
  if (has_targets_) return;
  const bool adds = leaf.gradient_.defined() && !options_.overwrite;
  if (adds) {
    const Tensor before =
        extras->history.defined() ? extras->history : Tensor(leaf.gradient_.clone());
    extras->history = internal::add_tensors(before, gradient);
  } else {
    extras->history = gradient;
  }
  add_to_leaf(leaf, gradient.array());
}

}  // namespace weft
