#include "weft/kernel/cpu/winograd.h"

#include <algorithm>
#include <array>

#include "weft/base/parallel.h"
#include "weft/kernel/cpu/flat_loops.h"
#include "weft/kernel/cpu/gemm_loops.h"
#include "weft/kernel/cpu/isa.h"
#include "weft/kernel/cpu/onednn.h"
#include "weft/kernel/cpu/winograd_loops.h"

namespace weft::winograd {
namespace {

constexpr std::int64_t kLanes = 8;
// Beyond this the transformed weights leave the caches and the direct algorithm is as fast.
constexpr std::int64_t kWeightsMax = 128 * 128;
// Transformed tiles of one group: they share the second-level cache with the weights.
constexpr std::int64_t kGroupBytes = 288 * 1024;
// Groups are a multiple of the rows that gemm takes at once.
constexpr std::int64_t kTileRows = 6;
// Filters and sums that are worth a second thread.
constexpr std::int64_t kFilterGrain = 256;
constexpr std::int64_t kSumGrain = 4096;
// Each has a weight gradient of its own.
constexpr std::int64_t kWeightPartsMax = 8;

const WinogradLoops& loops() {
#if defined(__x86_64__)
  return kWinogradLoopsAvx2;
#else
  check_failed(__FILE__, __LINE__, "applies()");
#endif
}

// The sizes of one convolution.
struct Plan {
  Plan(const Shape& x_shape, const Shape& weight_shape, const Conv2dGeometry& geometry)
      : x(x_shape),
        y(conv2d_shape(x_shape, weight_shape, geometry)),
        inputs(weight_shape[1]),
        outputs(weight_shape[0]),
        across((y[3] + 1) / 2),
        tiles((y[2] + 1) / 2 * across),
        padding(geometry.padding) {
    const std::int64_t most =
        std::max<std::int64_t>(kTileRows, kGroupBytes / (64 * (inputs + outputs)));
    const std::int64_t groups = (tiles + most - 1) / most;
    group = (tiles + groups - 1) / groups;
    group = (group + kTileRows - 1) / kTileRows * kTileRows;
  }

  WinogradTiles tiles_from(std::int64_t first) const {
    return {first, std::min(group, tiles - first), across, padding[0], padding[1]};
  }
  // Floats between two positions of a group's matrices of `channels`; odd in cache lines, so that
  // the 16 positions do not fall into one set of the cache.
  std::int64_t step(std::int64_t channels) const { return group * channels + 16; }
  std::int64_t weights() const { return inputs * outputs; }
  std::int64_t x_floats() const { return inputs * x[2] * x[3]; }
  std::int64_t y_floats() const { return outputs * y[2] * y[3]; }

  Shape x;
  Shape y;
  std::int64_t inputs;
  std::int64_t outputs;
  std::int64_t across;
  std::int64_t tiles;  // of an image
  std::int64_t group;  // tiles
  std::array<std::int64_t, 2> padding;
};

// Room for `count` floats; a panel may be read beyond the end.
class Floats {
 public:
  explicit Floats(std::int64_t count)
      : storage_(Storage::allocate(static_cast<std::size_t>(count + kGemmPanel) * sizeof(float))) {}
  float* data() const { return static_cast<float*>(storage_->data()); }

 private:
  std::shared_ptr<Storage> storage_;
};

float* floats(const Array& array) { return static_cast<float*>(array.raw_data()); }

WinogradImage image_of(const Array& blocked, std::int64_t index) {
  const Shape& shape = blocked.shape();
  const std::int64_t size = shape[1] * shape[2] * shape[3];
  return {floats(blocked) + index * size, shape[1] / kLanes, shape[2], shape[3]};
}

// G g G^T of each 3x3 filter: position p of (input c, output o) goes to
// to[p * C O + c * input_step + o * output_step].
struct WeightOrder {
  std::int64_t input_step;
  std::int64_t output_step;
};
void transform_weights(const Array& weight, const WeightOrder& order, float* to) {
  const Array dense = weight.contiguous();
  const float* const filters = dense.data<float>();
  const std::int64_t outputs = dense.dim(0);
  const std::int64_t inputs = dense.dim(1);
  const auto spread = [](float a, float b, float c, float(&out)[4]) {
    out[0] = a;
    out[1] = 0.5F * (a + b + c);
    out[2] = 0.5F * (a - b + c);
    out[3] = c;
  };
  parallel_for(outputs * inputs, kFilterGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t index = begin; index < end; ++index) {
      const float* const filter = filters + index * 9;
      float rows[3][4];
      for (int i = 0; i < 3; ++i) {
        spread(filter[3 * i], filter[3 * i + 1], filter[3 * i + 2], rows[i]);
      }
      float* const at = to + index % inputs * order.input_step + index / inputs * order.output_step;
      for (int j = 0; j < 4; ++j) {
        float column[4];
        spread(rows[0][j], rows[1][j], rows[2][j], column);
        for (int i = 0; i < 4; ++i) at[(4 * i + j) * inputs * outputs] = column[i];
      }
    }
  });
}

// One row or column of the adjoint, G^T u.
void gather(const float (&in)[4], float (&out)[3]) {
  const float sum = 0.5F * (in[1] + in[2]);
  out[0] = in[0] + sum;
  out[1] = 0.5F * (in[1] - in[2]);
  out[2] = sum + in[3];
}

// The gradient of one filter from those of its 16 positions, which lie `step` apart.
void gather_filter(const float* from, std::int64_t step, float (&out)[3][3]) {
  float columns[3][4];
  for (int j = 0; j < 4; ++j) {
    float column[4];
    for (int i = 0; i < 4; ++i) column[i] = from[(4 * i + j) * step];
    float gathered[3];
    gather(column, gathered);
    for (int i = 0; i < 3; ++i) columns[i][j] = gathered[i];
  }
  for (int i = 0; i < 3; ++i) gather(columns[i], out[i]);
}

// The gradients of all filters from those of the positions, [p][c][o].
void gather_weights(const float* from, Array& gradient, bool accumulate) {
  const std::int64_t outputs = gradient.dim(0);
  const std::int64_t inputs = gradient.dim(1);
  float* const filters = gradient.data<float>();
  parallel_for(outputs * inputs, kFilterGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t index = begin; index < end; ++index) {
      float filter[3][3];
      gather_filter(from + index % inputs * outputs + index / inputs, outputs * inputs, filter);
      float* const to = filters + index * 9;
      for (int i = 0; i < 9; ++i) {
        const float value = filter[i / 3][i % 3];
        to[i] = accumulate ? to[i] + value : value;
      }
    }
  });
}

// c = a b for one position; b's rows are `size.n` long.
void multiply(const GemmSize& size, const GemmOperand& a, const float* b, const GemmOutput& c) {
  const GemmLoops& inner = gemm_loops();
  for (std::int64_t j = 0; j < size.n; j += kGemmPanel) {
    GemmOutput out = c;
    out.data += j;
    inner.multiply({size.m, std::min(kGemmPanel, size.n - j), size.k}, a, {b + j, size.n}, out);
  }
}

// What the threads of a forward share.
struct Forward {
  const Plan& plan;
  const Array& x;        // blocked
  const float* weights;  // transformed
  WinogradLoops::Finish finish;
  const Array& y;
};

void forward_image(const Forward& work, std::int64_t index, const Floats& in, const Floats& out) {
  const Plan& plan = work.plan;
  const std::int64_t in_step = plan.step(plan.inputs);
  const std::int64_t out_step = plan.step(plan.outputs);
  for (std::int64_t first = 0; first < plan.tiles; first += plan.group) {
    const WinogradTiles tiles = plan.tiles_from(first);
    loops().input(image_of(work.x, index), tiles, {in.data(), in_step});
    for (std::int64_t p = 0; p < kWinogradPositions; ++p) {
      multiply({tiles.count, plan.outputs, plan.inputs}, {in.data() + p * in_step, plan.inputs, 1},
               work.weights + p * plan.weights(), {out.data() + p * out_step, plan.outputs});
    }
    loops().output({out.data(), out_step}, tiles, work.finish, image_of(work.y, index));
  }
}

// What the threads of a backward share.
struct Backward {
  const Plan& plan;
  const Array& x;        // blocked; undefined if no weight gradient is wanted
  const Array& dy;       // blocked
  const Array& y;        // blocked; undefined without the activation
  const float* weights;  // transposed and transformed; null if no dx is wanted
  const Array& dx;
};

// The gradients of one image; adds to weight_sums[p][c][o] and bias_sums[o].
void backward_image(const Backward& work, std::int64_t index, float* weight_sums,
                    float* bias_sums) {
  const Plan& plan = work.plan;
  const WinogradLoops& transforms = loops();
  const std::int64_t in_step = plan.step(plan.inputs);
  const std::int64_t out_step = plan.step(plan.outputs);
  const Floats in(kWinogradPositions * in_step);
  const Floats out(kWinogradPositions * out_step);
  const float* const y = work.y.defined() ? image_of(work.y, index).data : nullptr;
  if (work.weights != nullptr) {
    std::fill_n(image_of(work.dx, index).data, plan.x_floats(), 0.0F);
  }
  for (std::int64_t first = 0; first < plan.tiles; first += plan.group) {
    const WinogradTiles tiles = plan.tiles_from(first);
    transforms.output_gradient(image_of(work.dy, index), y, tiles, {out.data(), out_step},
                               bias_sums);
    if (work.x.defined()) {
      transforms.input(image_of(work.x, index), tiles, {in.data(), in_step});
      for (std::int64_t p = 0; p < kWinogradPositions; ++p) {
        multiply({plan.inputs, plan.outputs, tiles.count},
                 {in.data() + p * in_step, 1, plan.inputs}, out.data() + p * out_step,
                 {weight_sums + p * plan.weights(), plan.outputs, true});
      }
    }
    if (work.weights == nullptr) continue;
    for (std::int64_t p = 0; p < kWinogradPositions; ++p) {
      multiply({tiles.count, plan.inputs, plan.outputs},
               {out.data() + p * out_step, plan.outputs, 1}, work.weights + p * plan.weights(),
               {in.data() + p * in_step, plan.inputs});
    }
    transforms.input_gradient({in.data(), in_step}, tiles, image_of(work.dx, index));
  }
}

// Adds `count` parts of `size` floats into the first, in order.
void add_parts(float* parts, std::int64_t count, std::int64_t size) {
  const FlatLoops& flat = flat_loops();
  parallel_for(size, kSumGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t part = 1; part < count; ++part) {
      flat.add(parts + part * size, parts, begin, end);
    }
  });
}

}  // namespace

bool applies(const Shape& x, const Shape& weight, const Conv2dGeometry& geometry) {
  const Conv2dGeometry plain{.padding = geometry.padding};
  return use_avx2() && geometry == plain && weight[2] == 3 && weight[3] == 3 &&
         weight[0] % kLanes == 0 && weight[1] % kLanes == 0 && x[1] == weight[1] &&
         weight[0] * weight[1] <= kWeightsMax;
}

void conv2d_forward(const Array& given, const Array& weight, const Array& bias,
                    const Conv2dGeometry& geometry, bool relu, Array& y) {
  const Plan plan(given.shape(), weight.shape(), geometry);
  const Array x = in_blocks_of_8(given);
  const Floats weights(kWinogradPositions * plan.weights());
  transform_weights(weight, {plan.outputs, 1}, weights.data());
  const Array dense_bias = bias.defined() ? bias.contiguous() : bias;
  const Forward work{
      plan, x, weights.data(), {bias.defined() ? dense_bias.data<float>() : nullptr, relu}, y};
  parallel_for(plan.x[0], 1, [&](std::int64_t begin, std::int64_t end) {
    const Floats in(kWinogradPositions * plan.step(plan.inputs));
    const Floats out(kWinogradPositions * plan.step(plan.outputs));
    for (std::int64_t index = begin; index < end; ++index) forward_image(work, index, in, out);
  });
}

void conv2d_backward(const Array& given_dy, const Conv2dSaved& saved,
                     const Conv2dWeightGradients& out, Array& dx) {
  const bool wants_data = dx.defined();
  const Plan plan(saved.x.shape(), saved.weight.shape(), saved.geometry);
  const Array x = out.weight != nullptr ? in_blocks_of_8(saved.x) : Array();
  const Array dy = in_blocks_of_8(given_dy);
  const Array y = saved.y.defined() ? in_blocks_of_8(saved.y) : Array();
  const Floats weights(wants_data ? kWinogradPositions * plan.weights() : 0);
  if (wants_data) transform_weights(saved.weight, {1, plan.inputs}, weights.data());

  const std::int64_t images = plan.x[0];
  const std::int64_t each = (images + kWeightPartsMax - 1) / kWeightPartsMax;
  const std::int64_t parts = (images + each - 1) / each;
  const std::int64_t weight_floats = x.defined() ? kWinogradPositions * plan.weights() : 0;
  const Floats weight_sums(parts * weight_floats);
  const Floats bias_sums(parts * plan.outputs);
  const Backward work{plan, x, dy, y, wants_data ? weights.data() : nullptr, dx};
  parallel_for(parts, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t part = begin; part < end; ++part) {
      float* const weight_sum = weight_sums.data() + part * weight_floats;
      float* const bias_sum = bias_sums.data() + part * plan.outputs;
      std::fill_n(weight_sum, weight_floats, 0.0F);
      std::fill_n(bias_sum, plan.outputs, 0.0F);
      for (std::int64_t i = part * each; i < std::min((part + 1) * each, images); ++i) {
        backward_image(work, i, weight_sum, bias_sum);
      }
    }
  });
  add_parts(weight_sums.data(), parts, weight_floats);
  add_parts(bias_sums.data(), parts, plan.outputs);
  if (out.weight != nullptr) {
    gather_weights(weight_sums.data(), *out.weight, out.accumulate_weight);
  }
  if (out.bias != nullptr) {
    if (!out.accumulate_bias) out.bias->fill(0.0);
    flat_loops().add(bias_sums.data(), out.bias->data<float>(), 0, plan.outputs);
  }
}

}  // namespace weft::winograd
