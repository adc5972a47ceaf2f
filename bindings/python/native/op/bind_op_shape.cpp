// Operations that move values and change none: views, joins, parts, places.
#include "core/define.h"
#include "core/module.h"
#include "weft/autograd/node.h"
#include "weft/op/arithmetic.h"
#include "weft/op/create.h"
#include "weft/op/index.h"
#include "weft/op/reduce.h"
#include "weft/op/shape.h"

namespace weft::python {
namespace {

namespace py = pybind11;

// f(2, 3) and f((2, 3)).
Dims dims_of(const py::args& sizes) {
  const bool one = sizes.size() == 1 && PyLong_Check(sizes[0].ptr()) == 0;
  py::detail::make_caster<Dims> caster;
  if (!caster.load(one ? py::handle(sizes[0]) : py::handle(sizes), false)) {
    throw TypeProblem("expected whole numbers, got " + std::string(py::str(py::object(sizes))));
  }
  return py::detail::cast_op<Dims>(caster);
}

Tensor flattened(const Tensor& x, int start, int end) {
  if (x.ndim() == 0) return reshape(x, {1});
  const int first = normalize_axis("flatten", start, x.ndim());
  const int last = normalize_axis("flatten", end, x.ndim());
  if (first == last) return x;
  if (last == x.ndim() - 1) return flatten(x, first);
  if (last < first) throw std::invalid_argument("[flatten] expected start_dim <= end_dim");
  Shape shape;
  std::int64_t joined = 1;
  for (int i = 0; i < x.ndim(); ++i) {
    if (i >= first && i <= last) joined *= x.dim(i);
    if (i == last) shape.push_back(joined);
    if (i < first || i > last) shape.push_back(x.dim(i));
  }
  return reshape(x, shape);
}

Tensor transposed(const Tensor& x) {
  if (x.ndim() > 2) throw std::invalid_argument("[t] expected at most 2 axes: use transpose()");
  return x.ndim() == 2 ? transpose(x, 0, 1) : reshape(x, x.shape());
}

Tensor reshaped(const Tensor& x, const py::args& shape) { return reshape(x, dims_of(shape)); }

Tensor viewed(const Tensor& x, const py::args& shape) {
  try {
    return reshaped(x, shape);
  } catch (const std::invalid_argument& error) {
    const std::string text = error.what();  // "[reshape] ..."
    throw std::invalid_argument("[view]" + text.substr(std::min(text.size(), text.find(' '))));
  }
}

void bind_views(Definer& define) {
  define.method("reshape", view_of(&reshaped),
                "The same values in another shape; one size may be -1.");
  define.method("view", view_of(&viewed),
                "reshape(): a view where the memory allows it, else a copy.");
  define.function("reshape", view_of(&reshape), py::arg("input"), py::arg("shape"),
                  "The same values in another shape; one size may be -1.");
  define.both("flatten", view_of(flattened), py::arg("start_dim") = 0, py::arg("end_dim") = -1,
              "The axes from start_dim to end_dim as one.");
  define.both("transpose", view_of(&transpose), py::arg("dim0"), py::arg("dim1"),
              "Two axes swapped.");
  define.both("t", view_of(transposed), "A matrix transposed.");
  define.method("permute", view_of([](const Tensor& x, const py::args& dims) {
                  return permute(x, axes_of(dims_of(dims)));
                }),
                "Axis i of the result is axis dims[i].");
  define.function("permute", view_of([](const Tensor& x, const Dims& dims) {
                    return permute(x, axes_of(dims));
                  }),
                  py::arg("input"), py::arg("dims"), "Axis i of the result is axis dims[i].");
  define.both("unsqueeze", view_of(&unsqueeze), py::arg("dim"),
              "A new axis of length 1 before `dim`.");
  define.both("squeeze", view_of([](const Tensor& x, std::optional<int> dim) {
                return dim ? squeeze(x, *dim) : squeeze(x);
              }),
              py::arg("dim") = py::none(), "Without axes of length 1, or without that one.");
  define.method("expand", view_of([](const Tensor& x, const py::args& size) {
                  return expand(x, dims_of(size));
                }),
                "Repeated along axes of length 1, without a copy; -1 keeps a length.");
  define.method("expand_as", view_of([](const Tensor& x, const Tensor& other) {
                  return expand(x, other.shape());
                }),
                py::arg("other"), "expand() to the shape of `other`.");
  define.method("view_as", view_of([](const Tensor& x, const Tensor& other) {
                  return reshape(x, other.shape());
                }),
                py::arg("other"), "reshape() to the shape of `other`.");
  define.both("movedim", view_of([](const Tensor& x, const Dims& source, const Dims& destination) {
                return movedim(x, axes_of(source), axes_of(destination));
              }),
              py::arg("source"), py::arg("destination"), "Axes moved to other places.");
  define.both("diagonal", view_of(&diagonal), py::arg("offset") = 0, py::arg("dim1") = 0,
              py::arg("dim2") = 1, "The diagonal of two axes, as the last axis.");
  define.both(
      "flip",
      [](const Tensor& x, const Dims& dims) {
        // A copy, as everywhere in Python: writes to one are not seen in the other.
        const Tensor flipped = flip(x, axes_of(dims));
        return recording({&x}) ? mul(flipped, 1.0) : Tensor(flipped.array().clone());
      },
      py::arg("dims"), "Backwards along the axes.");
  define.method("unfold", view_of(&unfold), py::arg("dimension"), py::arg("size"), py::arg("step"),
                "Windows along an axis, as a new last axis.");
  define.both("select", view_of(&slice_at), py::arg("dim"), py::arg("index"),
              "The slice of that number along `dim`, as a view.");
  define.both(
      "narrow", view_of([](const Tensor& x, int dim, std::int64_t start, std::int64_t length) {
        const std::int64_t whole = x.dim(dim);
        const std::int64_t first = start < 0 ? start + whole : start;
        if (first < 0 || length < 0 || length > whole || first > whole - length) {
          throw std::invalid_argument("[narrow] expected start and length within " +
                                      std::to_string(whole) + " slices, got " +
                                      std::to_string(start) + " and " + std::to_string(length));
        }
        return slice(x, dim, first, first + length);
      }),
      py::arg("dim"), py::arg("start"), py::arg("length"), "`length` slices from `start` on.");
}

void bind_joins(Definer& define) {
  define.function(
      "cat", [](const std::vector<Tensor>& parts, int dim) { return concat(parts, dim); },
      py::arg("tensors"), py::arg("dim") = 0, "The tensors behind each other along `dim`.");
  define.function(
      "stack", [](const std::vector<Tensor>& parts, int dim) { return stack(parts, dim); },
      py::arg("tensors"), py::arg("dim") = 0, "The tensors behind each other along a new axis.");
  define.both("split", of_viewed([](const Tensor& x, const py::object& size, int dim) {
                const std::vector<Tensor> parts =
                    PyLong_Check(size.ptr()) != 0
                        ? split(x, py::cast<std::int64_t>(size), dim)
                        : split(x, py::cast<std::vector<std::int64_t>>(size), dim);
                return py::tuple(py::cast(parts));
              }),
              py::arg("split_size_or_sections"), py::arg("dim") = 0,
              "Parts of that length or lengths.");
  define.both("chunk", of_viewed([](const Tensor& x, std::int64_t chunks, int dim) {
                return py::tuple(py::cast(chunk(x, chunks, dim)));
              }),
              py::arg("chunks"), py::arg("dim") = 0,
              "So many parts of equal length, the last shorter.");
  define.both("unbind", of_viewed([](const Tensor& x, int dim) {
                return py::tuple(py::cast(unbind(x, dim)));
              }),
              py::arg("dim") = 0, "The slices along `dim`.");
  define.method(
      "repeat",
      [](const Tensor& x, const py::args& repeats) {
        const Dims counts = dims_of(repeats);
        return repeat(x, {counts.begin(), counts.end()});
      },
      "So many copies along each axis.");
  define.both(
      "tile",
      [](const Tensor& x, const Dims& dims) {
        return tile(x, {dims.begin(), dims.end()});
      },
      py::arg("dims"), "As repeat, with 1 for axes that are not named.");
  define.both("repeat_interleave", &repeat_interleave, py::arg("repeats"), py::arg("dim"),
              "Each slice along `dim` so many times in a row.");
  define.both(
      "roll",
      [](const Tensor& x, const Dims& shifts, const Dims& dims) {
        return roll(x, {shifts.begin(), shifts.end()}, axes_of(dims));
      },
      py::arg("shifts"), py::arg("dims"), "Values moved along axes, around the end.");
  define.both("triu", &triu, py::arg("diagonal") = 0, "With 0 below the diagonal.");
  define.both("tril", &tril, py::arg("diagonal") = 0, "With 0 above the diagonal.");
  define.both("diag", &diag, py::arg("diagonal") = 0,
              "The diagonal of a matrix, or the matrix of a diagonal.");
}

// PyTorch's order: a pair for each axis, the last axis first.
Tensor padded(const Tensor& x, const std::vector<std::int64_t>& pairs, const std::string& mode,
              double value) {
  if (pairs.size() % 2 != 0 || pairs.size() / 2 > static_cast<std::size_t>(x.ndim())) {
    throw std::invalid_argument("[pad] expected a pair of numbers an axis, got " +
                                std::to_string(pairs.size()) + " numbers");
  }
  if (mode != "constant" && mode != "reflect" && mode != "replicate") {
    throw std::invalid_argument("[pad] expected the mode constant, reflect or replicate, got " +
                                mode);
  }
  std::vector<AxisPadding> padding;
  for (std::size_t i = pairs.size(); i > 0; i -= 2) padding.push_back({pairs[i - 2], pairs[i - 1]});
  return pad(x, padding,
             mode == "constant"  ? PadMode::kConstant
             : mode == "reflect" ? PadMode::kReflect
                                 : PadMode::kReplicate,
             value);
}

Tensor labels_as_truths(const Tensor& labels, std::int64_t classes) {
  if (classes != -1) return one_hot(labels, classes);
  if (labels.size() == 0) {
    throw std::invalid_argument("[one_hot] expected num_classes, as there are no labels");
  }
  return one_hot(labels, max(labels).array().item_int() + 1);
}

void bind_places(Definer& define) {
  define.both(
      "gather", [](const Tensor& x, int dim, const Tensor& index) { return gather(x, dim, index); },
      py::arg("dim"), py::arg("index"), "y[.., j, ..] = x[.., index[.., j, ..], ..].");
  define.both(
      "take",
      [](const Tensor& x, const py::object& index) {
        return values_at(flattened(x, 0, -1), index.ptr());
      },
      py::arg("index"), "The values at places in all of them as one row.");
  define.both(
      "index_select",
      [](const Tensor& x, int dim, const Tensor& index) { return index_select(x, dim, index); },
      py::arg("dim"), py::arg("index"), "The slices index[0], index[1], ... along `dim`.");
  const auto put = [&define](const char* name,
                             Tensor (*of)(const Tensor&, int, const IndexOperand&, const Tensor&),
                             const char* text) {
    define.both(
        name,
        [of](const Tensor& x, int dim, const Tensor& index, const Operand& source) {
          const Tensor given = source.beside(x);
          return of(x, dim, index, source.is_number() ? expand(given, index.shape()) : given);
        },
        py::arg("dim"), py::arg("index"), py::arg("src"), text);
  };
  put("scatter", &scatter, "x with `src` written at [.., index[.., j, ..], ..].");
  put("scatter_add", &scatter_add, "x with `src` added at [.., index[.., j, ..], ..].");
  put("index_add", &index_add, "x with slice j of `src` added to slice index[j].");
  put("index_copy", &index_copy, "x with slice j of `src` written over slice index[j].");
  define.both(
      "nonzero", [](const Tensor& x) { return Tensor(nonzero(x)); },
      "int64 [count, ndim]: the places that are not 0.");
  define.both(
      "bincount",
      [](const Tensor& x, std::int64_t minlength) { return Tensor(bincount(x, minlength)); },
      py::arg("minlength") = 0, "int64: how often each of 0, 1, ... comes.");
  define.function(
      "searchsorted",
      [](const Tensor& sorted, const Tensor& values, bool right) {
        return Tensor(searchsorted(sorted.array(), values.array(), right));
      },
      py::arg("sorted_sequence"), py::arg("values"), py::kw_only(), py::arg("right") = false,
      "int64: where each value would be put in.");
  define.both(
      "unique",
      [](const Tensor& x, bool return_inverse, bool return_counts) -> py::object {
        const Unique found = unique(x.array());
        if (!return_inverse && !return_counts) return py::cast(Tensor(found.values));
        py::list results;
        results.append(Tensor(found.values));
        if (return_inverse) results.append(Tensor(found.inverse));
        if (return_counts) results.append(Tensor(found.counts));
        return py::tuple(results);
      },
      py::kw_only(), py::arg("return_inverse") = false, py::arg("return_counts") = false,
      "The values, sorted, each once.");
  define.function(
      "meshgrid",
      [](const py::args& vectors, const std::string& indexing) {
        return py::tuple(py::cast(meshgrid(py::cast<std::vector<Tensor>>(py::object(vectors)),
                                           indexing == "xy" ? GridOrder::kXy : GridOrder::kIj)));
      },
      py::kw_only(), py::arg("indexing") = "ij", "Grids of the vectors' values.");
  define.function("_pad", padded, py::arg("input"), py::arg("pad"), py::arg("mode"),
                  py::arg("value"));
  define.function(
      "one_hot", labels_as_truths, py::arg("input"), py::arg("num_classes") = -1,
      "int64: 1 at the label and 0 elsewhere; -1: as many classes as the largest label needs.");
}

}  // namespace

void bind_op_shape(py::module_& module) {
  Definer define(module);
  bind_views(define);
  bind_joins(define);
  bind_places(define);
}

}  // namespace weft::python
