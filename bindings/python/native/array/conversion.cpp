#include "array/conversion.h"

#include <bit>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "array/dtype_object.h"
#include "array/scalar.h"
#include "core/errors.h"
#include "core/gil.h"
#include "tensor/tensor_object.h"

namespace weft::python {
namespace {

// Nested lists deeper than the axes of an Array end here, whatever they hold.
constexpr std::size_t kDepthMax = Shape::kDimsMax;

class BufferView {
 public:
  // Writable if it can be had so.
  explicit BufferView(PyObject* object) {
    if (PyObject_GetBuffer(object, &view_, PyBUF_FULL_RO) != 0) throw PythonError();
  }
  ~BufferView() {
    if (Py_IsInitialized() == 0) return;  // the interpreter is gone and all of its with it
    const PyGILState_STATE state = PyGILState_Ensure();
    PyBuffer_Release(&view_);
    PyGILState_Release(state);
  }
  BufferView(const BufferView&) = delete;
  BufferView& operator=(const BufferView&) = delete;
  const Py_buffer& view() const { return view_; }

 private:
  Py_buffer view_ = {};
};

std::optional<DType> integer_type(bool is_signed, Py_ssize_t size) {
  if (is_signed && size == 8) return DType::kI64;
  if (is_signed && size == 4) return DType::kI32;
  if (size == 1) return is_signed ? DType::kI8 : DType::kU8;
  return std::nullopt;
}

std::optional<DType> type_of(const Py_buffer& view) {
  std::string format = view.format == nullptr ? "B" : view.format;
  constexpr char kOrder = std::endian::native == std::endian::little ? '<' : '>';
  if (!format.empty() && (format[0] == '@' || format[0] == '=' || format[0] == kOrder)) {
    format.erase(0, 1);
  }
  if (format.size() != 1) return std::nullopt;
  switch (format[0]) {
    case 'f':
      return DType::kF32;
    case 'd':
      return DType::kF64;
    case 'e':
      return DType::kF16;
    case '?':
      return DType::kBool;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
      return integer_type(true, view.itemsize);
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q':
      return integer_type(false, view.itemsize);
    default:
      return std::nullopt;
  }
}

DType required_type(const Py_buffer& view) {
  const std::optional<DType> dtype = type_of(view);
  if (dtype) return *dtype;
  throw TypeProblem(
      std::string("expected values of float32, float64, float16, int64, int32, int8, uint8 or "
                  "bool, got the format '") +
      (view.format == nullptr ? "" : view.format) +
      "': convert them first, as by .astype('int64')");
}

// Where the first element lies within the memory that the strides reach, and how large that is.
struct Extent {
  std::int64_t before = 0;  // bytes
  std::int64_t size = 0;    // bytes
};
Extent extent_of(const Py_buffer& view) {
  Extent extent{0, view.itemsize};
  for (int i = 0; i < view.ndim; ++i) {
    if (view.shape[i] == 0) return {0, 0};
    const std::int64_t reach = view.strides[i] * (view.shape[i] - 1);
    if (reach < 0) extent.before -= reach;
    extent.size += reach < 0 ? -reach : reach;
  }
  return extent;
}

Array array_of(const std::shared_ptr<BufferView>& owner) {
  const Py_buffer& view = owner->view();
  const DType dtype = required_type(view);
  if (view.ndim > Shape::kDimsMax) {
    throw std::invalid_argument("expected at most " + std::to_string(Shape::kDimsMax) +
                                " axes, got " + std::to_string(view.ndim));
  }
  Shape shape;
  Strides strides;
  bool aligned = reinterpret_cast<std::uintptr_t>(view.buf) % size_of(dtype) == 0;
  for (int i = 0; i < view.ndim; ++i) {
    shape.push_back(view.shape[i]);
    strides.push_back(view.strides[i] / view.itemsize);
    aligned = aligned && view.strides[i] % view.itemsize == 0;
  }
  if (shape.num_elements() == 0) return Array::empty(shape, dtype);
  if (!aligned) throw std::invalid_argument("the memory is not aligned: pass a copy of it");
  const Extent extent = extent_of(view);
  auto storage = Storage::wrap(static_cast<char*>(view.buf) - extent.before,
                               static_cast<std::size_t>(extent.size), owner);
  return Array::on(std::move(storage), extent.before / view.itemsize, shape, strides, dtype);
}

// The leaves of nested lists, in order.
struct Numbers {
  Shape shape;
  std::vector<Scalar> values;
  Scalar::Kind kind = Scalar::Kind::kBool;
  // Tensors and buffers among them, as rows; all or none of the leaves.
  std::vector<Array> rows;
};

void add_leaf(PyObject* object, Numbers& numbers) {
  Scalar number;
  if (load_scalar(object, number)) {
    if (number.kind > numbers.kind) numbers.kind = number.kind;
    numbers.values.push_back(number);
  } else if (is_tensor(object) || PyObject_CheckBuffer(object) != 0) {
    numbers.rows.push_back(array_from(object, std::nullopt));
  } else {
    throw TypeProblem(std::string("expected numbers, lists, tensors or NumPy arrays, got ") +
                      Py_TYPE(object)->tp_name);
  }
}

void collect(PyObject* object, std::size_t depth, Numbers& numbers) {
  if (PyList_Check(object) == 0 && PyTuple_Check(object) == 0) {
    if (static_cast<int>(depth) != numbers.shape.size()) {
      throw std::invalid_argument("[tensor] expected lists of one depth, got a number beside one");
    }
    return add_leaf(object, numbers);
  }
  const Py_ssize_t length = PySequence_Fast_GET_SIZE(object);
  if (depth >= kDepthMax) {
    throw std::invalid_argument("[tensor] expected lists at most " + std::to_string(kDepthMax) +
                                " deep");
  }
  if (static_cast<int>(depth) == numbers.shape.size() && numbers.values.empty() &&
      numbers.rows.empty()) {
    numbers.shape.push_back(length);
  } else if (static_cast<int>(depth) >= numbers.shape.size() ||
             numbers.shape[static_cast<int>(depth)] != length) {
    throw std::invalid_argument("[tensor] expected lists of one length, got one of " +
                                std::to_string(length) + " at depth " + std::to_string(depth));
  }
  for (Py_ssize_t i = 0; i < length; ++i) {
    collect(PySequence_Fast_GET_ITEM(object, i), depth + 1, numbers);
  }
}

DType type_for(Scalar::Kind kind) {
  if (kind == Scalar::Kind::kBool) return DType::kBool;
  return kind == Scalar::Kind::kWhole ? DType::kI64 : default_dtype();
}

Array rows_as_one(const Numbers& numbers) {
  if (!numbers.values.empty()) {
    throw std::invalid_argument("[tensor] expected numbers alone or arrays alone, got both");
  }
  const Array& first = numbers.rows.front();
  Shape shape = numbers.shape;
  for (const std::int64_t length : first.shape()) shape.push_back(length);
  Array result = Array::empty(shape, first.dtype());
  Shape flat = first.shape();
  flat.insert(0, static_cast<std::int64_t>(numbers.rows.size()));
  const Array all = result.reshape(flat);
  for (std::size_t i = 0; i < numbers.rows.size(); ++i) {
    if (numbers.rows[i].shape() != first.shape()) {
      throw std::invalid_argument("[tensor] expected arrays of one shape, got " +
                                  to_string(first.shape()) + " and " +
                                  to_string(numbers.rows[i].shape()));
    }
    all.select(0, static_cast<std::int64_t>(i)).copy_from(numbers.rows[i]);
  }
  return result;
}

Array numbers_as_array(const Numbers& numbers, DType dtype) {
  Array result = Array::empty(numbers.shape, dtype);
  with_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    T* out = result.data<T>();
    for (const Scalar& number : numbers.values) {
      *out++ = number.kind == Scalar::Kind::kReal
                   ? convert_value<T>(number.value)
                   : convert_value<T>(static_cast<std::int64_t>(number.exact));
    }
  });
  return result;
}

}  // namespace

Array array_on(PyObject* buffer, ReadOnly read_only) {
  const auto owner = std::make_shared<BufferView>(buffer);
  if (owner->view().readonly == 0) return array_of(owner);
  if (read_only == ReadOnly::kCopy) return array_of(owner).clone();
  throw std::invalid_argument(
      "[from_numpy] the memory may only be read: pass array.copy(), or use weft.tensor(array)");
}

Array array_from(PyObject* object, std::optional<DType> dtype) {
  if (is_tensor(object)) {
    const Array& array = tensor_of(object).array();
    return array.strided().to(dtype.value_or(array.dtype())).clone();
  }
  if (PyObject_CheckBuffer(object) != 0) {
    const auto owner = std::make_shared<BufferView>(object);
    const Array array = array_of(owner);
    return array.to(dtype.value_or(array.dtype())).clone();
  }
  Numbers numbers;
  collect(object, 0, numbers);
  if (!numbers.rows.empty()) {
    const Array joined = rows_as_one(numbers);
    return joined.to(dtype.value_or(joined.dtype()));
  }
  const DType own = numbers.values.empty() ? default_dtype() : type_for(numbers.kind);
  return numbers_as_array(numbers, dtype.value_or(own));
}

}  // namespace weft::python
