// Each thread takes whole channels (8 at a time where 8 lie side by side), so nothing is summed
// across threads; a channel's values are read again for the second pass while they are in a cache.
#include <algorithm>
#include <cmath>

#include "weft/array/launch.h"
#include "weft/base/parallel.h"
#include "weft/kernel/core/onednn.h"
#include "weft/kernel/core/optional_operand.h"
#include "weft/kernel/norm/norm.h"
#include "weft/kernel/norm/norm_loops.h"

namespace weft {
namespace {

constexpr std::int64_t kBatchNormGrain = 16 * 1024;
constexpr std::int64_t kLanes = 8;
// Pixels whose mean is subtracted from all values before they are squared.
constexpr std::int64_t kOriginPixels = 128;

// How the channels of an array [N, C, ...] lie.
struct BatchNormPlanes {
  explicit BatchNormPlanes(const Array& x) : images(x.dim(0)), channels(x.dim(1)) {
    pixels = x.size() == 0 ? 0 : x.size() / (images * channels);
    blocked = !x.is_strided();
    interleaved = !blocked && pixels == 1;
  }

  // Channels that one call takes: 1, 8, or fewer at the end of interleaved ones.
  std::int64_t units() const {
    if (blocked) return (channels + kLanes - 1) / kLanes;
    return interleaved ? channels / kLanes + channels % kLanes : channels;
  }
  bool eight(std::int64_t unit) const {
    return blocked || (interleaved && unit < channels / kLanes);
  }
  std::int64_t first_channel(std::int64_t unit) const {
    if (blocked) return unit * kLanes;
    const std::int64_t whole = channels / kLanes;
    return !interleaved ? unit : unit < whole ? unit * kLanes : whole * kLanes + unit - whole;
  }
  std::int64_t channel_count(std::int64_t unit) const {
    return eight(unit) ? std::min(kLanes, channels - first_channel(unit)) : 1;
  }
  std::int64_t offset(std::int64_t unit) const {
    return interleaved ? first_channel(unit) : first_channel(unit) * pixels;
  }
  NormPlanes planes(std::int64_t unit) const {
    if (blocked) return {images, units() * kLanes * pixels, pixels, kLanes};
    if (!interleaved) return {images, channels * pixels, pixels, 1};
    if (eight(unit)) return {1, 0, images, channels};
    return {images, channels, 1, 1};
  }
  double count() const { return static_cast<double>(images * pixels); }
  std::int64_t grain() const {
    return 1 + kBatchNormGrain / std::max<std::int64_t>(1, images * pixels * kLanes);
  }

  std::int64_t images;
  std::int64_t channels;
  std::int64_t pixels;
  bool blocked;
  bool interleaved;
};

const std::uint8_t* plane_at(const Array& array, std::int64_t offset) {
  return static_cast<const std::uint8_t*>(array.raw_data()) +
         offset * static_cast<std::int64_t>(size_of(array.dtype()));
}
std::uint8_t* plane_at(Array& array, std::int64_t offset) {
  return const_cast<std::uint8_t*>(plane_at(std::as_const(array), offset));
}

double element(const Array& vector, std::int64_t index) {
  return vector.dtype() == DType::kF32 ? double{vector.data<float>()[index]}
                                       : vector.data<double>()[index];
}
void set_element(Array& vector, std::int64_t index, double value) {
  if (vector.dtype() == DType::kF32) {
    vector.data<float>()[index] = static_cast<float>(value);
  } else {
    vector.data<double>()[index] = value;
  }
}

// What a unit's channels multiply and add; 0 for lanes behind the last channel.
struct Coefficients {
  double origin[kLanes] = {};  // the mean as the loops have it
  double inverse[kLanes] = {};
  double scale[kLanes] = {};
  double shift[kLanes] = {};
};

struct Vectors {
  const Array& mean;
  const Array& variance;
  const Array& weight;
  const Array& bias;
};

double as_type(DType dtype, double value) {
  return dtype == DType::kF64 ? value : double{static_cast<float>(value)};
}

Coefficients coefficients(const Vectors& vectors, const BatchNormPlanes& planes, std::int64_t unit,
                          DType dtype, double eps) {
  Coefficients result;
  for (std::int64_t i = 0; i < planes.channel_count(unit); ++i) {
    const std::int64_t c = planes.first_channel(unit) + i;
    result.inverse[i] = 1.0 / std::sqrt(vectors.variance.data<double>()[c] + eps);
    const double weight = vectors.weight.defined() ? element(vectors.weight, c) : 1.0;
    const double bias = vectors.bias.defined() ? element(vectors.bias, c) : 0.0;
    result.scale[i] = weight * result.inverse[i];
    const double mean = vectors.mean.data<double>()[c];
    result.origin[i] = as_type(dtype, mean);
    result.shift[i] = bias + (result.origin[i] - mean) * result.scale[i];
  }
  return result;
}

const NormLoops::Planes& loops_of(DType dtype, bool eight) {
  const NormLoops& loops = norm_loops(dtype);
  return eight ? loops.eight : loops.one;
}

// The mean and the variance of a unit's channels.
void unit_moments(const Array& x, const BatchNormPlanes& planes, std::int64_t unit, Array& mean,
                  Array& variance) {
  if (planes.pixels == 0) {
    mean.data<double>()[planes.first_channel(unit)] = 0;
    variance.data<double>()[planes.first_channel(unit)] = 0;
    return;
  }
  const NormLoops::Planes& loops = loops_of(x.dtype(), planes.eight(unit));
  const NormPlanes all = planes.planes(unit);
  const void* const data = plane_at(x, planes.offset(unit));
  NormPlanes few = all;
  few.images = all.pixels > 1 ? 1 : std::min(all.images, kOriginPixels);
  few.pixels = std::min(all.pixels, kOriginPixels);
  double origin[kLanes] = {};
  NormSums sums;
  loops.moments(data, few, origin, sums);
  for (int i = 0; i < kLanes; ++i) {
    // As the loops have it, so that both see one value.
    origin[i] = as_type(x.dtype(), sums.first[i] / static_cast<double>(few.images * few.pixels));
  }
  loops.moments(data, all, origin, sums);
  for (std::int64_t i = 0; i < planes.channel_count(unit); ++i) {
    const double offset = sums.first[i] / planes.count();
    const double spread = sums.second[i] / planes.count() - offset * offset;
    mean.data<double>()[planes.first_channel(unit) + i] = origin[i] + offset;
    // max() would turn a NaN into 0.
    variance.data<double>()[planes.first_channel(unit) + i] = spread < 0.0 ? 0.0 : spread;
  }
}

void apply_unit(const Array& x, Array& y, const BatchNormPlanes& planes, std::int64_t unit,
                const Coefficients& k, bool relu) {
  loops_of(x.dtype(), planes.eight(unit))
      .apply(plane_at(x, planes.offset(unit)), plane_at(y, planes.offset(unit)),
             planes.planes(unit), {k.origin, k.scale, k.shift, relu});
}

// `x` in blocks of 8 channels or contiguous.
Array in_planes(const Array& x) {
  if (!x.is_strided() && channel_block(x) == kLanes) return x;
  return x.strided().contiguous();
}

// The gradients of one unit.
struct BatchNormBackward {
  const Array& dy;
  const Array& x;
  Vectors vectors;
  BatchNormSpec spec;
  Array& dx;
  Array& dweight;
  Array& dbias;
};

void unit_backward(const BatchNormBackward& work, const BatchNormPlanes& planes,
                   std::int64_t unit) {
  const NormLoops::Planes& loops = loops_of(work.x.dtype(), planes.eight(unit));
  const Coefficients k = coefficients(work.vectors, planes, unit, work.x.dtype(), work.spec.eps);
  const NormPlanes all = planes.planes(unit);
  const std::int64_t offset = planes.offset(unit);
  const NormAffine affine{k.origin, k.scale, k.shift, work.spec.relu};
  NormSums sums;
  loops.products(plane_at(work.dy, offset), plane_at(work.x, offset), all, affine, sums);
  double b[kLanes] = {};
  double c[kLanes] = {};
  for (std::int64_t i = 0; i < planes.channel_count(unit); ++i) {
    const std::int64_t channel = planes.first_channel(unit) + i;
    const double rest = k.origin[i] - work.vectors.mean.data<double>()[channel];
    const double product = sums.second[i] + rest * sums.first[i];
    set_element(work.dweight, channel, product * k.inverse[i]);
    set_element(work.dbias, channel, sums.first[i]);
    if (!work.spec.training) continue;
    b[i] = -k.scale[i] * k.inverse[i] * k.inverse[i] * product / planes.count();
    c[i] = -k.scale[i] * sums.first[i] / planes.count() + b[i] * rest;
  }
  loops.gradient(plane_at(work.dy, offset), plane_at(work.x, offset), plane_at(work.dx, offset),
                 all, affine, {k.scale, b, c});
}

}  // namespace

BatchNormed batch_norm_forward(const Array& given, const Array& given_weight,
                               const Array& given_bias, const BatchNormSpec& spec,
                               const Array& mean, const Array& variance) {
  const Array x = in_planes(given);
  const Array weight = dense(given_weight);
  const Array bias = dense(given_bias);
  BatchNormed result{like(x), mean, variance};
  if (!spec.training) {
    launch(
        "batch_norm_apply", {&x, &weight, &bias, &mean, &variance}, {&result.y},
        [spec](LaunchArrays in, LaunchArrays out) {
          const BatchNormPlanes planes(in[0]);
          parallel_for(planes.units(), planes.grain(), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t unit = begin; unit < end; ++unit) {
              const Coefficients k =
                  coefficients({in[3], in[4], in[1], in[2]}, planes, unit, in[0].dtype(), spec.eps);
              apply_unit(in[0], out[0], planes, unit, k, spec.relu);
            }
          });
        });
    return result;
  }
  result.mean = Array::empty({x.dim(1)}, DType::kF64, x.device());
  result.variance = Array::empty({x.dim(1)}, DType::kF64, x.device());
  launch("batch_norm", {&x, &weight, &bias}, {&result.y, &result.mean, &result.variance},
         [spec](LaunchArrays in, LaunchArrays out) {
           const BatchNormPlanes planes(in[0]);
           parallel_for(planes.units(), planes.grain(), [&](std::int64_t begin, std::int64_t end) {
             for (std::int64_t unit = begin; unit < end; ++unit) {
               unit_moments(in[0], planes, unit, out[1], out[2]);
               const Coefficients k = coefficients({out[1], out[2], in[1], in[2]}, planes, unit,
                                                   in[0].dtype(), spec.eps);
               apply_unit(in[0], out[0], planes, unit, k, spec.relu);
             }
           });
         });
  return result;
}

NormGradients batch_norm_backward(const Array& given_dy, const Array& given_x,
                                  const Array& given_weight, const Array& given_bias,
                                  const BatchNormed& forward, const BatchNormSpec& spec) {
  const Array x = in_planes(given_x);
  const Array dy = in_order_of(given_dy, x);
  const Array weight = dense(given_weight);
  const Array bias = dense(given_bias);
  const DType sums = x.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
  NormGradients result{like(x), Array::empty({x.dim(1)}, sums, x.device()),
                       Array::empty({x.dim(1)}, sums, x.device())};
  launch("batch_norm_gradient", {&dy, &x, &weight, &bias, &forward.mean, &forward.variance},
         {&result.x, &result.weight, &result.bias}, [spec](LaunchArrays in, LaunchArrays out) {
           const BatchNormPlanes planes(in[1]);
           const BatchNormBackward work{in[0],  in[1], {in[4], in[5], in[2], in[3]}, spec, out[0],
                                        out[1], out[2]};
           parallel_for(planes.units(), planes.grain(), [&](std::int64_t begin, std::int64_t end) {
             for (std::int64_t unit = begin; unit < end; ++unit) {
               unit_backward(work, planes, unit);
             }
           });
         });
  return result;
}

void move_running(Array& running, const Array& batch, double momentum, double scale) {
  launch("batch_norm_running", {&running, &batch}, {&running},
         [momentum, scale](LaunchArrays in, LaunchArrays out) {
           for (std::int64_t i = 0; i < out[0].size(); ++i) {
             const double before = element(in[0], i);
             set_element(out[0], i,
                         (1.0 - momentum) * before + momentum * scale * in[1].data<double>()[i]);
           }
         });
}

}  // namespace weft
