#include "weft/array/array.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

#include "weft/array/bad_argument.h"
#include "weft/array/launch.h"
#include "weft/array/reach.h"
#include "weft/array/shape/strided_copy.h"
#include "weft/array/storage/device_allocator.h"

namespace weft {
namespace {

// fill() writes so many values itself, and copies at most so many at a time.
constexpr std::int64_t kFillSeed = 16;
constexpr std::int64_t kFillCopy = 4'096;

void check_sizes(const char* operation, const Shape& shape) {
  for (const std::int64_t extent : shape) {
    if (extent < 0) throw_bad_argument(operation, "sizes of at least 0", to_string(shape));
  }
}

// `size` is the shape's number of elements.
bool is_row_major(const Shape& shape, const Strides& strides, std::int64_t size) {
  if (size == 0) return true;
  std::int64_t step = 1;
  for (int i = shape.size() - 1; i >= 0; --i) {
    if (shape[i] != 1 && strides[i] != step) return false;
    step *= shape[i];
  }
  return true;
}

// Reports to code that has seen these bytes that they are about to change. For memory that no one
// else holds there is no one to tell.
void note_write(Storage& storage, bool is_shared, const Array& array, const char* writer) {
  if (!is_shared || array.size() == 0) return storage.bump_version();
  const ByteRange bytes = byte_range(array);
  storage.note_write(bytes.begin, bytes.end, writer);
}

// What a view is made from: `array` itself, or its strided copy if it is blocked.
Array viewable(const char* operation, const Array& array) {
  if (!array.defined()) throw_bad_argument(operation, "an array", "an undefined one");
  return array.strided();
}

// Sets the strides of `shape` as a view of `array`; false if there are none: each new axis must
// lie within one run of old axes without a gap.
bool view_strides(const Array& array, const Shape& shape, Strides& strides) {
  strides = contiguous_strides(shape);
  if (array.size() == 0) return true;
  Shape old_shape;
  Strides old_strides;
  for (int i = 0; i < array.ndim(); ++i) {
    if (array.shape()[i] == 1) continue;
    old_shape.push_back(array.shape()[i]);
    old_strides.push_back(array.strides()[i]);
  }
  int next = shape.size() - 1;
  for (int i = old_shape.size() - 1; i >= 0; --i) {
    // One run of old axes, ending at the i of before the loop.
    std::int64_t run = old_shape[i];
    std::int64_t step = old_strides[i];
    for (; i > 0 && old_strides[i - 1] == old_strides[i] * old_shape[i]; --i) {
      run *= old_shape[i - 1];
    }
    while (run > 1) {
      while (next >= 0 && shape[next] == 1) --next;
      if (next < 0 || run % shape[next] != 0) return false;
      strides[next] = step;
      step *= shape[next];
      run /= shape[next];
      --next;
    }
  }
  return true;
}

Shape resolve_reshape(const Shape& shape, std::int64_t size) {
  Shape result = shape;
  int open = -1;
  std::int64_t known = 1;
  for (int i = 0; i < shape.size(); ++i) {
    if (shape[i] == -1) {
      if (open >= 0) throw_bad_argument("reshape", "at most one -1", to_string(shape));
      open = i;
    } else {
      known *= shape[i];
    }
  }
  if (open >= 0) {
    if (known == 0 || size % known != 0) {
      throw_bad_argument("reshape", fmt::format("a shape of {} elements", size), to_string(shape));
    }
    result[open] = size / known;
  }
  check_sizes("reshape", result);
  if (result.num_elements() != size) {
    throw_bad_argument("reshape", fmt::format("a shape of {} elements", size), to_string(shape));
  }
  return result;
}

}  // namespace

Array Array::from_bits(const std::vector<bool>& values, const Shape& shape) {
  Array result = empty(shape, DType::kBool);
  if (static_cast<std::int64_t>(values.size()) != result.size()) {
    internal::throw_value_count(values.size(), shape);
  }
  std::copy(values.begin(), values.end(), result.data<bool>());
  internal::note_constant(result);
  return result;
}

namespace internal {
void note_constant(const Array& array) { launch_constant(array); }
void note_host_read(const char* operation) { launch_host_read(operation); }

void throw_value_count(std::size_t got, const Shape& shape) {
  throw_bad_argument("from",
                     fmt::format("{} values for shape {}", shape.num_elements(), to_string(shape)),
                     std::to_string(got));
}
}  // namespace internal

void Array::set_view(const Shape& shape, const Strides& strides, std::int64_t offset) {
  shape_ = shape;
  strides_ = strides;
  offset_ = offset;
  size_ = shape.num_elements();
  contiguous_ = is_row_major(shape, strides, size_);
}

Array Array::empty(const Shape& shape, DType dtype, Device device) {
  check_sizes("empty", shape);
  Array result;
  result.dtype_ = dtype;
  result.shape_ = shape;
  result.strides_ = contiguous_strides(shape);
  result.size_ = shape.num_elements();
  // More bytes than a signed number counts would wrap to few.
  if (result.size_ >
      std::numeric_limits<std::int64_t>::max() / static_cast<std::int64_t>(size_of(dtype))) {
    throw std::bad_alloc();
  }
  result.storage_ = Storage::allocate(result.size_bytes(), device);
  return result;
}

Array Array::zeros(const Shape& shape, DType dtype, Device device) {
  return full(shape, 0.0, dtype, device);
}

Array Array::full(const Shape& shape, double value, DType dtype, Device device) {
  Array result = empty(shape, dtype, device);
  result.fill(value);
  return result;
}

Array Array::on(std::shared_ptr<Storage> storage, std::int64_t offset, const Shape& shape,
                const Strides& strides, DType dtype) {
  if (storage == nullptr) throw_bad_argument("on", "a storage", "null");
  Array whole;
  whole.dtype_ = dtype;
  whole.storage_ = std::move(storage);
  return whole.as_strided(shape, strides, offset);
}

Array Array::blocked(const Shape& shape, DType dtype, std::shared_ptr<const MemoryFormat> format,
                     Device device) {
  Array result;
  result.dtype_ = dtype;
  result.set_view(shape, contiguous_strides(shape), 0);
  result.storage_ = Storage::allocate(format->size_bytes(), device);
  result.format_ = std::move(format);
  return result;
}

Array Array::contiguous() const {
  if (is_contiguous()) return *this;
  return clone();
}

std::int64_t Array::item_int() const {
  launch_host_read("item_int");
  if (size_ != 1 || !defined())
    throw_bad_argument("item_int", "exactly one element", to_string(shape_));
  std::int64_t value = 0;
  const Array here = strided().to(Device::cpu());
  internal::copy_strided({here.raw_data(), dtype_, {1}}, {&value, DType::kI64, {1}}, {1});
  return value;
}

double Array::item() const {
  launch_host_read("item");
  if (size_ != 1 || !defined())
    throw_bad_argument("item", "exactly one element", to_string(shape_));
  double value = 0;
  const Array here = strided().to(Device::cpu());
  internal::copy_strided({here.raw_data(), dtype_, {1}}, {&value, DType::kF64, {1}}, {1});
  return value;
}

double Array::at(std::initializer_list<std::int64_t> positions) const {
  const Dims given(positions);
  if (!defined()) throw_bad_argument("at", "a defined array", "an undefined one");
  const Array values = strided();
  std::int64_t offset = values.offset_;
  bool there = given.size() == ndim();
  for (int axis = 0; there && axis < ndim(); ++axis) {
    const std::int64_t position = given[axis] < 0 ? given[axis] + shape_[axis] : given[axis];
    there = position >= 0 && position < shape_[axis];
    offset += position * values.strides_[axis];
  }
  if (!there) {
    throw_bad_argument("at", "a position in the shape " + to_string(shape_), to_string(given));
  }
  return on(values.storage_, offset, {}, {}, dtype_).item();
}

Array Array::reshape(const Shape& shape) const {
  Array view = viewable("reshape", *this);
  const Shape resolved = resolve_reshape(shape, size_);
  Strides strides;
  if (!view_strides(view, resolved, strides)) {
    view = view.clone();
    strides = contiguous_strides(resolved);
  }
  view.set_view(resolved, strides, view.offset_);
  return view;
}

Array Array::transpose(int axis_a, int axis_b) const {
  Array view = viewable("transpose", *this);
  const int a = normalize_axis("transpose", axis_a, ndim());
  const int b = normalize_axis("transpose", axis_b, ndim());
  Shape shape = shape_;
  Strides strides = view.strides_;
  std::swap(shape[a], shape[b]);
  std::swap(strides[a], strides[b]);
  view.set_view(shape, strides, view.offset_);
  return view;
}

Array Array::permute(std::span<const int> axes) const {
  Array view = viewable("permute", *this);
  if (static_cast<int>(axes.size()) != ndim()) {
    throw_bad_argument("permute", fmt::format("{} axes", ndim()), std::to_string(axes.size()));
  }
  Shape shape;
  Strides strides;
  unsigned seen = 0;
  for (const int given : axes) {
    const int axis = normalize_axis("permute", given, ndim());
    if ((seen >> axis & 1U) != 0)
      throw_bad_argument("permute", "each axis once", fmt::format("{} twice", given));
    seen |= 1U << axis;
    shape.push_back(shape_[axis]);
    strides.push_back(view.strides_[axis]);
  }
  view.set_view(shape, strides, view.offset_);
  return view;
}

Array Array::slice(int axis, std::optional<std::int64_t> start, std::optional<std::int64_t> stop,
                   std::int64_t step) const {
  Array view = viewable("slice", *this);
  const int at = normalize_axis("slice", axis, ndim());
  if (step == 0) throw_bad_argument("slice", "a step that is not 0", "0");
  const std::int64_t extent = shape_[at];
  // The positions that a step can reach: [0, extent] going up, [-1, extent - 1] going down.
  const std::int64_t low = step > 0 ? 0 : -1;
  const std::int64_t high = step > 0 ? extent : extent - 1;
  const auto resolve = [&](std::int64_t position) {
    return std::clamp(position < 0 ? position + extent : position, low, high);
  };
  const std::int64_t first = start ? resolve(*start) : (step > 0 ? low : high);
  const std::int64_t last = stop ? resolve(*stop) : (step > 0 ? high : low);
  const std::int64_t distance = step > 0 ? last - first : first - last;
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const std::int64_t stride = step > 0 ? step : -std::max(step, -most);
  const std::int64_t count = distance <= 0 ? 0 : (distance - 1) / stride + 1;
  Shape shape = shape_;
  Strides strides = view.strides_;
  shape[at] = count;
  strides[at] = count > 1 ? view.strides_[at] * step : view.strides_[at];
  view.set_view(shape, strides,
                count == 0 ? view.offset_ : view.offset_ + first * view.strides_[at]);
  return view;
}

Array Array::select(int axis, std::int64_t index) const {
  Array view = viewable("select", *this);
  const int at = normalize_axis("select", axis, ndim());
  const std::int64_t extent = shape_[at];
  if (index < -extent || index >= extent) {
    throw_bad_argument("select", fmt::format("an index in [{}, {})", -extent, extent),
                       std::to_string(index));
  }
  const std::int64_t position = index < 0 ? index + extent : index;
  Shape shape = shape_;
  Strides strides = view.strides_;
  shape.erase(at);
  strides.erase(at);
  view.set_view(shape, strides, view.offset_ + position * view.strides_[at]);
  return view;
}

Array Array::expand(const Shape& shape) const {
  Array view = viewable("expand", *this);
  const int lead = shape.size() - ndim();
  if (lead < 0)
    throw_bad_argument("expand", fmt::format("at least {} axes", ndim()), to_string(shape));
  Shape result = shape;
  Strides strides = Dims::filled(shape.size(), 0);
  for (int i = 0; i < shape.size(); ++i) {
    const std::int64_t old = i < lead ? 1 : shape_[i - lead];
    if (result[i] == -1 && i >= lead) result[i] = old;
    if (result[i] == old) {
      if (i >= lead) strides[i] = view.strides_[i - lead];
    } else if (old != 1 || result[i] < 0) {
      throw_bad_argument("expand", fmt::format("a shape that {} broadcasts to", to_string(shape_)),
                         to_string(shape));
    }
  }
  view.set_view(result, strides, view.offset_);
  return view;
}

Array Array::squeeze(int axis) const {
  Array view = viewable("squeeze", *this);
  const int at = normalize_axis("squeeze", axis, ndim());
  if (shape_[at] != 1) throw_bad_argument("squeeze", "an axis of size 1", to_string(shape_));
  return select(at, 0);
}

Array Array::unsqueeze(int axis) const {
  Array view = viewable("unsqueeze", *this);
  const int at = normalize_axis("unsqueeze", axis, ndim() + 1);
  Shape shape = shape_;
  Strides strides = view.strides_;
  strides.insert(at, at < ndim() ? shape_[at] * view.strides_[at] : 1);
  shape.insert(at, 1);
  view.set_view(shape, strides, view.offset_);
  return view;
}

Array Array::as_strided(const Shape& shape, const Strides& strides, std::int64_t offset) const {
  Array view = viewable("as_strided", *this);
  check_sizes("as_strided", shape);
  if (shape.size() != strides.size()) {
    throw_bad_argument("as_strided", "as many strides as sizes", to_string(strides));
  }
  std::int64_t low = view.offset_ + offset;
  std::int64_t high = low;
  for (int i = 0; i < shape.size(); ++i) {
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(std::max<std::int64_t>(shape[i] - 1, 0), strides[i], &reach) ||
        __builtin_add_overflow(reach < 0 ? low : high, reach, reach < 0 ? &low : &high)) {
      throw_bad_argument("as_strided", "offsets that fit in 63 bits", to_string(strides));
    }
  }
  const auto elements = static_cast<std::int64_t>(view.storage_->size_bytes() / size_of(dtype_));
  if (shape.num_elements() > 0 && (low < 0 || high >= elements)) {
    throw_bad_argument("as_strided", fmt::format("elements in [0, {})", elements),
                       fmt::format("[{}, {}]", low, high));
  }
  view.set_view(shape, strides, view.offset_ + offset);
  return view;
}

Array Array::rebound(std::shared_ptr<Storage> storage, std::int64_t offset) const {
  Array view = *this;
  view.storage_ = std::move(storage);
  view.offset_ = offset;
  return view;
}

Array Array::clone() const {
  const Array source = viewable("clone", *this);
  Array result = empty(shape_, dtype_, device());
  result.copy_from(source);
  return result;
}

Array Array::to(DType dtype) const {
  if (dtype == dtype_) return *this;
  Array result = empty(shape_, dtype, device());
  result.copy_from(*this);
  return result;
}

Array Array::to(Device device) const {
  const Device from = this->device();
  if (!defined() || from == device) return *this;
  launch_host_read("to");
  const Array source = contiguous();
  const std::size_t bytes = source.size_bytes();
  if (from.is_cpu()) {
    Array result = empty(shape_, dtype_, device);
    device_allocator(device).copy_from_host(source.raw_data(), result.raw_data(), bytes,
                                            device.index);
    return result;
  }
  Array result = empty(shape_, dtype_);
  device_allocator(from).copy_to_host(source.raw_data(), result.raw_data(), bytes, from.index);
  return result.to(device);
}

void Array::throw_access(const char* call, DType wanted) const {
  const std::string type(to_string(dtype_));
  if (!defined()) {
    throw_bad_argument(call, "an array", "an undefined one, which was never set or was moved from");
  }
  if (wanted != dtype_) {
    throw_bad_argument(call, fmt::format("the type that the elements have, {}", type),
                       fmt::format("{}; read them as {}, or convert the array with to()",
                                   to_string(wanted), type));
  }
  if (!is_strided()) {
    throw_bad_argument(call, "elements in row-major order",
                       "a blocked array, such as a convolution gives; call contiguous() first");
  }
  if (!on_host()) {
    throw_bad_argument(
        call, "values on the cpu",
        fmt::format("an array on {}; copy it with to(Device::cpu()) first", to_string(device())));
  }
  throw_bad_argument(call, "elements in row-major order",
                     fmt::format("a view {} of strides {}; call contiguous() first",
                                 to_string(shape_), to_string(strides_)));
}

void Array::check_writable(const char* call) const {
  if (!defined() || !is_strided()) throw_access(call, dtype_);
}

void Array::copy_from(const Array& source) {
  check_writable("copy_from");
  Array from = viewable("copy_from", source);
  if (!(from.shape_ == shape_)) from = from.expand(shape_);
  note_write(*storage_, storage_.use_count() > 1, *this, "copy_from");
  launch("copy", {&from}, {this}, [](LaunchArrays in, LaunchArrays out) {
    internal::copy_strided({in[0].raw_data(), in[0].dtype(), in[0].strides()},
                           {out[0].raw_data(), out[0].dtype(), out[0].strides()}, out[0].shape());
  });
}

void Array::fill(double value) {
  check_writable("fill");
  note_write(*storage_, storage_.use_count() > 1, *this, "fill");
  launch("fill", {}, {this}, [value](LaunchArrays, LaunchArrays out) { out[0].fill_now(value); });
}

void Array::fill_now(double value) {
  if (!contiguous_) {
    const Strides none = Dims::filled(ndim(), 0);
    internal::copy_strided({&value, DType::kF64, none}, {raw_data(), dtype_, strides_}, shape_);
    return;
  }
  with_dtype(dtype_, [&](auto zero) {
    using T = decltype(zero);
    // The first values, and then copies of all that are there.
    T* const to = data<T>();
    const T one = convert_value<T>(value);
    if (one == T{} && !std::signbit(value)) {
      std::memset(to, 0, size_bytes());
      return;
    }
    std::int64_t filled = std::min(size_, kFillSeed);
    std::fill_n(to, filled, one);
    while (filled < size_) {
      const std::int64_t count = std::min({filled, kFillCopy, size_ - filled});
      std::copy_n(to, count, to + filled);
      filled += count;
    }
  });
}

}  // namespace weft
