#include "weft/kernel/conv/conv_plain.h"

#include <algorithm>

namespace weft::plain {
namespace {

// Calls body(y_index, x_index, weight_index) for every product of the convolution.
template <class Body>
void for_each_product(const Shape& x, const Shape& weight, const Conv2dGeometry& geometry,
                      Body body) {
  const Shape y = conv2d_shape(x, weight, geometry);
  const std::int64_t outputs_each = weight[0] / geometry.groups;
  std::int64_t y_index = 0;
  const auto one_output = [&](std::int64_t n, std::int64_t o, std::int64_t i, std::int64_t j) {
    const std::int64_t first_channel = o / outputs_each * weight[1];
    std::int64_t weight_index = o * weight[1] * weight[2] * weight[3];
    for (std::int64_t c = 0; c < weight[1]; ++c) {
      for (std::int64_t p = 0; p < weight[2]; ++p) {
        const std::int64_t row =
            i * geometry.stride[0] - geometry.padding[0] + p * geometry.dilation[0];
        for (std::int64_t q = 0; q < weight[3]; ++q, ++weight_index) {
          const std::int64_t column =
              j * geometry.stride[1] - geometry.padding[1] + q * geometry.dilation[1];
          if (row < 0 || row >= x[2] || column < 0 || column >= x[3]) continue;
          body(y_index, ((n * x[1] + first_channel + c) * x[2] + row) * x[3] + column,
               weight_index);
        }
      }
    }
  };
  for (std::int64_t n = 0; n < y[0]; ++n) {
    for (std::int64_t o = 0; o < y[1]; ++o) {
      for (std::int64_t i = 0; i < y[2]; ++i) {
        for (std::int64_t j = 0; j < y[3]; ++j, ++y_index) one_output(n, o, i, j);
      }
    }
  }
}

}  // namespace

Array conv2d_forward(const Array& x, const Array& weight, const Array& bias,
                     const Conv2dGeometry& geometry, bool relu) {
  Array y = Array::zeros(conv2d_shape(x.shape(), weight.shape(), geometry), DType::kF64);
  if (bias.defined()) y.copy_from(bias.reshape({-1, 1, 1}));
  double* const out = y.data<double>();
  const double* const in = x.data<double>();
  const double* const w = weight.data<double>();
  for_each_product(
      x.shape(), weight.shape(), geometry,
      [&](std::int64_t yi, std::int64_t xi, std::int64_t wi) { out[yi] += in[xi] * w[wi]; });
  if (relu) {
    for (double& value : y.flat<double>()) value = std::max(value, 0.0);
  }
  return y;
}

Array conv2d_backward_data(const Array& dy, const Array& weight, const Shape& x_shape,
                           const Conv2dGeometry& geometry) {
  Array dx = Array::zeros(x_shape, DType::kF64);
  double* const out = dx.data<double>();
  const double* const gradient = dy.data<double>();
  const double* const w = weight.data<double>();
  for_each_product(
      x_shape, weight.shape(), geometry,
      [&](std::int64_t yi, std::int64_t xi, std::int64_t wi) { out[xi] += gradient[yi] * w[wi]; });
  return dx;
}

void conv2d_backward_weights(const Array& x, const Array& dy, const Conv2dGeometry& geometry,
                             Array& dw, Array* db) {
  dw.fill(0.0);
  double* const out = dw.data<double>();
  const double* const gradient = dy.data<double>();
  const double* const in = x.data<double>();
  for_each_product(
      x.shape(), dw.shape(), geometry,
      [&](std::int64_t yi, std::int64_t xi, std::int64_t wi) { out[wi] += gradient[yi] * in[xi]; });
  if (db == nullptr) return;
  db->fill(0.0);
  double* const sums = db->data<double>();
  const std::int64_t area = dy.dim(2) * dy.dim(3);
  for (std::int64_t i = 0; i < dy.size(); ++i) sums[i / area % dy.dim(1)] += gradient[i];
}

}  // namespace weft::plain
