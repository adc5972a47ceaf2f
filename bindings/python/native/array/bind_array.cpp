// Making Tensors: of numbers, of NumPy's and other frameworks' memory, of nothing.
#include <pybind11/pybind11.h>

#include "array/casters.h"
#include "array/conversion.h"
#include "array/dlpack.h"
#include "array/scalar.h"
#include "core/errors.h"
#include "core/module.h"
#include "weft/autograd/op_trace.h"
#include "weft/op/create.h"

namespace weft::python {
namespace {

namespace py = pybind11;
using OptionalType = std::optional<DType>;

Tensor leaf(Array array, bool requires_grad) { return Tensor(std::move(array), requires_grad); }
// What is made of numbers alone.
Tensor made_leaf(Array array, bool requires_grad) {
  return trace_constant(leaf(std::move(array), requires_grad));
}

Tensor make_tensor(const py::object& data, OptionalType dtype, bool requires_grad) {
  if (data.is_none()) throw TypeProblem("tensor() expects numbers, lists or arrays, got None");
  return leaf(array_from(data.ptr(), dtype), requires_grad);
}

// Shares memory where it can be written and has the type; `copy` says whether it must or must not.
Tensor as_tensor_of(const py::object& data, OptionalType dtype, std::optional<bool> copy) {
  PyObject* const object = data.ptr();
  const bool shares = is_tensor(object) || PyObject_CheckBuffer(object) != 0;
  if (!shares && copy == std::optional(false)) {
    throw std::invalid_argument("[asarray] only memory can be had without a copy: got a list");
  }
  if (!shares || copy == std::optional(true)) return make_tensor(data, dtype, false);
  const Array array = is_tensor(object)
                          ? tensor_of(object).array()
                          : array_on(object, copy ? ReadOnly::kRefuse : ReadOnly::kCopy);
  if (dtype && *dtype != array.dtype()) {
    if (copy) throw std::invalid_argument("[asarray] another type cannot be had without a copy");
    return Tensor(array.to(*dtype));
  }
  return is_tensor(object) ? tensor_of(object) : Tensor(array);
}

// zeros(2, 3) and zeros((2, 3)).
Shape shape_of(const py::args& sizes) {
  const py::handle source =
      sizes.size() == 1 && !PyLong_Check(sizes[0].ptr()) ? py::handle(sizes[0]) : py::handle(sizes);
  py::detail::make_caster<Shape> caster;
  if (!caster.load(source, false)) {
    throw TypeProblem("expected sizes as whole numbers, got " +
                      std::string(py::str(py::object(sizes))));
  }
  const Shape shape = py::detail::cast_op<Shape>(caster);
  for (const std::int64_t size : shape) {
    if (size < 0) throw std::invalid_argument("expected sizes >= 0, got " + to_string(shape));
  }
  return shape;
}

Scalar number_of(const py::object& object) {
  Scalar number;
  if (!load_scalar(object.ptr(), number)) {
    throw TypeProblem(std::string("expected a number, got ") + Py_TYPE(object.ptr())->tp_name);
  }
  return number;
}

DType array_type_for(const Scalar& number) {
  if (number.kind == Scalar::Kind::kBool) return DType::kBool;
  return number.kind == Scalar::Kind::kWhole ? DType::kI64 : default_dtype();
}

Tensor make_full(const Shape& shape, const py::object& value, OptionalType dtype,
                 bool requires_grad) {
  const Scalar number = number_of(value);
  if (!number.is_exact() && dtype.value_or(DType::kI64) == DType::kI64) {
    const Array one = Array::from(std::vector<std::int64_t>{number.exact}, {});
    return made_leaf(one.expand(shape).clone(), requires_grad);
  }
  return made_leaf(Array::full(shape, number.value, dtype.value_or(array_type_for(number))),
                   requires_grad);
}

// arange(stop), arange(start, stop), arange(start, stop, step): i64 of whole numbers, else f32.
Tensor make_arange(const py::object& first, const py::object& second, const py::object& step,
                   OptionalType dtype, bool requires_grad) {
  const bool one = second.is_none();
  const Scalar start = one ? Scalar{Scalar::Kind::kWhole, 0.0, 0} : number_of(first);
  const Scalar stop = number_of(one ? first : second);
  const Scalar by = number_of(step);
  const bool whole = start.kind != Scalar::Kind::kReal && stop.kind != Scalar::Kind::kReal &&
                     by.kind != Scalar::Kind::kReal;
  const DType type = dtype.value_or(whole ? DType::kI64 : default_dtype());
  if (whole && type == DType::kI64) {
    return made_leaf(arange_whole(start.exact, stop.exact, by.exact).array(), requires_grad);
  }
  return made_leaf(arange(start.value, stop.value, by.value, type).array(), requires_grad);
}

// The bytes of a buffer as elements of a type, on its memory where that can be written.
Tensor elements_of_bytes(const py::object& buffer, DType dtype) {
  if (PyObject_CheckBuffer(buffer.ptr()) == 0) throw TypeProblem("expected a buffer of bytes");
  Array bytes = array_on(buffer.ptr(), ReadOnly::kCopy);
  const auto width = static_cast<std::int64_t>(size_of(dtype));
  if (bytes.dtype() != DType::kU8 || bytes.ndim() != 1 || bytes.size() % width != 0) {
    throw std::invalid_argument("[from_bytes] expected whole elements as bytes, got " +
                                std::to_string(bytes.size_bytes()) + " bytes");
  }
  if (bytes.size() == 0) return Tensor(Array::empty(Shape{0}, dtype));
  const auto address = reinterpret_cast<std::uintptr_t>(bytes.raw_data());
  if (!bytes.is_contiguous() || address % size_of(dtype) != 0 || bytes.offset() % width != 0) {
    bytes = bytes.contiguous().clone();
  }
  return Tensor(Array::on(bytes.storage(), bytes.offset() / width, Shape{bytes.size() / width},
                          Strides{1}, dtype));
}

void bind_sized_arrays(py::module_& module) {
  const auto sized = [&module](const char* name, double value, const char* documentation) {
    module.def(
        name,
        [value](const py::args& size, OptionalType dtype, bool requires_grad) {
          return made_leaf(Array::full(shape_of(size), value, dtype.value_or(default_dtype())),
                           requires_grad);
        },
        py::kw_only(), py::arg("dtype") = py::none(), py::arg("requires_grad") = false,
        documentation);
  };
  sized("zeros", 0.0, "zeros(*size, dtype=float32): a tensor of that shape, all 0.");
  sized("ones", 1.0, "ones(*size, dtype=float32): a tensor of that shape, all 1.");
  module.def(
      "empty",
      [](const py::args& size, OptionalType dtype, bool requires_grad) {
        return leaf(Array::empty(shape_of(size), dtype.value_or(default_dtype())), requires_grad);
      },
      py::kw_only(), py::arg("dtype") = py::none(), py::arg("requires_grad") = false,
      "empty(*size, dtype=float32): a tensor of that shape whose values are not set.");
  const auto like = [&module](const char* name, double value, const char* documentation) {
    module.def(
        name,
        [value](const Tensor& x, OptionalType dtype, bool requires_grad) {
          return made_leaf(Array::full(x.shape(), value, dtype.value_or(x.dtype())), requires_grad);
        },
        py::arg("input"), py::kw_only(), py::arg("dtype") = py::none(),
        py::arg("requires_grad") = false, documentation);
  };
  module.def(
      "empty_like",
      [](const Tensor& x, OptionalType dtype, bool requires_grad) {
        return leaf(Array::empty(x.shape(), dtype.value_or(x.dtype())), requires_grad);
      },
      py::arg("input"), py::kw_only(), py::arg("dtype") = py::none(),
      py::arg("requires_grad") = false,
      "A tensor of the shape and type of `input` whose values are not set.");
  like("zeros_like", 0.0, "Zeros of the shape and type of `input`.");
  like("ones_like", 1.0, "Ones of the shape and type of `input`.");
}

void bind_made_of_numbers(py::module_& module) {
  module.def("full", make_full, py::arg("size"), py::arg("fill_value"), py::kw_only(),
             py::arg("dtype") = py::none(), py::arg("requires_grad") = false,
             "A tensor of that shape with one value everywhere.");
  module.def(
      "full_like",
      [](const Tensor& x, const py::object& value, OptionalType dtype, bool requires_grad) {
        return make_full(x.shape(), value, dtype.value_or(x.dtype()), requires_grad);
      },
      py::arg("input"), py::arg("fill_value"), py::kw_only(), py::arg("dtype") = py::none(),
      py::arg("requires_grad") = false, "One value everywhere, of the shape and type of `input`.");
  module.def("arange", make_arange, py::arg("start"), py::arg("end") = py::none(),
             py::arg("step") = 1, py::kw_only(), py::arg("dtype") = py::none(),
             py::arg("requires_grad") = false,
             "start, start + step, ... up to but without end; arange(end) begins at 0.");
  module.def(
      "linspace",
      [](double start, double end, std::int64_t steps, OptionalType dtype, bool requires_grad) {
        const Tensor made = linspace(start, end, steps, dtype.value_or(default_dtype()));
        return made_leaf(made.array(), requires_grad);
      },
      py::arg("start"), py::arg("end"), py::arg("steps"), py::kw_only(),
      py::arg("dtype") = py::none(), py::arg("requires_grad") = false,
      "`steps` values at equal distances, both ends included.");
  module.def(
      "eye",
      [](std::int64_t n, std::optional<std::int64_t> m, OptionalType dtype, bool requires_grad) {
        return made_leaf(eye(n, m.value_or(-1), dtype.value_or(default_dtype())).array(),
                         requires_grad);
      },
      py::arg("n"), py::arg("m") = py::none(), py::kw_only(), py::arg("dtype") = py::none(),
      py::arg("requires_grad") = false, "[n, m] with 1 on the diagonal.");
}

}  // namespace

void bind_array(py::module_& module) {
  module.def("get_default_dtype", &default_dtype,
             "The type of what is made of real numbers where none is given.");
  module.def(
      "set_default_dtype",
      [](DType d) {
        if (!is_floating(d)) {
          throw TypeProblem(std::string("only floating types can be the default, got weft.") +
                            dtype_name(d));
        }
        set_default_dtype(d);
      },
      py::arg("d"), "Chooses the type of what is made of real numbers where none is given.");
  module.def("promote_types", &promote_types, py::arg("type1"), py::arg("type2"),
             "The type that holds the values of both.");
  module.def("tensor", make_tensor, py::arg("data"), py::kw_only(), py::arg("dtype") = py::none(),
             py::arg("requires_grad") = false,
             "A tensor with a copy of numbers, nested lists, a NumPy array or a tensor.");
  module.def("asarray", as_tensor_of, py::arg("obj"), py::kw_only(), py::arg("dtype") = py::none(),
             py::arg("copy") = py::none(),
             "The same, sharing memory where that is possible; copy=True never shares, copy=False "
             "raises where it would have to copy.");
  module.def(
      "from_numpy",
      [](const py::object& array) {
        if (PyObject_CheckBuffer(array.ptr()) == 0) {
          throw TypeProblem(std::string("from_numpy() expects a NumPy array, got ") +
                            Py_TYPE(array.ptr())->tp_name);
        }
        return Tensor(array_on(array.ptr(), ReadOnly::kRefuse));
      },
      py::arg("array"),
      "A tensor on the memory of a NumPy array, which it keeps alive. Read-only arrays are "
      "refused.");
  module.def("from_dlpack", tensor_from_dlpack, py::arg("ext_tensor"),
             "A tensor on the memory of another framework's array, by its __dlpack__().");
  module.def("_from_bytes", elements_of_bytes, py::arg("buffer"), py::arg("dtype"));
  module.def("_to_dlpack", tensor_to_dlpack, py::arg("tensor"));
  bind_sized_arrays(module);
  bind_made_of_numbers(module);
}

}  // namespace weft::python
