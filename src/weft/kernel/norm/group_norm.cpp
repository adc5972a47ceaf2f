#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "weft/array/launch.h"
#include "weft/base/parallel.h"
#include "weft/kernel/core/optional_operand.h"
#include "weft/kernel/norm/norm.h"
#include "weft/kernel/norm/norm_loops.h"

namespace weft {
namespace {

constexpr std::int64_t kGroupNormGrain = 16 * 1024;

struct Groups {
  Groups(const Array& x, std::int64_t count)
      : images(x.dim(0)),
        channels(x.dim(1)),
        groups(count),
        each(channels / count),
        pixels(x.size() == 0 ? 0 : x.size() / (images * channels)) {}
  std::int64_t rows() const { return images * groups; }
  std::int64_t values() const { return each * pixels; }
  // The first value of a row, and of channel i of it.
  std::int64_t offset(std::int64_t row, std::int64_t i = 0) const {
    return (row * each + i) * pixels;
  }
  std::int64_t channel(std::int64_t row, std::int64_t i) const { return row % groups * each + i; }
  NormPlanes channel_planes() const { return {1, 0, pixels, 1}; }
  std::int64_t grain() const { return 1 + kGroupNormGrain / std::max<std::int64_t>(1, values()); }

  std::int64_t images;
  std::int64_t channels;
  std::int64_t groups;
  std::int64_t each;  // channels of a group
  std::int64_t pixels;
};

std::uint8_t* group_at(const Array& array, std::int64_t offset) {
  return static_cast<std::uint8_t*>(array.raw_data()) +
         offset * static_cast<std::int64_t>(size_of(array.dtype()));
}

double element_or(const Array& vector, std::int64_t index, double otherwise) {
  if (!vector.defined()) return otherwise;
  return vector.dtype() == DType::kF32 ? double{vector.data<float>()[index]}
                                       : vector.data<double>()[index];
}

void row_forward(const Groups& groups, LaunchArrays in, LaunchArrays out, std::int64_t row,
                 double eps) {
  const NormLoops::Planes& loops = norm_loops(in[0].dtype()).one;
  const void* const x = group_at(in[0], groups.offset(row));
  const NormPlanes all{1, 0, groups.values(), 1};
  const auto count = static_cast<double>(groups.values());
  double mean = 0;
  NormSums sums;
  loops.moments(x, all, &mean, sums);
  double origin = sums.first[0] / count;
  if (in[0].dtype() == DType::kF32) origin = static_cast<float>(origin);
  loops.moments(x, all, &origin, sums);
  const double rest = sums.first[0] / count;
  mean = origin + rest;
  const double variance = sums.second[0] / count - rest * rest;
  const double inverse = 1.0 / std::sqrt((variance < 0 ? 0.0 : variance) + eps);
  out[1].data<double>()[row] = mean;
  out[2].data<double>()[row] = inverse;
  for (std::int64_t i = 0; i < groups.each; ++i) {
    const std::int64_t c = groups.channel(row, i);
    const double scale = element_or(in[1], c, 1.0) * inverse;
    const double shift = element_or(in[2], c, 0.0) - rest * scale;
    loops.apply(group_at(in[0], groups.offset(row, i)), group_at(out[0], groups.offset(row, i)),
                groups.channel_planes(), {&origin, &scale, &shift, false});
  }
}

// For each image's channels: the sums of dy and of dy (x - mean).
struct ChannelSums {
  std::vector<double> gradient;
  std::vector<double> product;
};

void row_backward(const Groups& groups, LaunchArrays in, Array& dx, std::int64_t row,
                  ChannelSums& sums) {
  const NormLoops::Planes& loops = norm_loops(in[1].dtype()).one;
  const double mean = in[3].data<double>()[row];
  const double inverse = in[4].data<double>()[row];
  const double one = 1.0;
  const double none = 0.0;
  const double origin = in[1].dtype() == DType::kF32 ? double{static_cast<float>(mean)} : mean;
  const NormAffine affine{&origin, &one, &none, false};
  double sum = 0;
  double product = 0;
  for (std::int64_t i = 0; i < groups.each; ++i) {
    NormSums own;
    loops.products(group_at(in[0], groups.offset(row, i)), group_at(in[1], groups.offset(row, i)),
                   groups.channel_planes(), affine, own);
    own.second[0] += (origin - mean) * own.first[0];
    const auto index = static_cast<std::size_t>(row * groups.each + i);
    sums.gradient[index] = own.first[0];
    sums.product[index] = own.second[0];
    const double weight = element_or(in[2], groups.channel(row, i), 1.0);
    sum += weight * own.first[0];
    product += weight * own.second[0];
  }
  const auto count = static_cast<double>(groups.values());
  const double b = -inverse * inverse * inverse * product / count;
  const double c = -inverse * sum / count + b * (origin - mean);
  for (std::int64_t i = 0; i < groups.each; ++i) {
    const double a = element_or(in[2], groups.channel(row, i), 1.0) * inverse;
    loops.gradient(group_at(in[0], groups.offset(row, i)), group_at(in[1], groups.offset(row, i)),
                   group_at(dx, groups.offset(row, i)), groups.channel_planes(), affine,
                   {&a, &b, &c});
  }
}

void write_sums(const Groups& groups, const ChannelSums& sums, const Array& inverse, Array& dweight,
                Array& dbias) {
  const auto set = [](Array& vector, std::int64_t i, double value) {
    if (vector.dtype() == DType::kF32) {
      vector.data<float>()[i] = static_cast<float>(value);
    } else {
      vector.data<double>()[i] = value;
    }
  };
  for (std::int64_t c = 0; c < groups.channels; ++c) {
    double weight = 0;
    double bias = 0;
    for (std::int64_t image = 0; image < groups.images; ++image) {
      const auto index = static_cast<std::size_t>(image * groups.channels + c);
      weight +=
          sums.product[index] * inverse.data<double>()[image * groups.groups + c / groups.each];
      bias += sums.gradient[index];
    }
    set(dweight, c, weight);
    set(dbias, c, bias);
  }
}

}  // namespace

GroupNormed group_norm_forward(const Array& given, const Array& given_weight,
                               const Array& given_bias, std::int64_t count, double eps) {
  const Array x = given.strided().contiguous();
  const Array weight = dense(given_weight);
  const Array bias = dense(given_bias);
  const std::int64_t rows = x.dim(0) * count;
  GroupNormed result{Array::empty(x.shape(), x.dtype(), x.device()),
                     Array::empty({rows}, DType::kF64, x.device()),
                     Array::empty({rows}, DType::kF64, x.device())};
  if (x.size() == 0) return result;
  launch("group_norm", {&x, &weight, &bias}, {&result.y, &result.mean, &result.inverse},
         [count, eps](LaunchArrays in, LaunchArrays out) {
           const Groups groups(in[0], count);
           parallel_for(groups.rows(), groups.grain(), [&](std::int64_t begin, std::int64_t end) {
             for (std::int64_t row = begin; row < end; ++row) {
               row_forward(groups, in, out, row, eps);
             }
           });
         });
  return result;
}

NormGradients group_norm_backward(const Array& given_dy, const Array& given_x,
                                  const Array& given_weight, const GroupNormed& forward,
                                  std::int64_t count) {
  const Array dy = given_dy.strided().contiguous();
  const Array x = given_x.strided().contiguous();
  const Array weight = dense(given_weight);
  NormGradients result{Array::empty(x.shape(), x.dtype(), x.device()),
                       Array::zeros({x.dim(1)}, x.dtype(), x.device()),
                       Array::zeros({x.dim(1)}, x.dtype(), x.device())};
  if (x.size() == 0) return result;
  launch("group_norm_gradient", {&dy, &x, &weight, &forward.mean, &forward.inverse},
         {&result.x, &result.weight, &result.bias}, [count](LaunchArrays in, LaunchArrays out) {
           const Groups groups(in[1], count);
           const auto pairs = static_cast<std::size_t>(groups.images * groups.channels);
           ChannelSums sums{std::vector<double>(pairs), std::vector<double>(pairs)};
           parallel_for(groups.rows(), groups.grain(), [&](std::int64_t begin, std::int64_t end) {
             for (std::int64_t row = begin; row < end; ++row) {
               row_backward(groups, in, out[0], row, sums);
             }
           });
           write_sums(groups, sums, in[4], out[1], out[2]);
         });
  return result;
}

}  // namespace weft
