// BackwardSweep: one walk over a graph from some outputs down. For autograd/*.cpp alone.
//
// One pass counts the uses of every node, a second runs each node when its last use has been
// counted; both are loops over explicit stacks. A sweep may run inside the vjp of another
// (checkpoints): nodes that both visit keep the state of the outer one.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "weft/autograd/backward.h"
#include "weft/autograd/node.h"
#include "weft/autograd/node_extras.h"

namespace weft {

// Whether gradients flow on below a target, to targets that it depends on itself.
enum class TargetPaths { kGoOn, kEndThere };

class BackwardSweep {
 public:
  struct Options {
    const GradientSink* sink = nullptr;  // null: none
    bool overwrite = false;
    bool keep_graph = false;
    bool create_graph = false;
  };

  explicit BackwardSweep(const Options& options);
  // Restores the gradients of leaves, also after a vjp has thrown.
  ~BackwardSweep();
  BackwardSweep(const BackwardSweep&) = delete;
  BackwardSweep& operator=(const BackwardSweep&) = delete;

  // Adds the gradients of the leaves to them. `seeds`: one for each output.
  void run(std::span<const Tensor> outputs, std::span<const Tensor> seeds);
  // The gradients of `inputs` instead; undefined where no output depends on one.
  std::vector<Tensor> gradients(std::span<const Tensor> outputs, std::span<const Tensor> seeds,
                                std::span<const Tensor> inputs,
                                TargetPaths paths = TargetPaths::kGoOn);

  // The innermost sweep that runs on this thread; null if none does.
  static BackwardSweep* current();
  const Options& options() const { return options_; }

 private:
  class SeedNode;
  // The gradient of a leaf before this sweep.
  struct Held {
    IntrusivePtr<Node> leaf;
    Array gradient;
    bool has_storage;
    bool touched;
  };
  // The state of a node in an outer sweep.
  struct Outer {
    IntrusivePtr<Node> node;
    std::uint64_t sweep;
    std::int64_t uses_left;
    bool touched;
    bool skip;
    std::ptrdiff_t held;
    Array gradient;  // unless a leaf
    Tensor tensor;
  };
  struct Target {
    IntrusivePtr<Node> node;
    std::uint64_t wanted_by;
    Tensor captured;
  };

  bool is_outer(std::uint64_t sweep) const;
  void set_aside(Node& node);
  void enter(Node& node);
  void hold(Node& leaf, internal::NodeExtras& extras);
  void count_uses(Node& root);
  void find_wanted(Node& root);
  void sweep(std::span<const Tensor> outputs, std::span<const Tensor> seeds);

  void visit(Node& node);
  // Whether the vjp ran, or had no gradient to run on.
  bool run_gradient(Node& node);
  bool run_node(Node& node);
  bool run_node_tensors(Node& node);
  bool leads_on(Node& node) const;
  void pass_on(Node& node, bool keep);
  void observe(Node& node, Tensor& gradient) const;

  static void tell_written(const std::shared_ptr<bool>& written, const Node& leaf);
  void finish_leaf(Node& leaf);
  void finish_held(Node& leaf, internal::NodeExtras& extras);
  void finish_tensors(Node& leaf);
  void add_to_leaf(Node& leaf, Array gradient) const;
  void give_back(Held& held);
  // Nothing below this node is of interest.
  bool ends_here(const Node& node) const {
    return paths_ == TargetPaths::kEndThere && node.extras_ && is_wanted(*node.extras_);
  }
  // An outer sweep visits it too, and does the work that is done once.
  bool is_shared(const Node& node) const;
  bool is_wanted(const internal::NodeExtras& extras) const { return extras.wanted_by == id_; }

  Options options_;
  std::uint64_t id_;
  BackwardSweep* outer_;
  bool has_targets_ = false;
  TargetPaths paths_ = TargetPaths::kGoOn;
  std::vector<Node*> stack_;
  // Last in, first out: a branch is finished before the next is begun, so few gradients are alive.
  std::vector<IntrusivePtr<Node>> ready_;
  std::vector<Held> held_;
  std::vector<Outer> set_aside_;
  std::vector<Target> targets_;
};

}  // namespace weft
