// What the bind_op_*.cpp share: one function of Weft bound as weft.NAME(input, ...) and as
// Tensor.NAME(...), and the forms in which Python gives axes and operands.
#pragma once

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "array/casters.h"
#include "array/scalar.h"
#include "core/direct_call.h"
#include "core/errors.h"
#include "core/gil.h"

namespace weft::python {

// A Tensor, or a number that becomes one beside another operand.
struct Operand {
  pybind11::handle object;
  // REQUIRES: from a caster.
  Tensor beside(const Tensor& x) const {
    return is_number() ? as_tensor(number(), x) : tensor_of(object.ptr());
  }
  // REQUIRES: is_number().
  Scalar number() const {
    Scalar value;
    load_scalar(object.ptr(), value);
    return value;
  }
  bool is_number() const { return !is_tensor(object.ptr()); }
};

// None: all axes; a number: that one.
using OptionalAxes = std::optional<Dims>;
inline std::vector<int> axes_of(const OptionalAxes& dims) {
  std::vector<int> axes;
  if (!dims) return axes;
  for (const std::int64_t axis : *dims) axes.push_back(static_cast<int>(axis));
  return axes;
}

// work() without the GIL if it is about so many elements. The Tensors of a bound function are
// handles of the call's own (casters.h).
template <class Work>
auto released(std::int64_t elements, const Work& work) {
  const Released scope(elements);
  return work();
}

// Binds into a module and onto the class Tensor.
class Definer {
 public:
  explicit Definer(pybind11::module_& module) : module_(module), type_(module.attr("Tensor")) {}

  // As weft.NAME(input, extra...).
  template <class Function, class... Extra>
  void function(const char* name, const Function& body, const Extra&... extra) {
    module_.def(name, body, extra...);
    note_direct_call<Extra...>(module_, name, body);
  }
  // As Tensor.NAME(extra...).
  template <class Function, class... Extra>
  void method(const char* name, const Function& body, const Extra&... extra) {
    type_.attr(name) =
        pybind11::cpp_function(body, pybind11::name(name), pybind11::is_method(type_), extra...);
    note_direct_call<Extra...>(type_, name, body);
  }
  // As both; `extra` are the arguments after the first.
  template <class Function, class... Extra>
  void both(const char* name, const Function& body, const Extra&... extra) {
    function(name, body, pybind11::arg("input"), extra...);
    method(name, body, extra...);
  }

 private:
  pybind11::module_& module_;
  pybind11::object type_;
};

}  // namespace weft::python

namespace pybind11::detail {

template <>
struct type_caster<weft::python::Operand> {
  PYBIND11_TYPE_CASTER(weft::python::Operand, const_name("weft.Tensor | float"));
  bool load(handle source, bool) {
    weft::python::Scalar number;
    if (!source || source.is_none()) return false;
    if (!weft::python::is_tensor(source.ptr()) &&
        !weft::python::load_scalar(source.ptr(), number)) {
      return false;
    }
    value.object = source;
    return true;
  }
};

}  // namespace pybind11::detail
