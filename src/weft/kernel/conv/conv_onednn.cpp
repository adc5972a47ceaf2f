// Results must not depend on the number of threads, but oneDNN chooses kernels and splits sums by
// it. So each convolution is cut by images into parts whose sizes depend on the batch alone; one
// thread runs a part, with primitives made for one thread, and the parts of a weight gradient are
// added in order.
#include "weft/kernel/conv/conv_onednn.h"

#include <algorithm>

#include "weft/base/parallel.h"
#include "weft/kernel/conv/onednn_memory.h"
#include "weft/kernel/core/flat_loops.h"
#include "weft/kernel/core/prepared_weights.h"

namespace weft::onednn {
namespace {

using dnnl::algorithm;
using dnnl::prop_kind;
using Dims = dnnl::memory::dims;
using Tag = dnnl::memory::format_tag;
using Arguments = std::unordered_map<int, dnnl::memory>;

struct ConvKey {
  Shape x;
  Shape weight;
  Conv2dGeometry geometry;
  bool bias = false;
  bool relu = false;
  // For a batch's last part: the images of the others, whose memory orders it shares; otherwise 0.
  std::int64_t images_of_others = 0;
  friend bool operator==(const ConvKey&, const ConvKey&) = default;
};

// The memory orders of a part's arrays: x or its gradient, the weights or theirs, y or its.
struct Orders {
  MemoryDesc x;
  MemoryDesc weight;
  MemoryDesc y;
};

struct ConvPlan {
  Primitive primitive;
  Orders orders;
  MemoryDesc plain_weight;
};

Dims pair(const Pair& values) { return {values[0], values[1]}; }

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
MemoryDesc bias_desc(const ConvKey& key) {
  return key.bias ? vector_desc(key.weight[0]) : MemoryDesc();
}

dnnl::convolution_forward::primitive_desc forward_desc(const ConvKey& key, const Problem& p,
                                                       const Orders& orders) {
  const dnnl::convolution_forward::desc desc(
      prop_kind::forward_training, algorithm::convolution_direct, orders.x, orders.weight,
      bias_desc(key), orders.y, p.stride, p.between, p.padding_before, p.padding_after);
  return {desc, onednn_attributes(key.relu), onednn_engine()};
}

Orders free_orders(const Problem& p) { return {any(p.x), any(p.weight), any(p.y)}; }

ConvPlan make_forward(const ConvKey& key, const Problem& p, const Orders& orders) {
  const auto desc = forward_desc(key, p, orders);
  return {Primitive::make<dnnl::convolution_forward>(desc),
          {desc.src_desc(), desc.weights_desc(), desc.dst_desc()},
          {}};
}

ConvPlan make_backward_data(const ConvKey& key, const Problem& p, const Orders& orders) {
  const dnnl::convolution_backward_data::desc wanted(algorithm::convolution_direct, orders.x,
                                                     orders.weight, orders.y, p.stride, p.between,
                                                     p.padding_before, p.padding_after);
  const dnnl::convolution_backward_data::primitive_desc desc(
      wanted, onednn_attributes(false), onednn_engine(), forward_desc(key, p, free_orders(p)));
  return {Primitive::make<dnnl::convolution_backward_data>(desc),
          {desc.diff_src_desc(), desc.weights_desc(), desc.diff_dst_desc()},
          {}};
}

ConvPlan make_backward_weights(const ConvKey& key, const Problem& p, const Orders& orders) {
  const dnnl::convolution_backward_weights::desc wanted(
      algorithm::convolution_direct, orders.x, orders.weight, bias_desc(key), orders.y, p.stride,
      p.between, p.padding_before, p.padding_after);
  const dnnl::convolution_backward_weights::primitive_desc desc(
      wanted, onednn_attributes(false), onednn_engine(), forward_desc(key, p, free_orders(p)));
  return {Primitive::make<dnnl::convolution_backward_weights>(desc),
          {desc.src_desc(), desc.diff_weights_desc(), desc.diff_dst_desc()},
          {}};
}

using MakePlan = ConvPlan (*)(const ConvKey&, const Problem&, const Orders&);

// An image after the other, so that a part of the batch is a part of the memory.
bool images_outermost(const MemoryDesc& desc) {
  const auto& blocking = desc.data.format_desc.blocking;
  for (int i = 0; i < blocking.inner_nblks; ++i) {
    if (blocking.inner_idxs[i] == 0) return false;
  }
  for (int axis = 1; axis < desc.data.ndims; ++axis) {
    if (blocking.strides[axis] > blocking.strides[0]) return false;
  }
  return true;
}

MemoryDesc with_images(MemoryDesc desc, std::int64_t images) {
  desc.data.dims[0] = images;
  desc.data.padded_dims[0] = images;
  return desc;
}

struct Plans {
  MakePlan make;
  PlanCache<ConvKey, ConvPlan> cache;

  std::shared_ptr<const ConvPlan> get(const ConvKey& key) {
    return cache.get(key, [&] { return make_plan(key); });
  }

  ConvPlan make_plan(const ConvKey& key) {
    const Problem problem(key);
    const OneThread one;
    ConvPlan plan;
    if (key.images_of_others > 0) {
      ConvKey others = key;
      others.x[0] = key.images_of_others;
      others.images_of_others = 0;
      Orders orders = get(others)->orders;
      orders.x = with_images(orders.x, key.x[0]);
      orders.y = with_images(orders.y, key.x[0]);
      plan = make(key, problem, orders);
    } else {
      plan = make(key, problem, free_orders(problem));
      if (!images_outermost(plan.orders.x) || !images_outermost(plan.orders.y)) {
        Orders orders = plan.orders;
        orders.x = plain_desc(key.x);
        orders.y = plain_desc(conv2d_shape(key.x, key.weight, key.geometry));
        plan = make(key, problem, orders);
      }
    }
    plan.plain_weight = plain_desc(problem.weight_shape);
    return plan;
  }
};

// A batch cut into `count` parts of `size` images; the last may have fewer.
struct Parts {
  std::int64_t images;
  std::int64_t size;
  std::int64_t count;
  std::int64_t images_of(std::int64_t part) const { return std::min(size, images - part * size); }
};

Parts cut(std::int64_t images, std::int64_t parts_max) {
  const std::int64_t size = (images + parts_max - 1) / parts_max;
  return {images, size, (images + size - 1) / size};
}

constexpr std::int64_t kConvPartsMax = 16;
// Each has a weight gradient of its own.
constexpr std::int64_t kWeightPartsMax = 8;

// The plans of the parts of one batch.
struct PartPlans {
  PartPlans(Plans& plans, ConvKey key, std::int64_t parts_max) : parts(cut(key.x[0], parts_max)) {
    key.x[0] = parts.size;
    each = plans.get(key);
    const std::int64_t last_images = parts.images_of(parts.count - 1);
    last = each;
    if (last_images == parts.size) return;
    key.x[0] = last_images;
    key.images_of_others = parts.size;
    last = plans.get(key);
  }

  MemoryDesc x() const { return with_images(each->orders.x, parts.images); }
  MemoryDesc y() const { return with_images(each->orders.y, parts.images); }
  const MemoryDesc& weight() const { return each->orders.weight; }

  // Calls add(part, arguments), which adds what is special, and runs each part; x and y are the
  // first bytes of the whole batch, under the names oneDNN has for them in this product.
  struct Batch {
    int x_name;
    const void* x;
    int y_name;
    const void* y;
  };
  template <class Add>
  void run(const Batch& batch, Add add) const {
    const auto* const x_bytes = static_cast<const std::uint8_t*>(batch.x);
    const auto* const y_bytes = static_cast<const std::uint8_t*>(batch.y);
    const auto x_step = static_cast<std::int64_t>(each->orders.x.get_size());
    const auto y_step = static_cast<std::int64_t>(each->orders.y.get_size());
    parallel_for(parts.count, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t part = begin; part < end; ++part) {
        const ConvPlan& plan = part + 1 == parts.count ? *last : *each;
        Arguments arguments = {{batch.x_name, memory_on(plan.orders.x, x_bytes + part * x_step)},
                               {batch.y_name, memory_on(plan.orders.y, y_bytes + part * y_step)}};
        add(part, arguments);
        plan.primitive.run(std::move(arguments));
      }
    });
  }

  Parts parts;
  std::shared_ptr<const ConvPlan> each;
  std::shared_ptr<const ConvPlan> last;
};

struct OrderedWeight {
  MemoryDesc order;
  std::shared_ptr<Storage> values;
};

// The weights in the order of the plan; kept where weights are, for the latest order.
std::shared_ptr<Storage> ordered_weight(const Array& weight, const ConvPlan& plan) {
  const MemoryDesc& order = plan.orders.weight;
  const auto kept = PreparedWeights::find<OrderedWeight>(weight, WeightForm::kOnednnOrder);
  if (kept != nullptr && kept->order == order) return kept->values;
  auto ordered = Storage::allocate(order.get_size());
  reorder(plan.plain_weight, weight.contiguous().raw_data(), order, ordered->data());
  if (PreparedWeights::keeps(weight)) {
    PreparedWeights::keep(weight, WeightForm::kOnednnOrder,
                          std::make_shared<OrderedWeight>(OrderedWeight{order, ordered}));
  }
  return ordered;
}

// Adds the parts into the first and writes that in plain order.
void write_gradient(const std::shared_ptr<Storage>& parts, std::int64_t count,
                    const MemoryDesc& desc, const MemoryDesc& plain, Array& target,
                    bool accumulate) {
  auto* const first = static_cast<float*>(parts->data());
  const auto floats = static_cast<std::int64_t>(desc.get_size() / sizeof(float));
  const FlatLoops& loops = flat_loops();
  for (std::int64_t part = 1; part < count; ++part) {
    loops.add(first + part * floats, first, 0, floats);
  }
  if (!accumulate) {
    reorder(desc, first, plain, target.raw_data());
    return;
  }
  const Array sum = Array::empty(target.shape());
  reorder(desc, first, plain, sum.raw_data());
  loops.add(sum.data<float>(), target.data<float>(), 0, target.size());
}

Plans& forward_plans() {
  static thread_local Plans plans{make_forward, {}};
  return plans;
}

Plans& backward_data_plans() {
  static thread_local Plans plans{make_backward_data, {}};
  return plans;
}

}  // namespace

Array conv2d_output(const Array& x, const Array& weight, const Conv2dGeometry& geometry, bool bias,
                    bool relu) {
  const PartPlans part_plans(forward_plans(), {x.shape(), weight.shape(), geometry, bias, relu},
                             kConvPartsMax);
  return ResultOrder(conv2d_shape(x.shape(), weight.shape(), geometry), part_plans.y())
      .make(x.device());
}

void conv2d_forward(const Array& x, const Array& weight, const Array& bias,
                    const Conv2dGeometry& geometry, bool relu, Array& y) {
  const PartPlans part_plans(
      forward_plans(), {x.shape(), weight.shape(), geometry, bias.defined(), relu}, kConvPartsMax);
  const auto weights = ordered_weight(weight, *part_plans.each);
  std::shared_ptr<Storage> keep;
  const void* const source = in_order(x, part_plans.x(), keep);
  const Array dense_bias = bias.defined() ? bias.contiguous() : bias;
  part_plans.run(
      {DNNL_ARG_SRC, source, DNNL_ARG_DST, y.raw_data()}, [&](std::int64_t, Arguments& arguments) {
        arguments.insert({DNNL_ARG_WEIGHTS, memory_on(part_plans.weight(), weights->data())});
        if (!dense_bias.defined()) return;
        arguments.insert(
            {DNNL_ARG_BIAS, memory_on(vector_desc(dense_bias.size()), dense_bias.raw_data())});
      });
}

Array conv2d_data_gradient(const Array& x, const Array& weight, const Conv2dGeometry& geometry) {
  const PartPlans part_plans(backward_data_plans(), {x.shape(), weight.shape(), geometry},
                             kConvPartsMax);
  return ResultOrder(x.shape(), part_plans.x()).make(x.device());
}

void conv2d_backward_data(const Array& dy, const Array& weight, const Conv2dGeometry& geometry,
                          Array& dx) {
  const PartPlans part_plans(backward_data_plans(), {dx.shape(), weight.shape(), geometry},
                             kConvPartsMax);
  const auto weights = ordered_weight(weight, *part_plans.each);
  std::shared_ptr<Storage> keep;
  const void* const gradient = in_order(dy, part_plans.y(), keep);
  part_plans.run(
      {DNNL_ARG_DIFF_SRC, dx.raw_data(), DNNL_ARG_DIFF_DST, gradient},
      [&](std::int64_t, Arguments& arguments) {
        arguments.insert({DNNL_ARG_WEIGHTS, memory_on(part_plans.weight(), weights->data())});
      });
}

void conv2d_backward_weights(const Array& x, const Array& dy, const Conv2dGeometry& geometry,
                             const Conv2dWeightGradients& out) {
  static thread_local Plans plans{make_backward_weights, {}};
  const PartPlans part_plans(plans, {x.shape(), out.weight->shape(), geometry, out.bias != nullptr},
                             kWeightPartsMax);
  std::shared_ptr<Storage> keep_x;
  std::shared_ptr<Storage> keep_dy;
  const void* const source = in_order(x, part_plans.x(), keep_x);
  const void* const gradient = in_order(dy, part_plans.y(), keep_dy);
  const std::int64_t count = part_plans.parts.count;
  const MemoryDesc bias = vector_desc(dy.dim(1));
  const std::size_t weight_bytes = part_plans.weight().get_size();
  const std::size_t bias_bytes = bias.get_size();
  const auto weights = Storage::allocate(static_cast<std::size_t>(count) * weight_bytes);
  const auto biases = Storage::allocate(static_cast<std::size_t>(count) * bias_bytes);
  const auto at = [](const std::shared_ptr<Storage>& storage, std::int64_t part, std::size_t step) {
    return static_cast<std::uint8_t*>(storage->data()) + static_cast<std::size_t>(part) * step;
  };
  part_plans.run({DNNL_ARG_SRC, source, DNNL_ARG_DIFF_DST, gradient}, [&](std::int64_t part,
                                                                          Arguments& arguments) {
    arguments.insert(
        {DNNL_ARG_DIFF_WEIGHTS, memory_on(part_plans.weight(), at(weights, part, weight_bytes))});
    if (out.bias == nullptr) return;
    arguments.insert({DNNL_ARG_DIFF_BIAS, memory_on(bias, at(biases, part, bias_bytes))});
  });
  write_gradient(weights, count, part_plans.weight(), part_plans.each->plain_weight, *out.weight,
                 out.accumulate_weight);
  if (out.bias != nullptr) {
    write_gradient(biases, count, bias, bias, *out.bias, out.accumulate_bias);
  }
}

}  // namespace weft::onednn
