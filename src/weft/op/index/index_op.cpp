// index, index_put, masked_select: NumPy's advanced indexing, by way of row numbers: the indexed
// axes go first, become one, and rows of it are selected, added to or written.
#include <numeric>
#include <optional>

#include "weft/array/launch.h"
#include "weft/autograd/node.h"
#include "weft/autograd/op_trace.h"
#include "weft/kernel/index/arrange.h"
#include "weft/kernel/index/gather.h"
#include "weft/op/core/index_samples.h"
#include "weft/op/core/operands.h"
#include "weft/op/index.h"
#include "weft/op/shape.h"

namespace weft {
namespace {

// Which rows of x are meant, once the indexed axes are one and first.
struct Selection {
  std::vector<int> order;  // x's axes, the indexed ones first
  Shape ordered;           // x's lengths in that order
  int indexed = 0;         // how many axes are indexed
  Array rows;              // i64 row numbers, of the index arrays' common shape
  int place = 0;           // the axis of the result where that shape stands

  Shape rest() const {
    Shape shape;
    for (int i = indexed; i < ordered.size(); ++i) shape.push_back(ordered[i]);
    return shape;
  }
  // [indexed elements, rest...]
  Shape flat_shape() const {
    Shape shape = rest();
    std::int64_t count = 1;
    for (int i = 0; i < indexed; ++i) count *= ordered[i];
    shape.insert(0, count);
    return shape;
  }
};

// The axes of a result whose first `moved` axes belong at `place`.
std::vector<int> placed_axes(int ndim, int moved, int place) {
  std::vector<int> axes;
  axes.reserve(static_cast<std::size_t>(ndim));
  for (int i = 0; i < place; ++i) axes.push_back(moved + i);
  for (int i = 0; i < moved; ++i) axes.push_back(i);
  for (int i = moved + place; i < ndim; ++i) axes.push_back(i);
  return axes;
}

std::vector<int> inverse_of(const std::vector<int>& axes) {
  std::vector<int> inverse(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    inverse[static_cast<std::size_t>(axes[i])] = static_cast<int>(i);
  }
  return inverse;
}

void check_mask(const char* op, const Tensor& x, int axis, const Array& mask) {
  for (int i = 0; i < mask.ndim(); ++i) {
    if (axis + i < x.ndim() && mask.shape()[i] == x.dim(axis + i)) continue;
    throw_operand(op, "a mask of the shape of the axes it stands for in " + to_string(x.shape()),
                  to_string(mask.shape()));
  }
}

// The index arrays of a mask, one for each of its axes.
std::vector<Array> mask_positions(const char* op, const Tensor& x, int axis, const Array& mask) {
  check_mask(op, x, axis, mask);
  launch_host_read(op);
  const Array found = nonzero(mask);
  std::vector<Array> positions;
  positions.reserve(static_cast<std::size_t>(mask.ndim()));
  for (int i = 0; i < mask.ndim(); ++i) positions.push_back(found.select(1, i).contiguous());
  return positions;
}

// One entry an axis of x; entries without an array stay undefined.
std::vector<Array> arrays_of(const char* op, const Tensor& x, const AdvancedIndex& at) {
  std::vector<Array> arrays;
  for (const std::optional<IndexOperand>& entry : at) {
    if (!entry) {
      arrays.emplace_back();
    } else if (entry->array().dtype() == DType::kBool) {
      const int axis = static_cast<int>(arrays.size());
      for (Array& positions : mask_positions(op, x, axis, entry->array())) {
        arrays.push_back(std::move(positions));
      }
    } else {
      arrays.push_back(entry->indexes(op, "indexes"));
    }
  }
  if (static_cast<int>(arrays.size()) > x.ndim()) {
    throw_operand(op, "at most " + std::to_string(x.ndim()) + " indexes",
                  std::to_string(arrays.size()));
  }
  arrays.resize(static_cast<std::size_t>(x.ndim()));
  return arrays;
}

// The only index array if it is a mask, and its place among the entries.
std::optional<std::size_t> only_mask(const AdvancedIndex& at) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < at.size(); ++i) {
    if (!at[i]) continue;
    if (found || at[i]->array().dtype() != DType::kBool || at[i]->array().ndim() == 0) return {};
    found = i;
  }
  return found;
}

// Rows of a single mask are the places where it holds.
Selection select_by_mask(const char* op, const Tensor& x, const AdvancedIndex& at,
                         std::size_t place) {
  const Array& mask = at[place]->array();
  const int axis = static_cast<int>(place);
  check_mask(op, x, axis, mask);
  const int given = static_cast<int>(at.size()) - 1 + mask.ndim();
  if (given > x.ndim()) {
    throw_operand(op, "at most " + std::to_string(x.ndim()) + " indexes", std::to_string(given));
  }
  Selection selection;
  selection.place = axis;
  selection.indexed = mask.ndim();
  for (int i = 0; i < mask.ndim(); ++i) selection.order.push_back(axis + i);
  for (int i = 0; i < x.ndim(); ++i) {
    if (i < axis || i >= axis + mask.ndim()) selection.order.push_back(i);
  }
  for (const int each : selection.order) selection.ordered.push_back(x.dim(each));
  selection.rows = nonzero_elements(op, mask);
  return selection;
}

Selection select(const char* op, const Tensor& x, const AdvancedIndex& at) {
  if (const std::optional<std::size_t> mask = only_mask(at)) {
    return select_by_mask(op, x, at, *mask);
  }
  const std::vector<Array> arrays = arrays_of(op, x, at);
  Selection selection;
  std::vector<Array> used;
  Shape common;
  bool side_by_side = true;
  int last = -1;
  for (int axis = 0; axis < x.ndim(); ++axis) {
    const Array& array = arrays[static_cast<std::size_t>(axis)];
    if (!array.defined()) continue;
    if (used.empty()) selection.place = axis;
    side_by_side = side_by_side && (used.empty() || last == axis - 1);
    last = axis;
    common = broadcast_shapes(common, array.shape());
    used.push_back(array);
    selection.order.push_back(axis);
  }
  if (used.empty()) throw_operand(op, "at least one index array", "none");
  if (!side_by_side) selection.place = 0;
  selection.indexed = static_cast<int>(used.size());
  for (int axis = 0; axis < x.ndim(); ++axis) {
    if (!arrays[static_cast<std::size_t>(axis)].defined()) selection.order.push_back(axis);
  }
  for (const int axis : selection.order) selection.ordered.push_back(x.dim(axis));
  Shape sizes;
  for (int i = 0; i < selection.indexed; ++i) sizes.push_back(selection.ordered[i]);
  for (Array& array : used) array = array.expand(common);
  selection.rows = row_numbers(op, sizes, used);
  return selection;
}

Tensor flat_rows(const Tensor& x, const Selection& selection) {
  return reshape(permute(x, selection.order), selection.flat_shape());
}

// The result's shape with the index arrays' axes first.
Shape moved_shape(const Selection& selection) {
  Shape shape = selection.rows.shape();
  for (const std::int64_t length : selection.rest()) shape.push_back(length);
  return shape;
}

}  // namespace

Tensor index(const Tensor& x, const AdvancedIndex& at) {
  const Selection selection = select("index", x, at);
  const Array rows = selection.rows.reshape({selection.rows.size()});
  if (x.ndim() == 1 && selection.rows.ndim() == 1 && !recording({&x}) && !op_tracing()) {
    return index_select(x, 0, rows);
  }
  const Shape shape = moved_shape(selection);
  Tensor moved = reshape(index_select(flat_rows(x, selection), 0, rows), shape);
  if (selection.place == 0) return moved;
  return permute(moved, placed_axes(shape.size(), selection.rows.ndim(), selection.place));
}

Tensor index_put(const Tensor& x, const AdvancedIndex& at, const Tensor& values, bool accumulate) {
  const Selection selection = select("index_put", x, at);
  const Array rows = selection.rows.reshape({selection.rows.size()});
  const Shape shape = moved_shape(selection);
  const std::vector<int> axes = placed_axes(shape.size(), selection.rows.ndim(), selection.place);
  Shape expected;
  for (const int axis : axes) expected.push_back(shape[axis]);
  const Tensor moved = permute(expand(values, expected), inverse_of(axes));
  Shape flat = selection.flat_shape();
  flat[0] = rows.size();
  const Tensor source = reshape(moved, flat);
  const Tensor to = flat_rows(x, selection);
  const Tensor y = accumulate ? index_add(to, 0, rows, source) : index_copy(to, 0, rows, source);
  return permute(reshape(y, selection.ordered), inverse_of(selection.order));
}

Tensor masked_select(const Tensor& x, const IndexOperand& where) {
  const Array& mask = where.mask("masked_select");
  const Shape shape = broadcast_shapes(x.shape(), mask.shape());
  const Array rows = nonzero_elements("masked_select", mask.expand(shape));
  return index_select(reshape(expand(x, shape), {-1}), 0, rows);
}

// x[rows, :, columns] of a cube, element by element; also the case of neighbours.
static Array index_reference(std::span<const Array> in, const Shape& shape,
                             const std::function<Dims(const Dims&, std::span<const Array>)>& from) {
  Array y = Array::empty(shape, DType::kF64);
  each_index(shape, [&](const Dims& i, std::int64_t place) {
    y.data<double>()[place] = in[0].data<double>()[row_major(from(i, in), in[0].shape())];
  });
  return y;
}

static std::int64_t position(const Array& index, std::int64_t i) {
  return index.data<std::int64_t>()[i];
}

static std::vector<OpSample> index_samples() {
  const Array a = sample_indexes({3}, 4, 551);
  const Array b = sample_indexes({2, 1}, 5, 552);
  const Array negative = Array::from(std::vector<std::int64_t>{-1, 0, -4}, {3});
  const Array mask = Array::from(std::vector<std::int64_t>{1, 0, 1, 1}, {4});
  return {
      {"apart: index axes first",
       {sample_values({4, 3, 5}, 553), a, b},
       [](std::span<const Tensor> in) {
         return index(in[0], {in[1].array(), {}, in[2].array()});
       },
       [](std::span<const Array> in) {
         return index_reference(in, {2, 3, 3}, [](const Dims& i, std::span<const Array> arrays) {
           return Dims{position(arrays[1], i[1]), i[2], position(arrays[2], i[0])};
         });
       }},
      {"side by side: in place",
       {sample_values({2, 4, 5, 2}, 554), a, b},
       [](std::span<const Tensor> in) {
         return index(in[0], {{}, in[1].array(), in[2].array()});
       },
       [](std::span<const Array> in) {
         return index_reference(in, {2, 2, 3, 2}, [](const Dims& i, std::span<const Array> arrays) {
           return Dims{i[0], position(arrays[1], i[2]), position(arrays[2], i[1]), i[3]};
         });
       }},
      {"negative positions",
       {sample_values({4, 2}, 555), negative},
       [](std::span<const Tensor> in) { return index(in[0], {in[1].array()}); },
       [](std::span<const Array> in) {
         return index_reference(in, {3, 2}, [](const Dims& i, std::span<const Array> arrays) {
           const std::int64_t at = position(arrays[1], i[0]);
           return Dims{at < 0 ? at + 4 : at, i[1]};
         });
       }},
      {"mask",
       {sample_values({2, 4}, 556), mask},
       [](std::span<const Tensor> in) {
         return index(in[0], {{}, in[1].array().to(DType::kBool)});
       },
       [](std::span<const Array> in) {
         return index_reference(in, {2, 3}, [](const Dims& i, std::span<const Array>) {
           return Dims{i[0], i[1] == 0 ? 0 : i[1] + 1};
         });
       }},
      {"masked_select",
       {sample_values({2, 4}, 557), mask},
       [](std::span<const Tensor> in) {
         return masked_select(in[0], in[1].array().to(DType::kBool));
       },
       [](std::span<const Array> in) {
         return index_reference(in, {6}, [](const Dims& i, std::span<const Array>) {
           const std::int64_t column = i[0] % 3;
           return Dims{i[0] / 3, column == 0 ? 0 : column + 1};
         });
       }},
      {"one element",
       {sample_values({1}, 558), Array::zeros({1}, DType::kI64)},
       [](std::span<const Tensor> in) { return index(in[0], {in[1].array()}); },
       [](std::span<const Array> in) { return in[0].clone(); }},
      {"no positions",
       {sample_values({3, 2}, 559), Array::zeros({0}, DType::kI64)},
       [](std::span<const Tensor> in) { return index(in[0], {in[1].array()}); },
       [](std::span<const Array>) {
         return Array::zeros({0, 2}, DType::kF64);
       }}};
}
extern const OpDef index_op = {"index", index_samples};

}  // namespace weft
