// Operations that make fewer values of many: sums, extremes, norms; and what orders values.
#include "core/define.h"
#include "core/module.h"
#include "core/named_results.h"
#include "op/row_search.h"
#include "weft/op/arithmetic.h"
#include "weft/op/index.h"
#include "weft/op/reduce.h"
#include "weft/op/shape.h"
#include "weft/op/sort.h"

namespace weft::python {
namespace {

namespace py = pybind11;

using AxesReduction = Tensor (*)(const Tensor&, const Axes&, bool);

double order_of_norm(const py::object& p) {
  if (p.is_none()) return 2.0;
  if (!py::isinstance<py::str>(p)) return py::cast<double>(p);
  const auto name = py::cast<std::string>(p);
  if (name == "fro") return 2.0;
  throw std::invalid_argument("[norm] expected p as a number or 'fro', got '" + name + "'");
}

// How many values come together along the axes.
std::int64_t count_along(const Tensor& x, const std::vector<int>& axes) {
  if (axes.empty()) return x.size();
  std::int64_t count = 1;
  for (const int axis : axes) count *= x.dim(axis);
  return count;
}

// The variance over n - correction.
Tensor corrected_var(const Tensor& x, const std::vector<int>& axes, double correction,
                     bool keepdim) {
  if (correction == 1.0 || correction == 0.0) return var(x, axes, correction == 1.0, keepdim);
  const auto count = static_cast<double>(count_along(x, axes));
  const double left = std::max(count - correction, 0.0);
  return mul(var(x, axes, false, keepdim), count / left);
}

void bind_sums_with_types(Definer& define) {
  const auto typed = [&define](const char* name, AxesReduction reduce, const char* text) {
    define.both(
        name,
        [reduce](const Tensor& x, const OptionalAxes& dim, bool keepdim,
                 const std::optional<DType>& dtype) {
          const Tensor given = dtype ? cast(x, *dtype) : x;
          return released(x.size(), [&] { return reduce(given, axes_of(dim), keepdim); });
        },
        py::arg("dim") = py::none(), py::arg("keepdim") = false, py::kw_only(),
        py::arg("dtype") = py::none(), text);
  };
  typed("sum", &sum, "The sum over the axes `dim` (None: all).");
  typed("mean", &mean, "The mean over the axes `dim` (None: all).");
  typed("prod", &prod, "The product over the axes `dim` (None: all).");
  const auto running = [&define](const char* name, Tensor (*of)(const Tensor&, int),
                                 const char* text) {
    define.both(
        name,
        [of](const Tensor& x, int dim, const std::optional<DType>& dtype) {
          return of(dtype ? cast(x, *dtype) : x, dim);
        },
        py::arg("dim"), py::kw_only(), py::arg("dtype") = py::none(), text);
  };
  running("cumsum", &cumsum, "Running sums along `dim`.");
  running("cumprod", &cumprod, "Running products along `dim`.");
}

void bind_sums(Definer& define) {
  const auto reduction = [&define](const char* name, AxesReduction reduce, const char* text) {
    define.both(
        name,
        [reduce](const Tensor& x, const OptionalAxes& dim, bool keepdim) {
          return released(x.size(), [&] { return reduce(x, axes_of(dim), keepdim); });
        },
        py::arg("dim") = py::none(), py::arg("keepdim") = false, text);
  };
  reduction("amax", &max, "The largest value along `dim`; equal ones share the gradient.");
  reduction("amin", &min, "The smallest value along `dim`; equal ones share the gradient.");
  reduction("logsumexp", &logsumexp, "log(sum(exp(x))), finite for finite x.");
  reduction("any", &any, "bool: whether any value along `dim` is not 0.");
  reduction("all", &all, "bool: whether all values along `dim` are not 0.");
  reduction("count_nonzero", &count_nonzero, "int64: how many values are not 0.");
  const auto spread = [&define](const char* name, bool root, const char* text) {
    define.both(
        name,
        [root](const Tensor& x, const OptionalAxes& dim, bool unbiased, bool keepdim,
               const std::optional<double>& correction) {
          return released(x.size(), [&] {
            const std::vector<int> axes = axes_of(dim);
            if (root && !correction) return stddev(x, axes, unbiased, keepdim);
            const double off = correction.value_or(unbiased ? 1.0 : 0.0);
            if (root && (off == 0.0 || off == 1.0)) return stddev(x, axes, off == 1.0, keepdim);
            const Tensor found = corrected_var(x, axes, off, keepdim);
            return root ? sqrt(found) : found;
          });
        },
        py::arg("dim") = py::none(), py::arg("unbiased") = true, py::arg("keepdim") = false,
        py::kw_only(), py::arg("correction") = py::none(), text);
  };
  spread("var", false, "The variance over n - correction: 1, or 0 if not unbiased.");
  spread("std", true, "The root of var().");
  define.both(
      "norm",
      [](const Tensor& x, const py::object& p, const OptionalAxes& dim, bool keepdim,
         const std::optional<DType>& dtype) {
        const double order = order_of_norm(p);
        const Tensor given = dtype ? cast(x, *dtype) : x;
        return released(x.size(), [&] { return norm(given, order, axes_of(dim), keepdim); });
      },
      py::arg("p") = 2.0, py::arg("dim") = py::none(), py::arg("keepdim") = false,
      py::arg("dtype") = py::none(), "(sum |x|^p)^(1/p).");
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
  const auto one = [&define](const char* name, AxesReduction all_of,
                             Tensor (*places)(const Tensor&, int, bool),
                             Tensor (*pairwise)(const Tensor&, const Tensor&), const char* text) {
    define.both(
        name,
        [name, all_of, places, pairwise](const Tensor& x, const py::object& dim,
                                         bool keepdim) -> py::object {
          if (dim.is_none()) return py::cast(all_of(x, {}, false));
          if (is_tensor(dim.ptr())) return py::cast(pairwise(x, tensor_of(dim.ptr())));
          Ordered found = extreme(x, py::cast<int>(dim), keepdim, places);
          return named_pair(name, std::move(found.values), std::move(found.indices));
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
}

py::object pair(const char* name, Ordered ordered) {
  return named_pair(name, std::move(ordered.values), std::move(ordered.indices));
}

void bind_orders(Definer& define) {
  define.both(
      "sort",
      [](const Tensor& x, int dim, bool descending, std::optional<bool>) {
        return pair("sort", released(x.size(), [&] { return sort(x, dim, descending); }));
      },
      py::arg("dim") = -1, py::arg("descending") = false, py::arg("stable") = py::none(),
      "(values, indices), sorted along `dim`.");
  define.both(
      "argsort",
      [](const Tensor& x, int dim, bool descending, bool) { return argsort(x, dim, descending); },
      py::arg("dim") = -1, py::arg("descending") = false, py::arg("stable") = true,
      "The places of the values in order.");
  define.function("_running_extreme", &running_extreme, py::arg("input"), py::arg("dim"),
                  py::arg("largest"));
  define.function("_most_frequent", &most_frequent, py::arg("input"));
  define.both(
      "topk",
      [](const Tensor& x, std::int64_t k, int dim, bool largest, bool) {
        return pair("topk", released(x.size(), [&] { return topk(x, k, dim, largest); }));
      },
      py::arg("k"), py::arg("dim") = -1, py::arg("largest") = true, py::arg("sorted") = true,
      "(values, indices) of the k largest along `dim`, in order.");
  define.both(
      "kthvalue",
      [](const Tensor& x, std::int64_t k, int dim, bool keepdim) {
        return pair("kthvalue", kthvalue(x, k, dim, keepdim));
      },
      py::arg("k"), py::arg("dim") = -1, py::arg("keepdim") = false,
      "(values, indices) of the k-th smallest along `dim`, k from 1.");
  define.both(
      "median",
      [](const Tensor& x, std::optional<int> dim, bool keepdim) -> py::object {
        if (!dim) return py::cast(median_of_all(x));
        return pair("median", median(x, *dim, keepdim));
      },
      py::arg("dim") = py::none(), py::arg("keepdim") = false,
      "The lower of two middle values; with `dim` (values, indices).");
}

}  // namespace

void bind_op_reduce(py::module_& module) {
  Definer define(module);
  bind_sums_with_types(define);
  bind_sums(define);
  bind_extremes(define);
  bind_orders(define);
}

}  // namespace weft::python
