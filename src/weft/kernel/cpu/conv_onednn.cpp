#include "weft/kernel/cpu/conv_onednn.h"

#include <algorithm>

#include "weft/base/parallel.h"
#include "weft/kernel/cpu/flat_loops.h"
#include "weft/kernel/cpu/onednn_memory.h"

namespace weft::onednn {
namespace {

using dnnl::algorithm;
using dnnl::prop_kind;
using Dims = dnnl::memory::dims;
using Tag = dnnl::memory::format_tag;

struct ConvKey {
  Shape x;
  Shape weight;
  Conv2dGeometry geometry;
  bool bias = false;
  bool relu = false;
  int threads = 1;
  friend bool operator==(const ConvKey&, const ConvKey&) = default;
};

Dims pair(const std::array<std::int64_t, 2>& values) { return {values[0], values[1]}; }

// What oneDNN calls the sizes of a convolution.
struct Problem {
  explicit Problem(const ConvKey& key)
      : x(key.x.begin(), key.x.end()),
        stride(pair(key.geometry.stride)),
        padding_before(pair(key.geometry.padding)),
        weight_shape(key.weight) {
    const Shape out = conv2d_shape(key.x, key.weight, key.geometry);
    y = {out.begin(), out.end()};
    const std::int64_t groups = key.geometry.groups;
    if (groups > 1) {
      weight_shape = {groups, key.weight[0] / groups, key.weight[1], key.weight[2], key.weight[3]};
    }
    weight = {weight_shape.begin(), weight_shape.end()};
    for (int axis = 0; axis < 2; ++axis) {
      const auto i = static_cast<std::size_t>(axis);
      const std::int64_t dilation = key.geometry.dilation[i];
      const std::int64_t reach = dilation * (key.weight[2 + axis] - 1) + 1;
      between.push_back(dilation - 1);
      // What the last window covers, which may be less than the padded image.
      padding_after.push_back((out[2 + axis] - 1) * stride[i] + reach - key.x[2 + axis] -
                              padding_before[i]);
    }
  }
  Dims x, y, weight, stride, between, padding_before, padding_after;
  Shape weight_shape;
};

MemoryDesc any(const Dims& dims) { return {dims, dnnl::memory::data_type::f32, Tag::any}; }
MemoryDesc vector_desc(std::int64_t size) { return {{size}, dnnl::memory::data_type::f32, Tag::x}; }

dnnl::convolution_forward::primitive_desc forward_desc(const ConvKey& key, const Problem& p) {
  const MemoryDesc bias = key.bias ? vector_desc(key.weight[0]) : MemoryDesc();
  const dnnl::convolution_forward::desc desc(
      prop_kind::forward_training, algorithm::convolution_direct, any(p.x), any(p.weight), bias,
      any(p.y), p.stride, p.between, p.padding_before, p.padding_after);
  return {desc, onednn_attributes(key.relu), onednn_engine()};
}

struct ForwardPlan {
  Primitive primitive;
  MemoryDesc x;
  MemoryDesc weight;
  MemoryDesc plain_weight;
  MemoryDesc y_desc;
  ResultOrder y;
};

ForwardPlan make_forward(const ConvKey& key) {
  const Problem p(key);
  const auto desc = forward_desc(key, p);
  return {Primitive::make<dnnl::convolution_forward>(desc),
          desc.src_desc(),
          desc.weights_desc(),
          plain_desc(p.weight_shape),
          desc.dst_desc(),
          ResultOrder(conv2d_shape(key.x, key.weight, key.geometry), desc.dst_desc())};
}

struct BackwardPlan {
  Primitive primitive;
  MemoryDesc dy;
  MemoryDesc weight;
  MemoryDesc plain_weight;
  MemoryDesc dx_desc;
  ResultOrder dx;
};

BackwardPlan make_backward_data(const ConvKey& key) {
  const Problem p(key);
  const dnnl::convolution_backward_data::desc wanted(algorithm::convolution_direct, any(p.x),
                                                     any(p.weight), any(p.y), p.stride, p.between,
                                                     p.padding_before, p.padding_after);
  const dnnl::convolution_backward_data::primitive_desc desc(wanted, onednn_attributes(false),
                                                             onednn_engine(), forward_desc(key, p));
  return {Primitive::make<dnnl::convolution_backward_data>(desc),
          desc.diff_dst_desc(),
          desc.weights_desc(),
          plain_desc(p.weight_shape),
          desc.diff_src_desc(),
          ResultOrder(key.x, desc.diff_src_desc())};
}

struct WeightPlan {
  Primitive primitive;
  MemoryDesc x;
  MemoryDesc dy;
  MemoryDesc weight;
  MemoryDesc plain_weight;
};

WeightPlan make_backward_weights(const ConvKey& key) {
  const Problem p(key);
  const MemoryDesc bias = key.bias ? vector_desc(key.weight[0]) : MemoryDesc();
  const dnnl::convolution_backward_weights::desc wanted(
      algorithm::convolution_direct, any(p.x), any(p.weight), bias, any(p.y), p.stride, p.between,
      p.padding_before, p.padding_after);
  // One thread runs it: see weight_parts().
  const int threads = thread_count();
  set_thread_count(1);
  const dnnl::convolution_backward_weights::primitive_desc desc(
      wanted, onednn_attributes(false), onednn_engine(), forward_desc(key, p));
  WeightPlan plan{Primitive::make<dnnl::convolution_backward_weights>(desc), desc.src_desc(),
                  desc.diff_dst_desc(), desc.diff_weights_desc(), plain_desc(p.weight_shape)};
  set_thread_count(threads);
  return plan;
}

// The weight gradient is a sum over images. oneDNN would split the sum by the number of threads,
// and its last bits would depend on that. So the batch is cut into parts whose number depends on
// the batch alone; each part is computed by one thread and the parts are added in order.
constexpr std::int64_t kWeightPartsMax = 8;
std::int64_t weight_parts(std::int64_t images) {
  std::int64_t parts = kWeightPartsMax;
  while (images % parts != 0) parts /= 2;
  return parts;
}

// Adds the parts into the first, writes it in plain order.
void write_gradient(float* parts, std::int64_t count, const MemoryDesc& desc,
                    const MemoryDesc& plain, Array& target, bool accumulate) {
  const auto floats = static_cast<std::int64_t>(desc.get_size() / sizeof(float));
  const FlatLoops& loops = flat_loops();
  for (std::int64_t part = 1; part < count; ++part) {
    loops.add(parts + part * floats, parts, 0, floats);
  }
  if (!accumulate) {
    reorder(desc, parts, plain, target.raw_data());
    return;
  }
  const Array sum = Array::empty(target.shape());
  reorder(desc, parts, plain, sum.raw_data());
  loops.add(sum.data<float>(), target.data<float>(), 0, target.size());
}

std::int64_t bytes_between(const MemoryDesc& part) {
  return static_cast<std::int64_t>(part.get_size());
}

// With x [N, ...] in the order of `part` for every N / parts images: images are outermost.
MemoryDesc with_images(const MemoryDesc& part, std::int64_t images) {
  MemoryDesc whole = part;
  whole.data.dims[0] = images;
  whole.data.padded_dims[0] = images;
  return whole;
}

}  // namespace

Array conv2d_forward(const Array& x, const Array& weight, const Array& bias,
                     const Conv2dGeometry& geometry, bool relu) {
  set_thread_count(thread_count());
  static thread_local PlanCache<ConvKey, ForwardPlan> plans;
  const ConvKey key{x.shape(), weight.shape(), geometry, bias.defined(), relu, thread_count()};
  const auto plan = plans.get(key, [&] { return make_forward(key); });
  std::shared_ptr<Storage> keep_x;
  std::shared_ptr<Storage> keep_weight;
  const Array plain_weight = weight.contiguous();
  keep_weight = Storage::allocate(plan->weight.get_size());
  reorder(plan->plain_weight, plain_weight.raw_data(), plan->weight, keep_weight->data());
  const void* const source = in_order(x, plan->x, keep_x);
  const Array y = plan->y.make();
  std::unordered_map<int, dnnl::memory> arguments = {
      {DNNL_ARG_SRC, memory_on(plan->x, source)},
      {DNNL_ARG_WEIGHTS, memory_on(plan->weight, keep_weight->data())},
      {DNNL_ARG_DST, memory_on(plan->y_desc, y.raw_data())}};
  const Array dense_bias = bias.defined() ? bias.contiguous() : bias;
  if (bias.defined()) {
    arguments.insert({DNNL_ARG_BIAS, memory_on(vector_desc(weight.dim(0)), dense_bias.raw_data())});
  }
  plan->primitive.run(std::move(arguments));
  return y;
}

Array conv2d_backward_data(const Array& dy, const Array& weight, const Shape& x_shape,
                           const Conv2dGeometry& geometry) {
  set_thread_count(thread_count());
  static thread_local PlanCache<ConvKey, BackwardPlan> plans;
  const ConvKey key{x_shape, weight.shape(), geometry, false, false, thread_count()};
  const auto plan = plans.get(key, [&] { return make_backward_data(key); });
  std::shared_ptr<Storage> keep_dy;
  const void* const gradient = in_order(dy, plan->dy, keep_dy);
  const Array plain_weight = weight.contiguous();
  const auto weights = Storage::allocate(plan->weight.get_size());
  reorder(plan->plain_weight, plain_weight.raw_data(), plan->weight, weights->data());
  const Array dx = plan->dx.make();
  plan->primitive.run({{DNNL_ARG_DIFF_DST, memory_on(plan->dy, gradient)},
                       {DNNL_ARG_WEIGHTS, memory_on(plan->weight, weights->data())},
                       {DNNL_ARG_DIFF_SRC, memory_on(plan->dx_desc, dx.raw_data())}});
  return dx;
}

void conv2d_backward_weights(const Array& x, const Array& dy, const Conv2dGeometry& geometry,
                             const Conv2dWeightGradients& out) {
  set_thread_count(thread_count());
  static thread_local PlanCache<ConvKey, WeightPlan> plans;
  const std::int64_t images = x.dim(0);
  const std::int64_t parts = weight_parts(images);
  const Shape weight_shape = out.weight->shape();
  Shape part_shape = x.shape();
  part_shape[0] = images / parts;
  const ConvKey key{part_shape, weight_shape, geometry, out.bias != nullptr, false, 1};
  const auto plan = plans.get(key, [&] { return make_backward_weights(key); });
  std::shared_ptr<Storage> keep_x;
  std::shared_ptr<Storage> keep_dy;
  const auto* const source =
      static_cast<const std::uint8_t*>(in_order(x, with_images(plan->x, images), keep_x));
  const auto* const gradient =
      static_cast<const std::uint8_t*>(in_order(dy, with_images(plan->dy, images), keep_dy));
  const std::int64_t weight_bytes = bytes_between(plan->weight);
  const MemoryDesc bias_desc = vector_desc(weight_shape[0]);
  const std::int64_t bias_bytes = bytes_between(bias_desc);
  const auto weights = Storage::allocate(static_cast<std::size_t>(parts * weight_bytes));
  const auto biases = Storage::allocate(static_cast<std::size_t>(parts * bias_bytes));
  parallel_for(parts, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t part = begin; part < end; ++part) {
      std::unordered_map<int, dnnl::memory> arguments = {
          {DNNL_ARG_SRC, memory_on(plan->x, source + part * bytes_between(plan->x))},
          {DNNL_ARG_DIFF_DST, memory_on(plan->dy, gradient + part * bytes_between(plan->dy))},
          {DNNL_ARG_DIFF_WEIGHTS,
           memory_on(plan->weight,
                     static_cast<std::uint8_t*>(weights->data()) + part * weight_bytes)}};
      if (out.bias != nullptr) {
        arguments.insert(
            {DNNL_ARG_DIFF_BIAS,
             memory_on(bias_desc, static_cast<std::uint8_t*>(biases->data()) + part * bias_bytes)});
      }
      plan->primitive.run(std::move(arguments));
    }
  });
  write_gradient(static_cast<float*>(weights->data()), parts, plan->weight, plan->plain_weight,
                 *out.weight, out.accumulate_weight);
  if (out.bias != nullptr) {
    write_gradient(static_cast<float*>(biases->data()), parts, bias_desc, bias_desc, *out.bias,
                   out.accumulate_bias);
  }
}

}  // namespace weft::onednn
