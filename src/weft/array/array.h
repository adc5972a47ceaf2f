// Array: n-dimensional values with strides, a handle to shared storage. No gradients here.
//
// Where it stands: everything that computes takes and gives Arrays; Tensor adds a history.
// A view (slice, transpose, expand, ...) shares storage and never copies; clone() copies.
// An Array can also be *blocked*: in an order that only its kernels understand (MemoryFormat). All
// other code calls strided() or contiguous() first; reading a blocked array element-wise is a bug.
// Threads: a value; two threads may read one Array, writing needs one owner.
// Fails: wrong shapes, axes and dtypes given by the model builder throw std::invalid_argument
// "[op] expected ..., got ...", and so does reading elements as another type, of an undefined
// array, of a blocked one, or of one on another device than the CPU: data() and flat() are spans of
// host memory. Functions that return single values or copies of them (item(), at(), to_vector(),
// printing) copy from the device themselves.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/array/dtype/dtype.h"
#include "weft/array/shape/memory_format.h"
#include "weft/array/shape/shape.h"
#include "weft/array/storage/device.h"
#include "weft/array/storage/storage.h"

namespace weft {

class Array;
namespace internal {
// launch_constant() and launch_host_read() of launch.h, which may include this header but not the
// reverse.
void note_constant(const Array& array);
void note_host_read(const char* operation);
}  // namespace internal

class Array {
 public:
  Array() = default;  // undefined

  // Contents undefined.
  static Array empty(const Shape& shape, DType dtype = DType::kF32, Device device = {});
  static Array zeros(const Shape& shape, DType dtype = DType::kF32, Device device = {});
  static Array full(const Shape& shape, double value, DType dtype = DType::kF32,
                    Device device = {});
  // One axis of `length`. Templates, so that braces stay a Shape: zeros({}) has no axis.
  template <std::integral Length, class... Rest>
  static Array empty(Length length, Rest... rest) {
    return empty(Shape{static_cast<std::int64_t>(length)}, rest...);
  }
  template <std::integral Length, class... Rest>
  static Array zeros(Length length, Rest... rest) {
    return zeros(Shape{static_cast<std::int64_t>(length)}, rest...);
  }
  template <std::integral Length, class... Rest>
  static Array full(Length length, double value, Rest... rest) {
    return full(Shape{static_cast<std::int64_t>(length)}, value, rest...);
  }
  // Copies; as many values as the shape holds. The type is that of the values: from({1, 2}, {2}) is
  // i32, from<double>({1, 2}, {2}) is f64.
  template <class T>
  static Array from(std::span<const T> values, const Shape& shape);
  template <class T>
  static Array from(std::initializer_list<T> values, const Shape& shape) {
    return from(std::span<const T>(values.begin(), values.size()), shape);
  }
  // A template for bool, too: else braces of other values would become a std::vector<bool>.
  template <class T>
  static Array from(const std::vector<T>& values, const Shape& shape) {
    if constexpr (std::is_same_v<T, bool>) {
      return from_bits(values, shape);
    } else {
      return from(std::span<const T>(values), shape);
    }
  }
  // A view of `storage` from element `offset` on.
  static Array on(std::shared_ptr<Storage> storage, std::int64_t offset, const Shape& shape,
                  const Strides& strides, DType dtype);
  // A new array in the order of `format`; for kernels.
  static Array blocked(const Shape& shape, DType dtype, std::shared_ptr<const MemoryFormat> format,
                       Device device = {});

  bool defined() const { return storage_ != nullptr; }
  const Shape& shape() const { return shape_; }
  const Strides& strides() const { return strides_; }
  int ndim() const { return shape_.size(); }
  // Elements along `axis`, which may count from the end (-1 is the last).
  std::int64_t dim(int axis) const { return shape_[normalize_axis("dim", axis, ndim())]; }
  std::int64_t size() const { return size_; }
  std::size_t size_bytes() const { return static_cast<std::size_t>(size_) * size_of(dtype_); }
  DType dtype() const { return dtype_; }
  // The CPU's if undefined.
  Device device() const { return storage_ ? storage_->device() : Device{}; }
  // Whether the host may read the values, or there are none.
  bool on_host() const { return storage_ == nullptr || storage_->on_host(); }
  std::int64_t offset() const { return offset_; }
  const std::shared_ptr<Storage>& storage() const { return storage_; }

  // Row-major without gaps. Axes of size 1 do not count, nor does anything of an empty array.
  bool is_contiguous() const { return format_ == nullptr && contiguous_; }
  bool is_strided() const { return format_ == nullptr; }
  const std::shared_ptr<const MemoryFormat>& format() const { return format_; }
  // Itself if it is so already, else a copy.
  Array contiguous() const;
  Array strided() const { return is_strided() ? *this : format_->to_strided(*this); }

  // The first element (of any strides). Throws std::invalid_argument unless T is the dtype and the
  // array is defined, strided and in the memory of the host.
  template <class T>
  T* data() {
    if (dtype_of<T>() != dtype_ || !is_strided() || !defined() || !storage_->on_host()) {
      throw_access("data", dtype_of<T>());
    }
    return static_cast<T*>(storage_->data()) + offset_;
  }
  template <class T>
  const T* data() const {
    return const_cast<Array*>(this)->data<T>();
  }
  // The first byte, blocked or not; for kernels of the array's device.
  void* raw_data() const {
    return static_cast<std::uint8_t*>(storage_->data()) +
           offset_ * static_cast<std::int64_t>(size_of(dtype_));
  }
  // All elements in order. Throws std::invalid_argument as data() does, and unless contiguous.
  template <class T>
  std::span<T> flat() {
    if (!is_contiguous()) throw_access("flat", dtype_of<T>());
    return {data<T>(), static_cast<std::size_t>(size_)};
  }
  template <class T>
  std::span<const T> flat() const {
    return const_cast<Array*>(this)->flat<T>();
  }

  // The only element, converted. Throws if there is not exactly one.
  double item() const;
  // The same as an integer: i64 values beyond 2^53 stay exact.
  std::int64_t item_int() const;
  // The element at these positions, one per axis, converted; negative ones count from the end.
  // Throws if there is none.
  double at(std::initializer_list<std::int64_t> positions) const;
  // Row-major copy of the values, any strides. Throws std::invalid_argument unless T is the dtype.
  template <class T>
  std::vector<T> to_vector() const {
    if (dtype_of<T>() != dtype_ || !defined()) throw_access("to_vector", dtype_of<T>());
    internal::note_host_read("to_vector");
    const Array dense = contiguous().to(Device::cpu());
    const std::span<const T> values = dense.flat<T>();
    return {values.begin(), values.end()};
  }

  // A view where strides allow it, else a copy; one size may be -1 and is worked out.
  Array reshape(const Shape& shape) const;
  Array transpose(int axis_a, int axis_b) const;
  // Axis i of the result is axis axes[i] of this.
  Array permute(std::span<const int> axes) const;
  Array permute(std::initializer_list<int> axes) const {
    return permute(std::span<const int>(axes.begin(), axes.size()));
  }
  // Python's start:stop:step: negative positions count from the end, out-of-range ones are
  // clamped, no value means "from/to the end" in the step's direction; step may be negative.
  Array slice(int axis, std::optional<std::int64_t> start, std::optional<std::int64_t> stop,
              std::int64_t step = 1) const;
  // Drops `axis` at index i, which may be negative.
  Array select(int axis, std::int64_t index) const;
  // Broadcasts by stride 0; -1 keeps a size. Do not write through the result.
  Array expand(const Shape& shape) const;
  Array squeeze(int axis) const;
  // A new axis of size 1 before `axis`, in [-ndim - 1, ndim].
  Array unsqueeze(int axis) const;
  // The axes from `first` to `last` as one: a view where strides allow it, else a copy.
  Array flatten(int first = 0, int last = -1) const;
  // Axis `from` becomes axis `to`; the others keep their order.
  Array movedim(int from, int to) const;
  // Backwards along the axes, each given once; by negative strides.
  Array flip(std::span<const int> axes) const;
  Array flip(std::initializer_list<int> axes) const {
    return flip(std::span<const int>(axes.begin(), axes.size()));
  }
  // Windows of `size` along `axis`, `step` apart, as a new last axis; they may overlap.
  Array unfold(int axis, std::int64_t size, std::int64_t step) const;
  // The values whose positions along the two axes differ by `offset` (column - row), as the last
  // axis in place of both.
  Array diagonal(std::int64_t offset = 0, int row_axis = 0, int column_axis = 1) const;
  // Parts of these lengths, which sum to the axis's; parts of one length, the last one shorter.
  std::vector<Array> split(const std::vector<std::int64_t>& lengths, int axis = 0) const;
  std::vector<Array> split(std::int64_t length, int axis = 0) const;
  // At most `count` parts of equal length but the last.
  std::vector<Array> chunk(std::int64_t count, int axis = 0) const;
  // Any view of the same storage, from `offset` elements after this view's first element.
  // Throws when it would leave the storage.
  Array as_strided(const Shape& shape, const Strides& strides, std::int64_t offset = 0) const;

  // The same view of other memory, whose element `offset` is the first; of none with null, which
  // leaves shape, strides, type and order behind in an undefined array. For graphs.
  Array rebound(std::shared_ptr<Storage> storage, std::int64_t offset) const;

  // A contiguous copy; to() converts as convert_value (dtype.h) does (itself if the dtype is
  // the same).
  Array clone() const;
  Array to(DType dtype) const;
  // A contiguous copy in the memory of `device`; itself if it is there already. Copies at once, so
  // that it cannot be captured in a graph.
  Array to(Device device) const;
  // Writes the values of `source` here; it may have other strides and another dtype, and is
  // broadcast to this shape. The two must not overlap unless they are the same view.
  void copy_from(const Array& source);
  void fill(double value);

 private:
  static Array from_bits(const std::vector<bool>& values, const Shape& shape);
  // Throws std::invalid_argument: what keeps `call` from reading elements of type `wanted` here.
  [[noreturn]] void throw_access(const char* call, DType wanted) const;
  void check_writable(const char* call) const;
  void fill_now(double value);
  void set_view(const Shape& shape, const Strides& strides, std::int64_t offset);

  std::shared_ptr<Storage> storage_;
  std::shared_ptr<const MemoryFormat> format_;
  std::int64_t offset_ = 0;
  std::int64_t size_ = 0;
  Shape shape_;
  Strides strides_;
  DType dtype_ = DType::kF32;
  bool contiguous_ = true;
};

// `array` itself if it is strided, or contiguous, as an undefined one is; else its copy, which
// `copy` then keeps. Unlike strided() they make no handle, which costs as much as small operations.
inline const Array& strided_in(const Array& array, std::optional<Array>& copy) {
  return array.is_strided() ? array : copy.emplace(array.strided());
}
inline const Array& contiguous_in(const Array& array, std::optional<Array>& copy) {
  return array.is_contiguous() ? array : copy.emplace(array.contiguous());
}

namespace internal {
[[noreturn]] void throw_value_count(std::size_t got, const Shape& shape);
}  // namespace internal

template <class T>
Array Array::from(std::span<const T> values, const Shape& shape) {
  Array result = empty(shape, dtype_of<T>());
  if (static_cast<std::int64_t>(values.size()) != result.size()) {
    internal::throw_value_count(values.size(), shape);
  }
  std::copy(values.begin(), values.end(), result.data<T>());
  internal::note_constant(result);
  return result;
}

}  // namespace weft
