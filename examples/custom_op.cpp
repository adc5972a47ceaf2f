// An operation of one's own: softsquare(x) = x^2 / (1 + |x|), with its first and second gradient.
//
// Build: part of the tests (`example_custom_op`). Prints what it checked; exit code 1 if it is
// wrong.
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <vector>

#include "weft/array/map.h"
#include "weft/array/print.h"
#include "weft/autograd/backward.h"
#include "weft/autograd/check/gradcheck.h"
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

// The forward in one pass over memory: a function of one number, for every floating type.
Array forward(const Array& x) {
  return weft::map_floating(
      "softsquare", [](auto v) { return v * v / (1 + std::abs(v)); }, x);
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
  // 3^2 / (1 + 3) in every type that can hold it, and a refusal of the others.
  bool types_right = true;
  for (const weft::DType dtype : {weft::DType::kF32, weft::DType::kBF16, weft::DType::kF16}) {
    types_right = types_right && softsquare(Tensor(Array::full({}, 3, dtype))).item() == 2.25;
  }
  try {
    softsquare(Tensor(Array::full({}, 3, weft::DType::kI64)));
    types_right = false;
  } catch (const std::invalid_argument& mistake) {
    std::printf("of whole numbers   : %s\n", mistake.what());
  }

  std::printf("second gradient    = %s, largest error %.1e\n", weft::to_string(second).c_str(),
              error);
  return wrong.empty() && types_right && error < 1e-12 ? 0 : 1;
}
