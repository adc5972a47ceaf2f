// Functions without a kernel of their own, operations on bits, and hooks of tensors.
#include "core/define.h"
#include "core/module.h"
#include "op/bitwise.h"
#include "op/special_functions.h"
#include "weft/autograd/tensor.h"
#include "weft/base/parallel.h"

namespace weft::python {
namespace {

namespace py = pybind11;

void bind_bits(Definer& define) {
  constexpr std::pair<const char*, BitOperation> kOperations[] = {
      {"bitwise_and", BitOperation::kAnd},           {"bitwise_or", BitOperation::kOr},
      {"bitwise_xor", BitOperation::kXor},           {"bitwise_left_shift", BitOperation::kLeft},
      {"bitwise_right_shift", BitOperation::kRight},
  };
  for (const auto& [name, operation] : kOperations) {
    define.both(
        name,
        [operation = operation](const Tensor& x, const Operand& other) {
          const Tensor y = other.beside(x);
          return released(std::max(x.size(), y.size()), [&] { return bitwise(operation, x, y); });
        },
        py::arg("other"), "The operation on each bit of whole numbers, or on truths.");
  }
  define.both("bitwise_not", &bitwise_not, "Each bit of whole numbers, or each truth, inverted.");
}

Tensor call_hook(const std::shared_ptr<PyObject>& hook, const Tensor& gradient) {
  const py::gil_scoped_acquire acquired;
  const py::object given = py::handle(hook.get())(gradient);
  return given.is_none() ? Tensor() : required_tensor(given);
}

}  // namespace

void bind_op_special(py::module_& module) {
  Definer define(module);
  bind_bits(define);
  module.def(
      "_special",
      [](const std::string& name, const Tensor& x) {
        return released(x.size(), [&] { return special(name, x); });
      },
      py::arg("name"), py::arg("input"));
  module.def(
      "_special_of_two",
      [](const std::string& name, const Tensor& a, const Tensor& b) {
        return released(std::max(a.size(), b.size()), [&] { return special_of_two(name, a, b); });
      },
      py::arg("name"), py::arg("input"), py::arg("other"));
  module.def(
      "_nextafter",
      [](const Tensor& a, const Tensor& b) {
        return released(std::max(a.size(), b.size()), [&] { return next_after(a, b); });
      },
      py::arg("input"), py::arg("other"));
  py::class_<HookHandle>(module, "_HookHandle").def("remove", &HookHandle::remove);
  define.method(
      "_register_hook",
      [](const Tensor& x, const py::function& hook) {
        return x.register_hook([kept = keep(hook.ptr())](const Tensor& gradient) {
          return call_hook(kept, gradient);
        });
      },
      py::arg("hook"));
  module.def("set_num_threads", &set_thread_count, py::arg("count"),
             "How many threads compute: at least 1.");
  module.def("get_num_threads", &thread_count, "How many threads compute.");
}

}  // namespace weft::python
