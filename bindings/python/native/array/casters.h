// How pybind11 takes and gives Weft's values: Tensor as weft.Tensor, Shape as a tuple, DType as
// weft.float32 and its like. Every bind_*.cpp includes this.
//
// A `const Tensor&` refuses None (TypeError); what may be absent is a std::optional<Tensor>.
#pragma once

#include <pybind11/functional.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "array/dtype_object.h"
#include "core/errors.h"
#include "tensor/tensor_object.h"
#include "weft/array/shape/shape.h"
#include "weft/autograd/in_place_history.h"
#include "weft/autograd/op_trace.h"
#include "weft/autograd/tensor.h"

namespace weft::python {

// The handle in a Tensor of Python, to be read or changed. Throws TypeProblem for anything else.
inline Tensor& required_tensor(const pybind11::handle& object) {
  if (object && is_tensor(object.ptr())) return tensor_of(object.ptr());
  throw TypeProblem(std::string("expected a weft.Tensor, got ") +
                    (object ? Py_TYPE(object.ptr())->tp_name : "nothing"));
}

// The first argument of what shows the memory of a tensor: views of blocked memory
// (weft/array/shape/memory_format.h) would be copies, so the object's own handle is laid out
// plainly before. Then writes are seen by all.
struct Viewed {
  Tensor tensor;
  PyObject* object = nullptr;  // borrowed
};
// A view of it, which is noted as one.
struct ViewOf {
  Tensor tensor;
  PyObject* object = nullptr;
};
inline void lay_out(Tensor& tensor) {
  if (tensor.array().is_strided()) return;
  Tensor plain = with_history_of(tensor, tensor.array().strided());
  trace_same(plain, tensor);
  tensor = std::move(plain);
}
// f(x, ...) as a function of the object's handle.
template <class Result, class... Arguments>
auto of_viewed(Result (*f)(const Tensor&, Arguments...)) {
  return [f](const Viewed& x, Arguments... arguments) -> Result {
    return f(x.tensor, static_cast<Arguments&&>(arguments)...);
  };
}
template <class Lambda>
requires(!std::is_pointer_v<Lambda>) auto of_viewed(const Lambda& f) { return of_viewed(+f); }
// The same where the result is a view.
template <class... Arguments>
auto view_of(Tensor (*f)(const Tensor&, Arguments...)) {
  return [f](const Viewed& x, Arguments... arguments) {
    return ViewOf{f(x.tensor, static_cast<Arguments&&>(arguments)...), x.object};
  };
}
template <class Lambda>
requires(!std::is_pointer_v<Lambda>) auto view_of(const Lambda& f) { return view_of(+f); }

}  // namespace weft::python

namespace pybind11::detail {

template <>
struct type_caster<weft::Tensor> {
  static constexpr auto name = const_name("weft.Tensor");
  template <class>
  using cast_op_type = const weft::Tensor&;
  operator const weft::Tensor&() const { return value_; }  // NOLINT(google-explicit-constructor)
  bool load(handle source, bool) {
    if (!source || !weft::python::is_tensor(source.ptr())) return false;
    const weft::Tensor& tensor = weft::python::tensor_of(source.ptr());
    weft::update_history(tensor, nullptr);
    value_ = tensor;
    return true;
  }
  static handle cast(weft::Tensor tensor, return_value_policy, handle) {
    return weft::python::wrap(std::move(tensor));
  }

 private:
  // A handle of its own: while the call runs without the GIL, another thread may give the object
  // another one.
  weft::Tensor value_;
};

template <>
struct type_caster<weft::python::Viewed> {
  static constexpr auto name = const_name("weft.Tensor");
  template <class>
  using cast_op_type = const weft::python::Viewed&;
  operator const weft::python::Viewed&() const {  // NOLINT(google-explicit-constructor)
    return value_;
  }
  bool load(handle source, bool) {
    if (!source || !weft::python::is_tensor(source.ptr())) return false;
    weft::Tensor& tensor = weft::python::tensor_of(source.ptr());
    weft::update_history(tensor, nullptr);
    weft::python::lay_out(tensor);
    value_ = {tensor, source.ptr()};
    return true;
  }

 private:
  weft::python::Viewed value_;
};

template <>
struct type_caster<weft::python::ViewOf> {
  static constexpr auto name = const_name("weft.Tensor");
  static handle cast(weft::python::ViewOf view, return_value_policy, handle) {
    return weft::python::noted_view(weft::python::wrap(std::move(view.tensor)), view.object);
  }
};

// A list or tuple of whole numbers; one whole number is a shape of one axis.
template <>
struct type_caster<weft::Dims> {
  PYBIND11_TYPE_CASTER(weft::Dims, const_name("Sequence[int]"));
  bool load(handle source, bool) {
    if (!source || source.is_none()) return false;
    if (PyLong_Check(source.ptr()) != 0) return push(source);
    if (PyTuple_Check(source.ptr()) == 0 && PyList_Check(source.ptr()) == 0) return false;
    for (const handle size : reinterpret_borrow<sequence>(source)) {
      if (!push(size)) return false;
    }
    return true;
  }
  static handle cast(const weft::Dims& dims, return_value_policy, handle) {
    tuple result(static_cast<std::size_t>(dims.size()));
    for (int i = 0; i < dims.size(); ++i) result[static_cast<std::size_t>(i)] = dims[i];
    return result.release();
  }

 private:
  bool push(handle size) {
    make_caster<std::int64_t> whole;
    if (!whole.load(size, false)) return false;
    value.push_back(cast_op<std::int64_t>(whole));
    return true;
  }
};

template <>
struct type_caster<weft::DType> {
  PYBIND11_TYPE_CASTER(weft::DType, const_name("weft.dtype"));
  bool load(handle source, bool) { return weft::python::load_dtype(source.ptr(), value); }
  static handle cast(weft::DType dtype, return_value_policy, handle) {
    return handle(weft::python::dtype_object(dtype)).inc_ref();
  }
};

}  // namespace pybind11::detail
