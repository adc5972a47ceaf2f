// The sweep: one pass counts the uses of every node, a second runs each node when its last use
// has been counted. Both are loops over explicit stacks.
#include "weft/autograd/backward.h"

#include <stdexcept>
#include <string>
#include <vector>

#include "weft/autograd/node.h"
#include "weft/autograd/node_access.h"
#include "weft/base/thread.h"

namespace weft {
namespace {

std::uint64_t next_sweep() {
  static Atomic<std::uint64_t> counter{0};
  return ++counter;
}

}  // namespace

class BackwardSweep {
 public:
  BackwardSweep(const GradientSink& sink, const BackwardOptions& options)
      : sink_(sink), options_(options), sweep_(next_sweep()) {}

  void run(const Tensor& output) {
    const IntrusivePtr<Node>& root = NodeAccess::node(output);
    count_uses(*root);
    seed(output, *root);
    if (root->leaf_) {
      finish_leaf(*root);
      return;
    }
    ready_.push_back(root);
    while (!ready_.empty()) {
      const IntrusivePtr<Node> node = std::move(ready_.back());
      ready_.pop_back();
      visit(*node);
    }
  }

 private:
  void enter(Node& node) {
    node.sweep_ = sweep_;
    node.uses_left_ = 0;
    node.touched_ = false;
    if (node.leaf_) return;
    if (node.released_) {
      throw std::invalid_argument(
          std::string("[backward] expected a graph with its saved values, got one that an earlier "
                      "backward has used up (at \"") +
          node.name_ + "\"); compute the loss again, or keep the graph with keep_graph");
    }
    node.gradient_ = Array();
    stack_.push_back(&node);
  }

  // Also refuses a graph that was used up, before any gradient is touched.
  void count_uses(Node& root) {
    enter(root);
    while (!stack_.empty()) {
      Node& node = *stack_.back();
      stack_.pop_back();
      for (int i = 0; i < node.input_count_; ++i) {
        Node* const input = node.input(i).get();
        if (input == nullptr) continue;
        if (input->sweep_ != sweep_) enter(*input);
        ++input->uses_left_;
      }
    }
  }

  void seed(const Tensor& output, Node& root) {
    Array gradient = options_.gradient.defined() ? options_.gradient
                                                 : Array::full(root.shape_, 1.0, root.dtype_);
    if (!root.leaf_) {
      root.gradient_ = std::move(gradient);
      return;
    }
    IdentityNode identity(output);
    const InputGradients inputs(identity, overwrites());
    inputs.add(0, std::move(gradient));
  }

  void visit(Node& node) {
    if (node.gradient_.defined()) {
      const Array gradient = std::move(node.gradient_);
      node.gradient_ = Array();
      node.run(gradient, InputGradients(node, overwrites()));
    }
    if (!options_.keep_graph) {
      node.released_ = true;
      node.release();
    }
    for (int i = 0; i < node.input_count_; ++i) {
      IntrusivePtr<Node>& edge = node.input(i);
      if (!edge) continue;
      const IntrusivePtr<Node> input = options_.keep_graph ? edge : std::move(edge);
      if (--input->uses_left_ > 0) continue;
      if (input->leaf_) {
        finish_leaf(*input);
      } else {
        ready_.push_back(input);
      }
    }
  }

  void finish_leaf(Node& leaf) {
    const bool is_parameter = leaf.parameter_id_ != kNoParameter;
    if (!leaf.touched_ && is_parameter) {
      if (!leaf.gradient_.defined()) {
        leaf.gradient_ = Array::zeros(leaf.shape_, leaf.dtype_);
      } else if (overwrites()) {
        leaf.gradient_.fill(0);
      }
    }
    if (is_parameter && sink_) sink_(leaf.parameter_id_, leaf.gradient_);
  }

  bool overwrites() const { return options_.leaf_gradients == LeafGradients::kOverwrite; }

  // What hands the seed to a loss that is itself a leaf.
  class IdentityNode final : public Node {
   public:
    explicit IdentityNode(const Tensor& input) {
      const Tensor* const inputs[] = {&input};
      NodeAccess::set_inputs(*this, "identity", inputs);
    }

   private:
    void run(const Array&, const InputGradients&) override {}
    void release() override {}
  };

  const GradientSink& sink_;
  const BackwardOptions& options_;
  std::uint64_t sweep_;
  std::vector<Node*> stack_;
  // Last in, first out: a branch is finished before the next is begun, so few gradients are alive.
  std::vector<IntrusivePtr<Node>> ready_;
};

void backward(const Tensor& output, const GradientSink& sink, const BackwardOptions& options) {
  if (!output.requires_grad()) {
    throw std::invalid_argument(
        "[backward] expected a loss that depends on a tensor with requires_grad, got one without "
        "history (was it made under NoGrad or detached?)");
  }
  const Array& seed = options.gradient;
  if (!seed.defined() && output.size() != 1) {
    throw std::invalid_argument("[backward] expected a loss of one element, got shape " +
                                to_string(output.shape()) + "; reduce it or give a gradient");
  }
  if (seed.defined() && (seed.shape() != output.shape() || seed.dtype() != output.dtype())) {
    throw std::invalid_argument("[backward] expected a gradient of shape " +
                                to_string(output.shape()) + ", got " + to_string(seed.shape()));
  }
  BackwardSweep(sink, options).run(output);
}

void backward(const Tensor& loss) { backward(loss, GradientSink(), BackwardOptions()); }

void backward(const Tensor& loss, const GradientSink& sink) {
  backward(loss, sink, BackwardOptions());
}

}  // namespace weft
