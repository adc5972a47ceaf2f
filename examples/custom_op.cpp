// An operation of one's own: softsquare(x) = x^2 / (1 + |x|), with its first and second gradient.
//
// Build: part of the tests (`example_custom_op`). Prints what it checked; exit code 1 if it is
// wrong.
#include <cmath>
#include <cstdio>
#include <vector>

#include "weft/array/launch.h"
#include "weft/array/print.h"
#include "weft/autograd/backward.h"
#include "weft/autograd/gradcheck.h"
#include "weft/autograd/node.h"
#include "weft/op/ops.h"

namespace {

using weft::Array;
using weft::InputGradients;
using weft::Tensor;
using weft::TensorGradients;

// d/dx x^2 / (1 + |x|) = x (2 + |x|) / (1 + |x|)^2, written with operations, so that it can be
// differentiated again.
Tensor slope(const Tensor& x) {
  const Tensor size = weft::abs(x);
  const Tensor bottom = size + 1.0;
  return x * (size + 2.0) / (bottom * bottom);
}

// The forward is loops of our own over the values; nothing else needs to know them.
Array forward(const Array& x) {
  Array y = Array::empty(x.shape(), x.dtype());
  const Array source = x.contiguous();
  weft::launch("softsquare", {&source}, {&y}, [](weft::LaunchArrays in, weft::LaunchArrays out) {
    weft::with_dtype(out[0].dtype(), [&](auto type) {
      using T = decltype(type);
      if constexpr (std::is_floating_point_v<T>) {
        const T* const from = in[0].data<T>();
        T* const to = out[0].data<T>();
        for (std::int64_t i = 0; i < out[0].size(); ++i) {
          to[i] = from[i] * from[i] / (T{1} + std::abs(from[i]));
        }
      }
    });
  });
  return y;
}

Tensor softsquare(const Tensor& x) {
  return weft::record(
      "softsquare", forward(x.array()), {&x},
      // The gradient: fast, on arrays.
      [x = x.array()](const Array& dy, const InputGradients& dx) {
        const weft::NoGrad no_grad;
        dx.add(0, (Tensor(dy.strided()) * slope(Tensor(x))).array());
      },
      // The same on tensors, used when a gradient's gradient is wanted.
      [x](const Tensor& dy, const TensorGradients& dx) { dx.add(0, dy * slope(x)); });
}

}  // namespace

int main() {
  Tensor x(Array::from<double>({-2, -0.5, 0.5, 3}, {4}), true);
  const Tensor y = softsquare(x);
  std::printf("softsquare%s = %s\n", weft::to_string(x.array()).c_str(),
              weft::to_string(y.array()).c_str());

  weft::backward(weft::sum(y));
  std::printf("its slope          = %s\n", weft::to_string(x.grad()).c_str());

  const std::vector<Array> inputs = {x.array()};
  const std::string wrong =
      weft::gradcheck([](std::span<const Tensor> in) { return softsquare(in[0]); }, inputs);
  std::printf("against differences: %s\n", wrong.empty() ? "right" : wrong.c_str());

  const Tensor first = weft::grad(weft::sum(softsquare(x)), x, {.create_graph = true});
  const Array second = weft::grad(weft::sum(first), x).array();
  // d^2/dx^2 x^2 / (1 + |x|) = 2 / (1 + |x|)^3.
  double error = 0;
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const double at = 1 + std::abs(x.array().data<double>()[i]);
    error = std::max(error, std::abs(second.data<double>()[i] - 2 / (at * at * at)));
  }
  std::printf("second gradient    = %s, largest error %.1e\n", weft::to_string(second).c_str(),
              error);
  return wrong.empty() && error < 1e-12 ? 0 : 1;
}
