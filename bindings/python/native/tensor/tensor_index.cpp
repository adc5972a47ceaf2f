// x[i, 1:, ..., None, mask] and x[...] = values, as PyTorch reads them.
//
// Whole numbers (also those in a tensor without axes), slices, None and ... give views. Index
// arrays (Tensors of integers or bool, lists, NumPy arrays) gather from what these leave.
#include <memory>
#include <optional>
#include <vector>

#include "array/casters.h"
#include "array/conversion.h"
#include "array/scalar.h"
#include "core/batched_calls.h"
#include "core/errors.h"
#include "core/gil.h"
#include "tensor/tensor_object.h"
#include "weft/autograd/in_place_history.h"
#include "weft/autograd/op_trace.h"
#include "weft/op/arithmetic.h"
#include "weft/op/create.h"
#include "weft/op/in_place.h"
#include "weft/op/index.h"
#include "weft/op/shape.h"

namespace weft::python {
namespace {

// One entry of an index: `object` is borrowed from the key.
struct Item {
  // kTruth: a mask without axes, which stands for a new axis of length 1, or of 0 where it is
  // false; `array` has the places on it.
  enum class Kind : unsigned char { kWhole, kSlice, kNewAxis, kEllipsis, kArray, kTruth };
  Kind kind = Kind::kWhole;
  std::int64_t whole = 0;
  PyObject* object = nullptr;
  Array array;
  // Axes of the indexed tensor that it stands for.
  int axes() const {
    if (kind == Kind::kNewAxis || kind == Kind::kEllipsis || kind == Kind::kTruth) return 0;
    return kind == Kind::kArray && array.dtype() == DType::kBool ? array.ndim() : 1;
  }
};

Array array_of_index(PyObject* object) {
  if (is_tensor(object)) return tensor_of(object).array();
  if (!PyRange_Check(object)) return array_from(object, std::nullopt);
  const std::unique_ptr<PyObject, void (*)(PyObject*)> list(PySequence_List(object), Py_DecRef);
  if (list == nullptr) throw PythonError();
  return array_from(list.get(), std::nullopt);
}

void make_truth(Item& item) {
  item.kind = Item::Kind::kTruth;
  item.array = Array::zeros({item.array.item() != 0.0 ? 1 : 0}, DType::kI64);
}

Item item_of(PyObject* object) {
  Item item;
  item.object = object;
  if (PyLong_CheckExact(object) != 0) {
    item.whole = PyLong_AsLongLong(object);
    if (item.whole == -1 && PyErr_Occurred() != nullptr) throw PythonError();
  } else if (PySlice_Check(object) != 0) {
    item.kind = Item::Kind::kSlice;
  } else if (object == Py_None) {
    item.kind = Item::Kind::kNewAxis;
  } else if (object == Py_Ellipsis) {
    item.kind = Item::Kind::kEllipsis;
  } else if (is_tensor(object) || PyList_Check(object) != 0 || PyBool_Check(object) != 0 ||
             PyRange_Check(object) || PyObject_CheckBuffer(object) != 0) {
    item.kind = Item::Kind::kArray;
    item.array = array_of_index(object);
    if (is_floating(item.array.dtype()) && item.array.size() == 0) {
      item.array = item.array.to(DType::kI64);  // x[[]]
    }
    if (item.array.ndim() == 0 && is_integer(item.array.dtype())) {
      item.kind = Item::Kind::kWhole;
      item.whole = item.array.item_int();
    }
    if (is_floating(item.array.dtype())) {
      throw std::out_of_range("an index array holds integers or bool, got " +
                              std::string(to_string(item.array.dtype())));
    }
    if (item.array.dtype() == DType::kU8 && (item.array.ndim() > 0 || is_tensor(object))) {
      throw std::out_of_range(
          "an index array of uint8 could mean places or a mask: use .long() or .bool()");
    }
    if (item.array.ndim() == 0 && item.array.dtype() == DType::kBool) {
      make_truth(item);
    } else if (item.array.ndim() == 0) {
      item.kind = Item::Kind::kWhole;
      item.whole = item.array.to(DType::kI64).contiguous().flat<std::int64_t>()[0];
    }
  } else if (PyIndex_Check(object) != 0) {
    item.whole = PyNumber_AsSsize_t(object, PyExc_IndexError);
    if (item.whole == -1 && PyErr_Occurred() != nullptr) throw PythonError();
  } else {
    throw TypeProblem(std::string("an index is made of whole numbers, slices, None, ... and "
                                  "tensors, got ") +
                      Py_TYPE(object)->tp_name);
  }
  return item;
}

// The entries of a key, with ... replaced by as many full slices as it stands for (kEllipsis with
// `whole` axes).
std::vector<Item> items_of(PyObject* key, int ndim) {
  std::vector<Item> items;
  if (PyTuple_Check(key) != 0) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); ++i) {
      items.push_back(item_of(PyTuple_GET_ITEM(key, i)));
    }
  } else {
    items.push_back(item_of(key));
  }
  int axes = 0;
  Item* ellipsis = nullptr;
  for (Item& item : items) {
    axes += item.axes();
    if (item.kind != Item::Kind::kEllipsis) continue;
    if (ellipsis != nullptr) throw std::out_of_range("an index has one ... at most");
    ellipsis = &item;
  }
  if (axes > ndim) {
    throw std::out_of_range("too many indices: expected at most " + std::to_string(ndim) +
                            ", got " + std::to_string(axes));
  }
  if (ellipsis != nullptr) ellipsis->whole = ndim - axes;
  return items;
}

std::optional<std::int64_t> bound(PyObject* object) {
  if (object == Py_None) return std::nullopt;
  const Py_ssize_t value = PyNumber_AsSsize_t(object, nullptr);
  if (value == -1 && PyErr_Occurred() != nullptr) throw PythonError();
  return value;
}

void check_range(std::int64_t index, int axis, std::int64_t length) {
  if (index >= -length && index < length) return;
  throw std::out_of_range("index " + std::to_string(index) + " is out of range for axis " +
                          std::to_string(axis) + " of length " + std::to_string(length));
}

// The steps of an index on whatever is indexed: Arrays where no history is wanted, else Tensors.
struct OnArray {
  static Array slice(const Array& x, int axis, PyObject* range) {
    const auto* const parts = reinterpret_cast<PySliceObject*>(range);
    return x.slice(axis, bound(parts->start), bound(parts->stop), bound(parts->step).value_or(1));
  }
  static Array select(const Array& x, int axis, std::int64_t index) {
    return x.select(axis, index);
  }
  static Array unsqueeze(const Array& x, int axis) { return x.unsqueeze(axis); }
};
struct OnTensor {
  static Tensor slice(const Tensor& x, int axis, PyObject* range) {
    const auto* const parts = reinterpret_cast<PySliceObject*>(range);
    return weft::slice(x, axis, bound(parts->start), bound(parts->stop),
                       bound(parts->step).value_or(1));
  }
  static Tensor select(const Tensor& x, int axis, std::int64_t index) {
    const std::int64_t at = index < 0 ? index + x.dim(axis) : index;
    return squeeze(weft::slice(x, axis, at, at + 1), axis);
  }
  static Tensor unsqueeze(const Tensor& x, int axis) { return weft::unsqueeze(x, axis); }
};

bool has_arrays(const std::vector<Item>& items) {
  for (const Item& item : items) {
    if (item.kind == Item::Kind::kArray || item.kind == Item::Kind::kTruth) return true;
  }
  return false;
}

// Everything but index arrays. `at`, if given, gets the entry of each remaining axis. As in PyTorch
// a whole number takes its axis away first, where NumPy counts it among the index arrays, which
// puts their axes in front where it stands apart from them.
template <class Steps, class Value>
Value basic(Value x, const std::vector<Item>& items, AdvancedIndex* at) {
  int axis = 0;
  for (const Item& item : items) {
    switch (item.kind) {
      case Item::Kind::kWhole:
        check_range(item.whole, axis, x.dim(axis));
        x = Steps::select(x, axis, item.whole);
        break;
      case Item::Kind::kSlice:
        x = Steps::slice(x, axis++, item.object);
        if (at != nullptr) at->emplace_back(std::nullopt);
        break;
      case Item::Kind::kNewAxis:
        x = Steps::unsqueeze(x, axis++);
        if (at != nullptr) at->emplace_back(std::nullopt);
        break;
      case Item::Kind::kEllipsis:
        axis += static_cast<int>(item.whole);
        if (at != nullptr) at->resize(at->size() + static_cast<std::size_t>(item.whole));
        break;
      case Item::Kind::kArray:
        if (at != nullptr) at->emplace_back(item.array);
        axis += item.axes();
        break;
      case Item::Kind::kTruth:
        x = Steps::unsqueeze(x, axis++);
        if (at != nullptr) at->emplace_back(item.array);
        break;
    }
  }
  return x;
}

bool records(const Tensor& x) { return (grad_enabled() && x.requires_grad()) || op_tracing(); }

Tensor indexed(const Tensor& x, const std::vector<Item>& items) {
  if (has_arrays(items)) {
    AdvancedIndex at;
    const Tensor sliced = basic<OnTensor>(x, items, &at);
    const Released scope(sliced.size());
    return index(sliced, at);
  }
  if (records(x)) return basic<OnTensor>(x, items, nullptr);
  return Tensor(basic<OnArray>(x.array(), items, nullptr));
}

PyObject* subscript(PyObject* self, PyObject* key) {
  return guarded([&]() -> PyObject* {
    if (batched_type != nullptr && holds_batched(key)) {
      return call_batched_with("__getitem__", self, key);
    }
    Tensor& x = tensor_of(self);
    lay_out(x);
    const std::vector<Item> items = items_of(key, x.ndim());
    PyObject* const result = wrap(indexed(x, items));
    return has_arrays(items) ? result : noted_view(result, self);
  });
}

Tensor values_for(const Tensor& x, PyObject* object) {
  if (is_tensor(object)) return tensor_of(object);
  Scalar number;
  if (load_scalar(object, number)) {
    return Tensor(as_tensor(number, x).array().to(x.dtype()));
  }
  return Tensor(array_from(object, x.dtype()));
}

// x with the values at the places of an index with arrays: the places are found by indexing their
// numbers.
Tensor assigned(const Tensor& x, const std::vector<Item>& items, const Tensor& values) {
  const std::int64_t count = x.size();
  const Tensor places = indexed(reshape(arange(count), x.shape()), items);
  const Tensor flat = reshape(x, {count});
  const Tensor spread = reshape(expand(cast(values, x.dtype()), places.shape()), {places.size()});
  const AdvancedIndex at = {IndexOperand(reshape(places, {places.size()}))};
  return reshape(index_put(flat, at, spread), x.shape());
}

// Writes into the memory of x, which all its views show.
void assign(PyObject* self, PyObject* key, PyObject* object) {
  const Tensor values = values_for(tensor_of(self), object);
  Tensor& x = target_of(self, values);
  const std::vector<Item> items = items_of(key, x.ndim());
  check_written("setitem", x);
  lay_out(x);
  if (has_arrays(items)) {
    copy_(x, assigned(x, items, values));
  } else {
    write_part_(x, basic<OnArray>(x.array(), items, nullptr), values);
  }
}

int assign_subscript(PyObject* self, PyObject* key, PyObject* value) {
  try {
    if (value == nullptr) throw TypeProblem("elements of a tensor cannot be deleted");
    if (batched_type != nullptr && (holds_batched(key) || holds_batched(value))) {
      refuse_batched();
    }
    assign(self, key, value);
    return 0;
  } catch (...) {
    set_python_error();
    return -1;
  }
}

Py_ssize_t length(PyObject* self) {
  const Tensor& x = tensor_of(self);
  if (x.ndim() > 0) return x.shape()[0];
  PyErr_SetString(PyExc_TypeError, "a tensor without axes has no length");
  return -1;
}

// for row in x; without it Python would ask for x[0], x[1], ... until an IndexError.
PyObject* iterate(PyObject* self) {
  return guarded([&]() -> PyObject* {
    Tensor& x = tensor_of(self);
    lay_out(x);
    if (x.ndim() == 0) throw TypeProblem("a tensor without axes has no rows to go through");
    const std::vector<Tensor> rows = unbind(x);
    PyObject* const list = PyList_New(static_cast<Py_ssize_t>(rows.size()));
    if (list == nullptr) throw PythonError();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), wrap(rows[i]));
    }
    PyObject* const iterator = PyObject_GetIter(list);
    Py_DECREF(list);
    return iterator;
  });
}

}  // namespace

Tensor values_at(const Tensor& x, PyObject* key) { return indexed(x, items_of(key, x.ndim())); }

Tensor slice_at(const Tensor& x, int axis, std::int64_t index) {
  if (x.ndim() == 0) throw std::out_of_range("select() takes no tensor without axes");
  const int at = normalize_axis("select", axis, x.ndim());
  check_range(index, at, x.dim(at));
  if (records(x)) return OnTensor::select(x, at, index);
  return Tensor(OnArray::select(x.array(), at, index));
}

PyType_Slot* index_slots() {
  static PyType_Slot slots[] = {{Py_mp_subscript, reinterpret_cast<void*>(subscript)},
                                {Py_mp_ass_subscript, reinterpret_cast<void*>(assign_subscript)},
                                {Py_mp_length, reinterpret_cast<void*>(length)},
                                {Py_tp_iter, reinterpret_cast<void*>(iterate)},
                                {0, nullptr}};
  return slots;
}

}  // namespace weft::python
