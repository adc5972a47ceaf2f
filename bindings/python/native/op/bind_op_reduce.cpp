// Operations that make fewer values of many: sums, extremes, norms; and what orders values.
#include "core/define.h"
#include "core/module.h"
#include "weft/op/arithmetic.h"
#include "weft/op/index.h"
#include "weft/op/reduce.h"
#include "weft/op/shape.h"
#include "weft/op/sort.h"

namespace weft::python {
namespace {

namespace py = pybind11;

using Reduction = Tensor (*)(const Tensor&, const Axes&, bool);

void bind_sums(Definer& define) {
  const auto reduction = [&define](const char* name, Reduction reduce, const char* text) {
    define.both(
        name,
        [reduce](const Tensor& x, const OptionalAxes& dim, bool keepdim) {
          return released(x.size(), [&] { return reduce(x, axes_of(dim), keepdim); });
        },
        py::arg("dim") = py::none(), py::arg("keepdim") = false, text);
  };
  reduction("sum", &sum, "The sum over the axes `dim` (None: all).");
  reduction("mean", &mean, "The mean over the axes `dim` (None: all).");
  reduction("prod", &prod, "The product over the axes `dim` (None: all).");
  reduction("amax", &max, "The largest value along `dim`; equal ones share the gradient.");
  reduction("amin", &min, "The smallest value along `dim`; equal ones share the gradient.");
  reduction("logsumexp", &logsumexp, "log(sum(exp(x))), finite for finite x.");
  reduction("any", &any, "bool: whether any value along `dim` is not 0.");
  reduction("all", &all, "bool: whether all values along `dim` are not 0.");
  reduction("count_nonzero", &count_nonzero, "int64: how many values are not 0.");
  const auto spread = [&define](const char* name,
                                Tensor (*reduce)(const Tensor&, const Axes&, bool, bool),
                                const char* text) {
    define.both(
        name,
        [reduce](const Tensor& x, const OptionalAxes& dim, bool unbiased, bool keepdim) {
          return released(x.size(), [&] { return reduce(x, axes_of(dim), unbiased, keepdim); });
        },
        py::arg("dim") = py::none(), py::arg("unbiased") = true, py::arg("keepdim") = false, text);
  };
  spread("var", &var, "The variance over n - 1, or over n if not unbiased.");
  spread("std", &stddev, "The root of var().");
  define.both(
      "norm",
      [](const Tensor& x, double p, const OptionalAxes& dim, bool keepdim) {
        return released(x.size(), [&] { return norm(x, p, axes_of(dim), keepdim); });
      },
      py::arg("p") = 2.0, py::arg("dim") = py::none(), py::arg("keepdim") = false,
      "(sum |x|^p)^(1/p).");
}

// The values and places of extremes along one axis.
Ordered extreme(const Tensor& x, int axis, bool keepdim,
                Tensor (*places)(const Tensor&, int, bool)) {
  const Tensor at = places(x, axis, true);
  const Tensor values = gather(x, axis, at);
  if (keepdim) return {values, at};
  return {squeeze(values, axis), squeeze(at, axis)};
}

void bind_extremes(Definer& define) {
  const auto one = [&define](const char* name, Reduction all_of,
                             Tensor (*places)(const Tensor&, int, bool),
                             Tensor (*pairwise)(const Tensor&, const Tensor&), const char* text) {
    define.both(
        name,
        [all_of, places, pairwise](const Tensor& x, const py::object& dim,
                                   bool keepdim) -> py::object {
          if (dim.is_none()) return py::cast(all_of(x, {}, false));
          if (is_tensor(dim.ptr())) return py::cast(pairwise(x, tensor_of(dim.ptr())));
          const Ordered found = extreme(x, py::cast<int>(dim), keepdim, places);
          return py::make_tuple(found.values, found.indices);
        },
        py::arg("dim") = py::none(), py::arg("keepdim") = false, text);
  };
  one("max", &max, &argmax, &maximum,
      "The largest value; with `dim` (values, indices) along it; with a tensor the larger of each "
      "pair.");
  one("min", &min, &argmin, &minimum,
      "The smallest value; with `dim` (values, indices) along it; with a tensor the smaller of "
      "each pair.");
  const auto place = [&define](const char* name, Tensor (*along)(const Tensor&, int, bool),
                               Tensor (*of_all)(const Tensor&), const char* text) {
    define.both(
        name,
        [along, of_all](const Tensor& x, std::optional<int> dim, bool keepdim) {
          return dim ? along(x, *dim, keepdim) : of_all(x);
        },
        py::arg("dim") = py::none(), py::arg("keepdim") = false, text);
  };
  place("argmax", &argmax, &argmax, "int64: the first place of the largest value.");
  place("argmin", &argmin, &argmin, "int64: the first place of the smallest value.");
  define.both("cumsum", &cumsum, py::arg("dim"), "Running sums along `dim`.");
  define.both("cumprod", &cumprod, py::arg("dim"), "Running products along `dim`.");
}

py::tuple pair(const Ordered& ordered) { return py::make_tuple(ordered.values, ordered.indices); }

void bind_orders(Definer& define) {
  define.both(
      "sort",
      [](const Tensor& x, int dim, bool descending) {
        return pair(released(x.size(), [&] { return sort(x, dim, descending); }));
      },
      py::arg("dim") = -1, py::arg("descending") = false, "(values, indices), sorted along `dim`.");
  define.both("argsort", &argsort, py::arg("dim") = -1, py::arg("descending") = false,
              "The places of the values in order.");
  define.both(
      "topk",
      [](const Tensor& x, std::int64_t k, int dim, bool largest) {
        return pair(released(x.size(), [&] { return topk(x, k, dim, largest); }));
      },
      py::arg("k"), py::arg("dim") = -1, py::arg("largest") = true,
      "(values, indices) of the k largest along `dim`, in order.");
  define.both(
      "median",
      [](const Tensor& x, std::optional<int> dim, bool keepdim) -> py::object {
        if (!dim) return py::cast(median_of_all(x));
        return pair(median(x, *dim, keepdim));
      },
      py::arg("dim") = py::none(), py::arg("keepdim") = false,
      "The lower of two middle values; with `dim` (values, indices).");
}

}  // namespace

void bind_op_reduce(py::module_& module) {
  Definer define(module);
  bind_sums(define);
  bind_extremes(define);
  bind_orders(define);
}

}  // namespace weft::python
