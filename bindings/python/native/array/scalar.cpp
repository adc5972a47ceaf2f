#include "array/scalar.h"

#include <memory>

#include "array/dtype_object.h"
#include "core/errors.h"
#include "tensor/tensor_object.h"
#include "weft/autograd/op_trace.h"
#include "weft/op/arithmetic.h"

namespace weft::python {
namespace {

constexpr long long kWholeInDoubleMax = 1LL << 53;

void load_whole(PyObject* object, Scalar& scalar) {
  const long long whole = PyLong_AsLongLong(object);
  if (whole == -1 && PyErr_Occurred() != nullptr) throw PythonError();
  scalar = {Scalar::Kind::kWhole, static_cast<double>(whole), whole};
}

void load_real(PyObject* object, Scalar& scalar) {
  const double real = PyFloat_AsDouble(object);
  if (real == -1.0 && PyErr_Occurred() != nullptr) throw PythonError();
  scalar = {Scalar::Kind::kReal, real, 0};
}

// NumPy's numbers; not arrays and Tensors, which have nb_float too.
bool load_foreign(PyObject* object, Scalar& scalar) {
  const PyNumberMethods* const methods = Py_TYPE(object)->tp_as_number;
  if (methods == nullptr || is_tensor(object) || PySequence_Check(object) != 0) return false;
  if (methods->nb_index != nullptr) {
    PyObject* const whole = PyNumber_Index(object);
    if (whole == nullptr) throw PythonError();
    const std::unique_ptr<PyObject, void (*)(PyObject*)> owner(whole, Py_DecRef);
    load_whole(whole, scalar);
    return true;
  }
  if (methods->nb_float == nullptr) return false;
  load_real(object, scalar);
  return true;
}

}  // namespace

bool Scalar::is_exact() const {
  return kind != Kind::kWhole || (exact <= kWholeInDoubleMax && exact >= -kWholeInDoubleMax);
}

bool load_scalar(PyObject* object, Scalar& scalar) {
  if (PyFloat_CheckExact(object) != 0) {
    scalar = {Scalar::Kind::kReal, PyFloat_AS_DOUBLE(object), 0};
  } else if (PyBool_Check(object) != 0) {
    scalar = {Scalar::Kind::kBool, object == Py_True ? 1.0 : 0.0, object == Py_True ? 1 : 0};
  } else if (PyLong_Check(object) != 0) {
    load_whole(object, scalar);
  } else if (PyFloat_Check(object) != 0) {
    load_real(object, scalar);
  } else {
    return load_foreign(object, scalar);
  }
  return true;
}

Tensor beside(const Tensor& x, const Scalar& scalar) {
  if (scalar.kind == Scalar::Kind::kReal && !is_floating(x.dtype()))
    return cast(x, default_dtype());
  return x;
}

namespace {
Tensor plain_tensor(const Scalar& scalar, const Tensor& x) {
  if (scalar.kind == Scalar::Kind::kBool) {
    return Tensor(Array::full({}, scalar.value, DType::kBool));
  }
  if (scalar.kind == Scalar::Kind::kReal || is_floating(x.dtype())) {
    return Tensor(
        Array::full({}, scalar.value, is_floating(x.dtype()) ? x.dtype() : default_dtype()));
  }
  const std::int64_t whole = scalar.exact;
  const Array wide = Array::from(std::span<const std::int64_t>(&whole, 1), {});
  if (x.ndim() > 0 || x.dtype() == DType::kBool) return Tensor(wide);
  // Two values without axes would become the wider type, i64; a plain number widens nothing that
  // holds it.
  const Array narrow = wide.to(x.dtype());
  return Tensor(narrow.item_int() == whole ? narrow : wide);
}
}  // namespace

Tensor as_tensor(const Scalar& scalar, const Tensor& x) {
  return trace_constant(plain_tensor(scalar, x));
}

}  // namespace weft::python
