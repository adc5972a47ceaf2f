// A training step recorded once and replayed, and a loop whose length depends on values.
//
// Build: part of the tests (`example_graph`). Prints the graph and what it checked; exit code 1 if
// a replay gives other values than the same work done eagerly.
#include "weft/graph/graph.h"

#include <cmath>
#include <cstdio>
#include <vector>

#include "weft/autograd/backward.h"
#include "weft/base/rng.h"
#include "weft/graph/control.h"
#include "weft/op/ops.h"

namespace {

using weft::Array;
using weft::Tensor;
using weft::Tensors;

void fill_normal(Array& values, std::uint64_t seed) {
  weft::Rng rng(seed, 0);
  for (float& value : values.flat<float>()) value = static_cast<float>(rng.normal());
}

// tanh(x w) should be y: the mean square error and its gradient.
Tensor train_once(const Tensor& x, const Tensor& y, const Tensor& w) {
  const Tensor error = tanh(matmul(x, w)) - y;
  const Tensor loss = mean(error * error);
  weft::BackwardOptions options;
  options.leaf_gradients = weft::LeafGradients::kOverwrite;
  backward(loss, {}, options);
  return loss;
}

// w <- w - rate gradient, by the host: an optimizer stays outside of the graph.
void descend(const Tensor& w, float rate) {
  Array values = w.array();
  const Array gradient = w.grad();
  for (std::int64_t i = 0; i < values.size(); ++i) {
    values.data<float>()[i] -= rate * gradient.data<float>()[i];
  }
}

bool learn() {
  Array x = Array::empty({64, 8});
  Array y = Array::empty({64, 1});
  const Tensor w(Array::zeros({8, 1}), true);
  const Tensor eager_w(Array::zeros({8, 1}), true);

  Tensor loss;
  weft::Graph step = weft::capture([&] { loss = train_once(Tensor(x), Tensor(y), w); });
  step.set_name(x, "x");
  step.set_name(y, "y");
  step.set_name(w.array(), "w");
  std::printf("%s", step.to_text().c_str());
  const weft::GraphReport& report = step.report();
  std::printf("%d launches are %d nodes; %zu bytes instead of %zu\n", report.launches, report.nodes,
              report.planned_bytes, report.unshared_bytes);

  bool same = true;
  for (int i = 0; i < 200; ++i) {
    fill_normal(x, static_cast<std::uint64_t>(i));
    for (int row = 0; row < 64; ++row) {
      y.data<float>()[row] =
          std::tanh(x.data<float>()[row * 8] - 0.5F * x.data<float>()[row * 8 + 3]);
    }
    step.replay();
    const Tensor eager = train_once(Tensor(x), Tensor(y), eager_w);
    same = same && loss.item() == eager.item();
    descend(w, 0.5F);
    descend(eager_w, 0.5F);
  }
  std::printf("loss %.2g, equal to eager: %s\n", loss.item(), same ? "yes" : "no");
  return same && loss.item() < 1e-4;
}

// The square root of a by Newton's iteration, as often as it takes.
Tensor root_of(const Tensor& a) {
  return weft::while_loop(
      [](Tensors v, Tensors c) { return relu(abs(v[0] * v[0] - c[0]) - 1e-9); },
      [](Tensors v, Tensors c) { return std::vector<Tensor>{(v[0] + c[0] / v[0]) * 0.5}; },
      {Tensor(Array::full({}, 1.0, weft::DType::kF64))}, {a})[0];
}

bool roots() {
  const Tensor a(Array::full({}, 2.0, weft::DType::kF64), true);
  Tensor root;
  weft::Graph graph = weft::capture([&] {
    root = root_of(a);
    weft::BackwardOptions options;
    options.leaf_gradients = weft::LeafGradients::kOverwrite;
    backward(root, {}, options);
  });
  bool right = true;
  for (const double value : {2.0, 1e6, 9.0}) {
    Array(a.array()).fill(value);
    graph.replay();
    std::printf("sqrt(%g) = %.9g, slope %.3g\n", value, root.item(), a.grad().item());
    right = right && std::abs(root.item() - std::sqrt(value)) < 1e-6;
  }
  return right;
}

}  // namespace

int main() {
  const bool learned = learn();
  return roots() && learned ? 0 : 1;
}
