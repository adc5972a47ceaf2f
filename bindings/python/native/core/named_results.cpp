#include "core/named_results.h"

#include <array>
#include <iterator>
#include <string_view>
#include <utility>

#include "structmember.h"
#include "tensor/tensor_object.h"

namespace weft::python {
namespace {

namespace py = pybind11;

constexpr const char* kModule = "weft.return_types.";

// The name of a function and those of its results.
struct ReturnType {
  const char* name;  // with the module, as Python shows it
  std::array<const char*, 3> fields;
};
constexpr ReturnType kReturnTypes[] = {
    {"weft.return_types.max", {"values", "indices"}},
    {"weft.return_types.min", {"values", "indices"}},
    {"weft.return_types.sort", {"values", "indices"}},
    {"weft.return_types.topk", {"values", "indices"}},
    {"weft.return_types.median", {"values", "indices"}},
    {"weft.return_types.nanmedian", {"values", "indices"}},
    {"weft.return_types.mode", {"values", "indices"}},
    {"weft.return_types.kthvalue", {"values", "indices"}},
    {"weft.return_types.cummax", {"values", "indices"}},
    {"weft.return_types.cummin", {"values", "indices"}},
    {"weft.return_types.aminmax", {"min", "max"}},
    {"weft.return_types.frexp", {"mantissa", "exponent"}},
    {"weft.return_types.slogdet", {"sign", "logabsdet"}},
    {"weft.return_types.qr", {"Q", "R"}},
    {"weft.return_types.svd", {"U", "S", "V"}},
    {"weft.return_types.histogram", {"hist", "bin_edges"}},
    {"weft.return_types.triangular_solve", {"solution", "cloned_coefficient"}},
    {"weft.return_types.linalg_cholesky_ex", {"L", "info"}},
    {"weft.return_types.linalg_inv_ex", {"inverse", "info"}},
    {"weft.return_types.linalg_lu", {"P", "L", "U"}},
    {"weft.return_types.linalg_lu_factor", {"LU", "pivots"}},
    {"weft.return_types.linalg_slogdet", {"sign", "logabsdet"}},
    {"weft.return_types.linalg_eigh", {"eigenvalues", "eigenvectors"}},
    {"weft.return_types.linalg_qr", {"Q", "R"}},
    {"weft.return_types.linalg_svd", {"U", "S", "Vh"}},
};

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): live as long as the process.
constinit std::array<PyTypeObject*, std::size(kReturnTypes)> return_types = {};

std::size_t place_of(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kReturnTypes); ++i) {
    if (std::string_view(kReturnTypes[i].name).substr(std::string_view(kModule).size()) == name) {
      return i;
    }
  }
  throw py::key_error("no return type " + std::string(name));
}

// "weft.return_types.max(\nvalues=tensor(3.),\nindices=tensor(0))".
PyObject* represent_results(PyObject* self) {
  const PyTypeObject* const type = Py_TYPE(self);
  try {
    std::string text = std::string(type->tp_name) + "(\n";
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self); ++i) {
      if (i > 0) text += ",\n";
      text += std::string(type->tp_members[i].name) + "=" +
              std::string(py::repr(PyTuple_GET_ITEM(self, i)));
    }
    return PyUnicode_FromString((text + ")").c_str());
  } catch (py::error_already_set& error) {
    error.restore();
    return nullptr;
  }
}

PyTypeObject* make_return_type(const ReturnType& row) {
  PyStructSequence_Field fields[4] = {};
  int count = 0;
  for (const char* const field : row.fields) {
    if (field != nullptr) fields[count++] = {field, nullptr};
  }
  PyStructSequence_Desc description = {row.name, "Results with names.", fields, count};
  PyTypeObject* const type = PyStructSequence_NewType(&description);
  if (type != nullptr) type->tp_repr = represent_results;
  return type;
}

}  // namespace

void add_return_types(py::module_& module) {
  py::dict by_name;
  for (std::size_t i = 0; i < std::size(kReturnTypes); ++i) {
    return_types[i] = make_return_type(kReturnTypes[i]);
    if (return_types[i] == nullptr) throw py::error_already_set();
    const char* const name = kReturnTypes[i].name + std::string_view(kModule).size();
    by_name[name] = py::handle(reinterpret_cast<PyObject*>(return_types[i]));
  }
  module.attr("_return_types") = by_name;
}

py::object named_pair(const char* name, Tensor first, Tensor second) {
  PyTypeObject* const type = return_types[place_of(name)];
  auto pair = py::reinterpret_steal<py::object>(PyStructSequence_New(type));
  if (!pair) throw py::error_already_set();
  PyStructSequence_SET_ITEM(pair.ptr(), 0, wrap(std::move(first)));
  PyStructSequence_SET_ITEM(pair.ptr(), 1, wrap(std::move(second)));
  return pair;
}

}  // namespace weft::python
