// The properties and methods of weft.Tensor that have to do with gradients, memory and types.
#include "array/casters.h"
#include "array/size_object.h"
#include "core/direct_call.h"
#include "core/errors.h"
#include "core/gil.h"
#include "core/module.h"
#include "weft/autograd/backward.h"
#include "weft/autograd/history_name.h"
#include "weft/op/arithmetic.h"
#include "weft/op/shape.h"

namespace weft::python {
namespace {

namespace py = pybind11;

template <class Function, class... Extra>
void tensor_method(const py::object& type, const char* name, const Function& function,
                   const Extra&... extra) {
  type.attr(name) = py::cpp_function(function, py::name(name), py::is_method(type), extra...);
  note_direct_call<Extra...>(type, name, function);
}

template <class Get>
void property(const py::object& type, const char* name, const Get& get, const py::object& set,
              const char* documentation) {
  DirectCall* const call = direct_call_of(get, py::cpp_function(get, py::is_method(type)).ptr());
  add_getter(type, name, call, set, documentation);
}
template <class Get>
void property(const py::object& type, const char* name, const Get& get, const char* documentation) {
  property(type, name, get, py::object(), documentation);
}
template <class Get, class Set>
void property(const py::object& type, const char* name, const Get& get, const Set& set,
              const char* documentation) {
  property(type, name, get, py::object(py::cpp_function(set, py::is_method(type))), documentation);
}

py::object item(const Tensor& x) {
  if (x.dtype() == DType::kBool) return py::bool_(x.item() != 0.0);
  if (is_floating(x.dtype())) return py::float_(x.item());
  return py::int_(x.array().item_int());
}

template <class T>
py::object number(T value) {
  if constexpr (std::is_same_v<T, bool>) {
    return py::bool_(value);
  } else if constexpr (std::is_integral_v<T>) {
    return py::int_(value);
  } else {
    return py::float_(static_cast<double>(value));
  }
}

// The axes from `axis` on, of the values from `next` on, which is moved behind them.
template <class T>
py::object nested_lists(const Shape& shape, int axis, const T*& next) {
  if (axis == shape.size()) return number(*next++);
  const std::int64_t count = shape[axis];
  py::list list(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    PyList_SET_ITEM(list.ptr(), i, nested_lists(shape, axis + 1, next).release().ptr());
  }
  return list;
}

py::object as_list(const Array& x) {
  const Array dense = x.strided().contiguous();
  return with_dtype(dense.dtype(), [&](auto zero) {
    const auto* next = dense.data<decltype(zero)>();
    return nested_lists(dense.shape(), 0, next);
  });
}

// What an attribute is set to, as PyTorch names the argument of a call.
[[noreturn]] void refuse_value(const std::string& attribute, const char* expected,
                               const py::handle& got) {
  throw TypeProblem(attribute + " must be " + expected + ", got " + Py_TYPE(got.ptr())->tp_name);
}

void set_data(const py::handle& self, const Tensor& data) {
  Tensor& x = required_tensor(self);
  if (!x.is_leaf()) throw std::invalid_argument("[data] expected a leaf");
  x = Tensor(data.array(), x.requires_grad());
}

void set_data_of_any(const py::handle& self, const py::object& value) {
  if (!is_tensor(value.ptr())) refuse_value("data", "a weft.Tensor", value);
  set_data(self, tensor_of(value.ptr()));
}

void run_backward(const Tensor& x, const std::optional<Tensor>& gradient, bool retain_graph,
                  bool create_graph) {
  BackwardOptions options;
  if (gradient) options.gradient = gradient->array();
  options.keep_graph = retain_graph || create_graph;
  options.create_graph = create_graph;
  const Tensor output = x;
  const py::gil_scoped_release released;
  backward(output, GradientSink(), options);
}

void bind_gradients(const py::object& type) {
  property(
      type, "_history_name",
      [](const Tensor& x) -> py::object {
        const char* const name = history_name(x);
        return name == nullptr ? py::object(py::none()) : py::object(py::str(name));
      },
      "The operation that made this; None of leaves.");
  property(type, "data", of_viewed([](const Tensor& x) { return Tensor(x.array()); }),
           set_data_of_any, "The same memory without history.");
  tensor_method(type, "detach", of_viewed([](const Tensor& x) { return x.detach(); }),
                "The same memory without history.");
  tensor_method(
      type, "retain_grad", [](const py::handle& self) { required_tensor(self).retain_grad(); },
      "Keeps the gradient of an operation's output in .grad, too.");
  tensor_method(type, "backward", run_backward, py::arg("gradient") = py::none(),
                py::arg("retain_graph") = false, py::arg("create_graph") = false,
                "Adds the gradients of this to the .grad of the leaves it was made of.");
  tensor_method(
      type, "requires_grad_",
      [](const py::object& self, bool on) {
        set_requires_grad(required_tensor(self), on);
        return self;
      },
      py::arg("requires_grad") = true, "Sets requires_grad and returns the tensor.");
  tensor_method(
      type, "_assign",
      [](const py::handle& self, const Tensor& other) { required_tensor(self) = other; },
      py::arg("other").none(false));
}

Tensor with_axes_reversed(const Tensor& x) {
  std::vector<int> axes;
  for (int axis = x.ndim() - 1; axis >= 0; --axis) axes.push_back(axis);
  return permute(x, axes);
}

py::object size_of_tensor(const Tensor& x) {
  auto size = py::reinterpret_steal<py::object>(size_object(x.shape()));
  if (!size) throw py::error_already_set();
  return size;
}

void bind_facts(const py::object& type) {
  property(type, "T", view_of(with_axes_reversed), "The axes in the opposite order.");
  property(type, "mT", view_of([](const Tensor& x) { return transpose(x, -2, -1); }),
           "The last two axes swapped.");
  tensor_method(
      type, "size",
      [](const Tensor& x, std::optional<int> dim) -> py::object {
        if (dim) return py::int_(x.dim(*dim));
        return size_of_tensor(x);
      },
      py::arg("dim") = py::none(), "The shape, or the length of one axis.");
  tensor_method(
      type, "stride",
      [](const Tensor& x, std::optional<int> dim) -> py::object {
        const Shape steps(x.array().strided().strides());
        if (dim) return py::int_(steps[normalize_axis("stride", *dim, x.ndim())]);
        return py::cast(steps);
      },
      py::arg("dim") = py::none(),
      "Elements from one index of each axis, or of `dim`, to the next.");
  tensor_method(type, "storage_offset",
                of_viewed([](const Tensor& x) { return x.array().offset(); }),
                "Elements before the first one in its memory.");
  tensor_method(
      type, "is_contiguous", [](const Tensor& x) { return x.array().is_contiguous(); },
      "Whether the elements lie row by row without gaps.");
  tensor_method(
      type, "element_size", [](const Tensor& x) { return size_of(x.dtype()); },
      "Bytes of one element.");
  tensor_method(type, "data_ptr", of_viewed([](const Tensor& x) {
                  return reinterpret_cast<std::uintptr_t>(x.array().raw_data());
                }),
                "The address of the first element.");
  tensor_method(
      type, "is_floating_point", [](const Tensor& x) { return is_floating(x.dtype()); },
      "Whether the elements hold fractions.");
  tensor_method(type, "item", item, "The only element as a number of Python.");
  tensor_method(
      type, "tolist", [](const Tensor& x) { return as_list(x.array()); },
      "Nested lists of numbers.");
}

}  // namespace

void bind_tensor(py::module_& module) {
  const py::object type = module.attr("Tensor");
  bind_gradients(type);
  bind_facts(type);
  tensor_method(
      type, "clone",
      [](const Tensor& x) {
        const bool plain = !x.requires_grad() || !grad_enabled();
        return plain ? Tensor(x.array().clone()) : mul(x, 1.0);
      },
      "A copy, through which gradients pass.");
  module.def("_in_place", direct_in_place, py::arg("name"), py::arg("otherwise"),
             py::arg("truths"));
  tensor_method(type, "_cast",
                of_viewed([](const Tensor& x, DType dtype) { return cast(x, dtype); }));
  tensor_method(type, "_strided", of_viewed([](const Tensor& x) { return Tensor(x.array()); }));
}

}  // namespace weft::python
