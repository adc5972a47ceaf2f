// Factorizations for weft/linalg.py, which checks and shapes what it gives them.
#include "core/define.h"
#include "core/module.h"
#include "op/factorize.h"

namespace weft::python {
namespace {

namespace py = pybind11;
using Release = py::call_guard<py::gil_scoped_release>;

// A batch of matrices as the factorizations take it.
Array batch_of(const Tensor& x) {
  if (x.ndim() != 3 || x.dtype() != DType::kF64) {
    throw std::invalid_argument("[linalg] expected a batch [b, m, n] of f64");
  }
  return x.array().strided().contiguous();
}

Array squares_of(const Tensor& x) {
  if (x.ndim() == 3 && x.dim(1) != x.dim(2)) {
    throw std::invalid_argument("[linalg] expected square matrices, got " + to_string(x.shape()));
  }
  return batch_of(x);
}

std::vector<Tensor> as_tensors(const std::vector<Array>& arrays) {
  std::vector<Tensor> tensors;
  for (const Array& array : arrays) tensors.emplace_back(array);
  return tensors;
}

}  // namespace

void bind_linalg(py::module_& module) {
  module.def(
      "_solve",
      [](const Tensor& a, const Tensor& rhs) {
        const Array left = squares_of(a);
        const Array right = batch_of(rhs);
        if (right.dim(0) != left.dim(0) || right.dim(1) != left.dim(1)) {
          throw std::invalid_argument("[solve] expected as many rows as the matrices have, got " +
                                      to_string(right.shape()));
        }
        return Tensor(solve_systems(left, right));
      },
      py::arg("input"), py::arg("rhs"), Release());
  module.def(
      "_lu", [](const Tensor& a) { return as_tensors(lu_of(batch_of(a))); }, py::arg("input"),
      Release());
  module.def(
      "_slogdet", [](const Tensor& a) { return as_tensors(log_determinants(squares_of(a))); },
      py::arg("input"), Release());
  module.def(
      "_cholesky", [](const Tensor& a) { return Tensor(cholesky_of(squares_of(a))); },
      py::arg("input"), Release());
  module.def(
      "_qr",
      [](const Tensor& a, bool complete) { return as_tensors(qr_of(batch_of(a), complete)); },
      py::arg("input"), py::arg("complete"), Release());
  module.def(
      "_eigh", [](const Tensor& a) { return as_tensors(eigen_of_symmetric(squares_of(a))); },
      py::arg("input"), Release());
  module.def(
      "_svd",
      [](const Tensor& a) {
        const Array tall = batch_of(a);
        if (tall.dim(1) < tall.dim(2)) {
          throw std::invalid_argument("[svd] expected at least as many rows as columns");
        }
        return as_tensors(singular_values_of(tall));
      },
      py::arg("input"), Release());
}

}  // namespace weft::python
