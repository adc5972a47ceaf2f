#include "weft/kernel/conv/onednn_memory.h"

#include <optional>

#include "weft/array/launch.h"
#include "weft/base/parallel.h"
#include "weft/kernel/conv/half_blocks.h"
#include "weft/kernel/core/onednn.h"
#include "weft/kernel/elementwise/convert.h"

namespace weft {
namespace {

using Tag = dnnl::memory::format_tag;

// Below this size a copy takes less time than waking a thread of OpenMP's, which then keeps a
// processor from our own threads while it waits for more.
constexpr std::size_t kReorderBytesAlone = std::size_t{1} << 20;

dnnl::memory::dims dims_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

struct ReorderKey {
  MemoryDesc from;
  MemoryDesc to;
  int threads;
  friend bool operator==(const ReorderKey& a, const ReorderKey& b) {
    return a.threads == b.threads && a.from == b.from && a.to == b.to;
  }
};

const OneDnnFormat& format_of(const Array& blocked) {
  const auto* const format = dynamic_cast<const OneDnnFormat*>(blocked.format().get());
  WEFT_CHECK(format != nullptr);
  return *format;
}

// The order of a dense array of any type, as that of f32 values.
MemoryDesc single_desc(const Array& array) {
  const auto* const half = dynamic_cast<const HalfFormat*>(array.format().get());
  if (half == nullptr) return desc_of(array);
  return dynamic_cast<const OneDnnFormat&>(*half->single()).desc();
}

constexpr std::pair<Tag, std::int64_t> kBlockTags[] = {{Tag::nChw8c, 8}, {Tag::nChw16c, 16}};

}  // namespace

const dnnl::engine& onednn_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::stream& onednn_stream() {
  static thread_local dnnl::stream stream(onednn_engine());
  return stream;
}

MemoryDesc plain_desc(const Shape& shape) {
  const Strides strides = contiguous_strides(shape);
  return {dims_of(shape), dnnl::memory::data_type::f32, dims_of(strides)};
}

MemoryDesc desc_of(const Array& array) {
  if (array.is_strided()) return plain_desc(array.shape());
  return format_of(array).desc();
}

ResultOrder::ResultOrder(const Shape& result_shape, const MemoryDesc& desc) : shape(result_shape) {
  if (desc != plain_desc(result_shape)) format = std::make_shared<const OneDnnFormat>(desc);
}

Array ResultOrder::make(Device device) const {
  if (format == nullptr) return Array::empty(shape, DType::kF32, device);
  return Array::blocked(shape, DType::kF32, format, device);
}

dnnl::memory memory_on(const MemoryDesc& desc, const void* data) {
  return {desc, onednn_engine(), const_cast<void*>(data)};
}

void Primitive::run(std::unordered_map<int, dnnl::memory> arguments) const {
  std::shared_ptr<Storage> scratchpad;
  if (const std::size_t bytes = scratchpad_.get_size(); bytes > 0) {
    scratchpad = Storage::allocate(bytes);
    arguments.insert({DNNL_ARG_SCRATCHPAD, memory_on(scratchpad_, scratchpad->data())});
  }
  primitive_.execute(onednn_stream(), arguments);
}

dnnl::primitive_attr onednn_attributes(bool relu) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (relu) {
    dnnl::post_ops after;
    after.append_eltwise(1.0F, dnnl::algorithm::eltwise_relu, 0.0F, 0.0F);
    attributes.set_post_ops(after);
  }
  return attributes;
}

void reorder(const MemoryDesc& from, const void* source, const MemoryDesc& to, void* target) {
  static thread_local PlanCache<ReorderKey, Primitive> plans;
  std::optional<OneThread> one;
  if (to.get_size() < kReorderBytesAlone) one.emplace();
  const auto plan = plans.get({from, to, thread_count()}, [&] {
    const dnnl::engine& engine = onednn_engine();
    return Primitive::make<dnnl::reorder>(
        dnnl::reorder::primitive_desc(engine, from, engine, to, onednn_attributes(false)));
  });
  plan->run({{DNNL_ARG_FROM, memory_on(from, source)}, {DNNL_ARG_TO, memory_on(to, target)}});
}

const void* in_order(const Array& array, const MemoryDesc& desc, std::shared_ptr<Storage>& keep) {
  const Array dense = array.is_strided() ? array.contiguous() : array;
  const MemoryDesc from = desc_of(dense);
  keep = dense.storage();
  if (from == desc) return dense.raw_data();
  keep = Storage::allocate(desc.get_size());
  reorder(from, dense.raw_data(), desc, keep->data());
  return keep->data();
}

namespace {

void launch_reorder(const Array& from, Array& to) {
  launch("reorder", {&from}, {&to}, [](LaunchArrays in, LaunchArrays out) {
    reorder(desc_of(in[0]), in[0].raw_data(), desc_of(out[0]), out[0].raw_data());
  });
}

// Whether 16-bit values of one order are copied to the other by half_blocks.h.
bool has_half_copy(const Array& strided, const Array& blocked) {
  return strided.ndim() == 4 && strided.dim(1) % 8 == 0 && channel_block(blocked) == 8;
}

// Copies 16-bit values between both orders.
void launch_half_reorder(const Array& from, Array& to) {
  launch("reorder", {&from}, {&to}, [](LaunchArrays in, LaunchArrays out) {
    const Shape& shape = in[0].shape();
    const half_blocks::Images images{shape[0], shape[1], shape[2] * shape[3]};
    const auto* const values = static_cast<const std::uint16_t*>(in[0].raw_data());
    auto* const result = static_cast<std::uint16_t*>(out[0].raw_data());
    in[0].is_strided() ? half_blocks::from_planes(images, values, result)
                       : half_blocks::to_planes(images, values, result);
  });
}

}  // namespace

Array OneDnnFormat::to_strided(const Array& blocked) const {
  Array result = Array::empty(blocked.shape(), blocked.dtype(), blocked.device());
  launch_reorder(blocked, result);
  return result;
}

Array HalfFormat::to_strided(const Array& blocked) const {
  Array result = Array::empty(blocked.shape(), blocked.dtype(), blocked.device());
  if (has_half_copy(result, blocked)) {
    launch_half_reorder(blocked, result);
    return result;
  }
  return convert(convert(blocked, DType::kF32).strided(), blocked.dtype());
}

Array like(const Array& array, DType dtype) {
  const bool f32 = dtype == DType::kF32;
  if (array.is_strided() || !(f32 || is_half(dtype)))
    return Array::empty(array.shape(), dtype, array.device());
  std::shared_ptr<const MemoryFormat> format = array.format();
  if (is_half(array.dtype()) && f32) {
    format = static_cast<const HalfFormat&>(*format).single();
  } else if (!is_half(array.dtype()) && !f32) {
    format = std::make_shared<const HalfFormat>(format);
  }
  return Array::blocked(array.shape(), dtype, std::move(format), array.device());
}

std::int64_t dense_elements(const Array& array) {
  if (array.is_strided()) return array.size();
  return static_cast<std::int64_t>(array.format()->size_bytes() / size_of(array.dtype()));
}

Array like(const Array& array) {
  if (array.is_strided()) return Array::empty(array.shape(), array.dtype(), array.device());
  return Array::blocked(array.shape(), array.dtype(), array.format(), array.device());
}

namespace {

// A new array of f32, bf16 or f16 in this order of f32.
Array in_order(const Shape& shape, DType dtype, Tag tag, Device device) {
  const MemoryDesc desc(dims_of(shape), dnnl::memory::data_type::f32, tag);
  std::shared_ptr<const MemoryFormat> format = std::make_shared<const OneDnnFormat>(desc);
  if (is_half(dtype)) format = std::make_shared<const HalfFormat>(std::move(format));
  return Array::blocked(shape, dtype, std::move(format), device);
}

}  // namespace

Array like_with_shape(const Array& array, const Shape& shape) {
  const std::int64_t block = channel_block(array);
  WEFT_CHECK(block > 0);
  for (const auto& [tag, size] : kBlockTags) {
    if (size == block) return in_order(shape, array.dtype(), tag, array.device());
  }
  if (block == 1) return Array::empty(shape, array.dtype(), array.device());
  return in_order(shape, array.dtype(), Tag::nhwc, array.device());
}

Array blocks_of_8(const Shape& shape, DType dtype, Device device) {
  return in_order(shape, dtype, Tag::nChw8c, device);
}

Array in_blocks_of_8(const Array& array) {
  if (channel_block(array) == 8) return array;
  return in_order_of(array, blocks_of_8(array.shape(), array.dtype(), array.device()));
}

Array in_order_of(const Array& values, const Array& model) {
  if (values.is_contiguous() && model.is_strided()) return values;
  if (values.format() != nullptr && values.format() == model.format()) return values;
  Array dense = values.is_strided() ? values.contiguous() : values;
  if (single_desc(dense) == single_desc(model)) return dense;
  if (is_half(values.dtype())) {
    if (dense.is_strided() && has_half_copy(dense, model)) {
      Array result = blocks_of_8(values.shape(), values.dtype(), values.device());
      launch_half_reorder(dense, result);
      return result;
    }
    const Array order = model.dtype() == DType::kF32 ? model : like(model, DType::kF32);
    return convert(in_order_of(convert(dense, DType::kF32), order), values.dtype());
  }
  Array result = like(model);
  launch_reorder(dense, result);
  return result;
}

std::int64_t channel_block(const Array& array) {
  if (array.is_strided()) return 1;
  const MemoryDesc desc = single_desc(array);
  const auto dims = dims_of(array.shape());
  const auto type = dnnl::memory::data_type::f32;
  for (const auto& [tag, size] : kBlockTags) {
    if (desc == MemoryDesc(dims, type, tag)) return size;
  }
  return desc == MemoryDesc(dims, type, Tag::nhwc) ? array.shape()[1] : 0;
}

}  // namespace weft
