// Operators that move values and say shapes.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "weft/io/onnx/onnx_operator.h"
#include "weft/op/ops.h"

namespace weft {
namespace {

using Tensors = std::vector<Tensor>;
using Integers = std::vector<std::int64_t>;

Tensor integers_tensor(const Integers& values) {
  return Tensor(Array::from(values, {static_cast<std::int64_t>(values.size())}));
}

Tensors reshape_of(const OnnxCall& call) {
  const Tensor& x = call.in(0);
  Integers shape = call.integers_of("shape", 1).value_or(Integers());
  const bool keep_zero = call.integer("allowzero", 0) != 0;
  std::int64_t open = -1;
  std::int64_t known = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && !keep_zero)
      shape[i] = x.dim(call.axis(static_cast<std::int64_t>(i), x.ndim()));
    if (shape[i] == -1 && open < 0) {
      open = static_cast<std::int64_t>(i);
    } else if (shape[i] < 0 || (shape[i] > 0 && known > kOnnxValuesMax / shape[i])) {
      call.fail("sizes from 0 on and one -1", std::to_string(shape[i]));
    } else {
      known *= shape[i];
    }
  }
  if (open >= 0) {
    if (known == 0 || x.size() % known != 0) {
      call.fail("a shape for " + std::to_string(x.size()) + " values", "no such size for -1");
    }
    shape[static_cast<std::size_t>(open)] = x.size() / known;
  }
  return {reshape(x, call.bounded(shape))};
}

Tensors flatten_of(const OnnxCall& call) {
  const Tensor& x = call.in(0);
  std::int64_t axis = call.integer("axis", 1);
  if (axis < -x.ndim() || axis > x.ndim()) call.fail("an axis of the input", std::to_string(axis));
  if (axis < 0) axis += x.ndim();
  std::int64_t rows = 1;
  for (int i = 0; i < axis; ++i) rows *= x.dim(i);
  std::int64_t columns = 1;
  for (int i = static_cast<int>(axis); i < x.ndim(); ++i) columns *= x.dim(i);
  return {reshape(x, {rows, columns})};
}

Tensors transpose_of(const OnnxCall& call) {
  const Tensor& x = call.in(0);
  std::vector<int> axes;
  for (int i = x.ndim(); i > 0; --i) axes.push_back(i - 1);
  if (const auto given = call.axes_of("perm", -1, x.ndim())) axes = *given;
  if (static_cast<int>(axes.size()) != x.ndim()) {
    call.fail("a permutation of all axes", std::to_string(axes.size()) + " axes");
  }
  return {permute(x, axes)};
}

Tensors squeeze_of(const OnnxCall& call) {
  const Tensor& x = call.in(0);
  auto axes = call.axes_of("axes", 1, x.ndim());
  if (!axes) return {squeeze(x)};
  std::sort(axes->rbegin(), axes->rend());
  Tensor result = x;
  for (const int axis : *axes) {
    if (x.dim(axis) != 1) call.fail("axes of size 1", std::to_string(x.dim(axis)));
    result = squeeze(result, axis);
  }
  return {result};
}

Tensors unsqueeze_of(const OnnxCall& call) {
  const Tensor& x = call.in(0);
  const auto given = call.integers_of("axes", 1);
  if (!given) call.fail("axes", "none");
  auto axes = call.axes_of("axes", 1,
                           x.ndim() + static_cast<int>(std::min<std::size_t>(given->size(), 16)));
  std::sort(axes->begin(), axes->end());
  Tensor result = x;
  for (const int axis : *axes) result = unsqueeze(result, axis);
  return {result};
}

Tensors shape_of(const OnnxCall& call) {
  const Tensor& x = call.in(0);
  const auto clamped = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + x.ndim() : at, 0, x.ndim());
  };
  const std::int64_t start = clamped(call.integer("start", 0));
  const std::int64_t end = clamped(call.integer("end", x.ndim()));
  Integers sizes;
  for (std::int64_t i = start; i < end; ++i) sizes.push_back(x.dim(static_cast<int>(i)));
  return {integers_tensor(sizes)};
}

Tensors size_op(const OnnxCall& call) {
  return {Tensor(Array::from(Integers{call.in(0).size()}, {}))};
}

Tensors concat_of(const OnnxCall& call) {
  const int axis =
      call.axis(call.required("axis", OnnxAttributeKind::kInteger).integer, call.in(0).ndim());
  return {concat(call.inputs(), axis)};
}

Tensors split_of(const OnnxCall& call) {
  const Tensor& x = call.in(0);
  const int axis = call.axis(call.integer("axis", 0), x.ndim());
  const auto count = static_cast<std::int64_t>(call.node().outputs.size());
  if (const auto lengths = call.integers_of("split", 1)) {
    if (static_cast<std::int64_t>(lengths->size()) != count) {
      call.fail("a length for each output", std::to_string(lengths->size()));
    }
    return split(x, *lengths, axis);
  }
  // Equal parts; from version 18 on the last may be shorter.
  const std::int64_t each = (x.dim(axis) + count - 1) / count;
  Integers lengths;
  for (std::int64_t i = 0; i < count; ++i) {
    lengths.push_back(std::clamp<std::int64_t>(x.dim(axis) - i * each, 0, each));
  }
  return split(x, lengths, axis);
}

Tensors slice_of(const OnnxCall& call) {
  Tensor x = call.in(0);
  const auto starts = call.integers_of("starts", 1);
  const auto ends = call.integers_of("ends", 2);
  if (!starts || !ends || starts->size() != ends->size()) call.fail("starts and ends", "others");
  auto axes = call.axes_of("axes", 3, x.ndim());
  if (!axes) {
    axes.emplace();
    for (std::size_t i = 0; i < starts->size(); ++i) {
      axes->push_back(call.axis(static_cast<std::int64_t>(i), x.ndim()));
    }
  }
  const Integers steps = call.has(4) ? call.integers_in(4) : Integers(starts->size(), 1);
  if (axes->size() != starts->size() || steps.size() != starts->size()) {
    call.fail("as many axes and steps as starts", std::to_string(axes->size()));
  }
  for (std::size_t i = 0; i < starts->size(); ++i) {
    if (steps[i] == 0) call.fail("steps other than 0", "0");
    const std::int64_t size = x.dim((*axes)[i]);
    // Python's slice() would take end -1 as the last element; ONNX too, but lets it be far below.
    const auto bounded = [&](std::int64_t at) { return std::clamp(at, -size - 1, size); };
    const std::int64_t step = std::clamp(steps[i], -size - 1, size + 1);
    x = slice(x, (*axes)[i], bounded((*starts)[i]), bounded((*ends)[i]), step);
  }
  return {x};
}

Tensors expand_of(const OnnxCall& call) {
  const Tensor& x = call.in(0);
  const Shape shape = broadcast_shapes(x.shape(), call.bounded(call.integers_in(1)));
  return {expand(x, call.bounded(shape))};
}

Tensors tile_of(const OnnxCall& call) {
  const Tensor& x = call.in(0);
  const Integers counts = call.integers_in(1);
  if (static_cast<int>(counts.size()) != x.ndim()) {
    call.fail("a count for each axis", std::to_string(counts.size()));
  }
  Integers shape;
  for (int i = 0; i < x.ndim(); ++i) {
    const std::int64_t count = counts[static_cast<std::size_t>(i)];
    if (count < 0 || (x.dim(i) > 0 && count > kOnnxValuesMax / x.dim(i))) {
      call.fail("counts that fit", std::to_string(count));
    }
    shape.push_back(x.dim(i) * count);
  }
  call.bounded(shape);
  return {tile(x, counts)};
}

// Positions along an axis of `size` with `before` and `after` more, for the modes that repeat.
Array mirrored(std::int64_t before, std::int64_t size, std::int64_t after,
               const std::string& mode) {
  Integers places;
  for (std::int64_t i = -before; i < size + after; ++i) {
    std::int64_t at = 0;
    if (mode == "edge") {
      at = std::clamp<std::int64_t>(i, 0, size - 1);
    } else if (mode == "wrap") {
      at = (i % size + size) % size;
    } else {
      const std::int64_t period = std::max<std::int64_t>(1, 2 * (size - 1));
      at = (i % period + period) % period;
      at = std::min(at, period - at);
    }
    places.push_back(at);
  }
  return Array::from(places, {static_cast<std::int64_t>(places.size())});
}

Tensors pad_of(const OnnxCall& call) {
  Tensor x = call.in(0);
  const std::string mode = call.text("mode", "constant");
  const auto pads = call.integers_of("pads", 1);
  auto axes = call.axes_of("", 3, x.ndim());
  if (!axes) {
    axes.emplace(static_cast<std::size_t>(x.ndim()));
    std::iota(axes->begin(), axes->end(), 0);
  }
  if (!pads || pads->size() != 2 * axes->size()) call.fail("two pads for each axis", "others");
  const double value = call.has(2) ? call.in(2).array().item() : call.number("value", 0.0);
  std::vector<AxisPadding> padding(static_cast<std::size_t>(x.ndim()));
  Integers shape(x.shape().begin(), x.shape().end());
  for (std::size_t i = 0; i < axes->size(); ++i) {
    const int axis = (*axes)[i];
    const auto place = static_cast<std::size_t>(axis);
    AxisPadding own{(*pads)[i], (*pads)[i + axes->size()]};
    const std::int64_t limit = kOnnxValuesMax;
    if (std::max(own.before, own.after) > limit || std::min(own.before, own.after) < -limit) {
      call.fail("pads that fit", std::to_string(own.before));
    }
    // Negative pads cut.
    const std::int64_t size = x.dim(axis);
    const std::int64_t begin = std::min(std::max<std::int64_t>(0, -own.before), size);
    x = slice(x, axis, begin, std::max(begin, size + std::min<std::int64_t>(0, own.after)));
    padding[place] = {std::max<std::int64_t>(0, own.before), std::max<std::int64_t>(0, own.after)};
    shape[place] = x.dim(axis) + padding[place].before + padding[place].after;
  }
  call.bounded(shape);
  if (mode == "constant") return {pad(x, padding, PadMode::kConstant, value)};
  for (int axis = 0; axis < x.ndim(); ++axis) {
    const auto [before, after] = padding[static_cast<std::size_t>(axis)];
    if (before == 0 && after == 0) continue;
    if (x.dim(axis) == 0) call.fail("values to repeat", "none");
    x = index_select(x, axis, mirrored(before, x.dim(axis), after, mode));
  }
  return {x};
}

Tensors constant_of(const OnnxCall& call) {
  const OnnxNode& node = call.node();
  if (node.attributes.size() != 1)
    call.fail("one attribute", std::to_string(node.attributes.size()));
  const OnnxAttribute& given = node.attributes[0];
  const auto length = [](std::size_t size) { return Shape{static_cast<std::int64_t>(size)}; };
  if (given.name == "value" && given.kind == OnnxAttributeKind::kTensor) {
    return {Tensor(given.tensor)};
  }
  if (given.name == "value_float") return {full({}, given.number)};
  if (given.name == "value_floats") {
    return {Tensor(Array::from(given.numbers, length(given.numbers.size())))};
  }
  if (given.name == "value_int") return {Tensor(Array::from(Integers{given.integer}, {}))};
  if (given.name == "value_ints") return {integers_tensor(given.integers)};
  call.fail("numbers as value", given.name);
}

Tensors constant_of_shape(const OnnxCall& call) {
  const Shape shape = call.bounded(call.integers_in(0));
  const OnnxAttribute* const value = call.node().find("value");
  if (value == nullptr) return {zeros(shape)};
  if (value->kind != OnnxAttributeKind::kTensor || value->tensor.size() != 1) {
    call.fail("one value", "others");
  }
  return {Tensor(value->tensor.reshape(Shape()).expand(shape).clone())};
}

Tensors range_of(const OnnxCall& call) {
  const DType dtype = call.in(0).dtype();
  const double start = call.in(0).array().item();
  const double stop = call.in(1).array().item();
  const double step = call.in(2).array().item();
  const double count = std::max(0.0, std::ceil((stop - start) / step));
  if (!(count <= static_cast<double>(kOnnxValuesMax))) {
    call.fail("a step that ends the range", std::to_string(step));
  }
  const Tensor places = arange(static_cast<std::int64_t>(count));
  if (!is_floating(dtype)) return {cast(places * step + start, dtype)};
  return {cast(cast(places, DType::kF64) * step + start, dtype)};
}

// first - second cos(2 pi i / N) + third cos(4 pi i / N)
Tensors cosine_window(const OnnxCall& call, double first, double second, double third) {
  const std::int64_t size = call.in(0).array().item_int();
  call.bounded(std::vector<std::int64_t>{size});
  const std::optional<DType> dtype = dtype_of_onnx(call.integer("output_datatype", 1));
  if (!dtype) call.fail("a type that Weft has", "another");
  const std::int64_t period = call.integer("periodic", 1) != 0 ? size : size - 1;
  const double turn = 2.0 * M_PI / static_cast<double>(std::max<std::int64_t>(1, period));
  const Tensor angle = cast(arange(size), DType::kF64) * turn;
  return {cast(add(mul(cos(angle), -second) + mul(cos(angle * 2.0), third), first), *dtype)};
}
Tensors hann_window(const OnnxCall& call) { return cosine_window(call, 0.5, 0.5, 0.0); }
Tensors hamming_window(const OnnxCall& call) {
  return cosine_window(call, 25.0 / 46.0, 21.0 / 46.0, 0.0);
}
Tensors blackman_window(const OnnxCall& call) { return cosine_window(call, 0.42, 0.5, 0.08); }

Tensors eye_like(const OnnxCall& call) {
  const Tensor& x = call.in(0);
  if (x.ndim() != 2) call.fail("two axes", to_string(x.shape()));
  const std::optional<DType> dtype = dtype_of_onnx(call.integer("dtype", onnx_type(x.dtype())));
  if (!dtype) call.fail("a type that Weft has", "another");
  const std::int64_t k = call.integer("k", 0);
  const Tensor rows = reshape(arange(x.dim(0)), {x.dim(0), 1});
  return {cast(eq(reshape(arange(x.dim(1)), {1, x.dim(1)}), add(rows, static_cast<double>(k))),
               *dtype)};
}

Tensors trilu(const OnnxCall& call) {
  const std::int64_t k = call.has(1) ? call.in(1).array().item_int() : 0;
  const Tensor& x = call.in(0);
  if (x.ndim() < 2) call.fail("at least two axes", to_string(x.shape()));
  const std::int64_t bounded = std::clamp(k, -x.dim(-2) - 1, x.dim(-1) + 1);
  const Tensor places =
      reshape(arange(x.dim(-1)), {1, x.dim(-1)}) - reshape(arange(x.dim(-2)), {x.dim(-2), 1});
  const auto at = static_cast<double>(bounded);
  const Tensor kept = call.integer("upper", 1) != 0 ? ge(places, at) : le(places, at);
  return {where(kept, x, zeros_like(x))};
}

Tensors depth_to_space(const OnnxCall& call) {
  const Tensor& x = call.in(0);
  const std::int64_t b = call.required("blocksize", OnnxAttributeKind::kInteger).integer;
  if (x.ndim() != 4 || b < 1 || b > 4096 || x.dim(1) % (b * b) != 0) {
    call.fail("[N, C b b, H, W]", to_string(x.shape()));
  }
  const std::int64_t channels = x.dim(1) / (b * b);
  const bool columns_first = call.text("mode", "DCR") == "DCR";
  const Shape parts = columns_first ? Shape{x.dim(0), b, b, channels, x.dim(2), x.dim(3)}
                                    : Shape{x.dim(0), channels, b, b, x.dim(2), x.dim(3)};
  const std::vector<int> order =
      columns_first ? std::vector<int>{0, 3, 4, 1, 5, 2} : std::vector<int>{0, 1, 4, 2, 5, 3};
  return {
      reshape(permute(reshape(x, parts), order), {x.dim(0), channels, x.dim(2) * b, x.dim(3) * b})};
}

Tensors space_to_depth(const OnnxCall& call) {
  const Tensor& x = call.in(0);
  const std::int64_t b = call.required("blocksize", OnnxAttributeKind::kInteger).integer;
  if (x.ndim() != 4 || b < 1 || x.dim(2) % b != 0 || x.dim(3) % b != 0) {
    call.fail("[N, C, H b, W b]", to_string(x.shape()));
  }
  const Shape parts = {x.dim(0), x.dim(1), x.dim(2) / b, b, x.dim(3) / b, b};
  return {reshape(permute(reshape(x, parts), {0, 3, 5, 1, 2, 4}),
                  {x.dim(0), x.dim(1) * b * b, x.dim(2) / b, x.dim(3) / b})};
}

constexpr OnnxOperator kShapeOps[] = {
    {"BlackmanWindow", blackman_window},
    {"Concat", concat_of},
    {"Constant", constant_of},
    {"ConstantOfShape", constant_of_shape},
    {"DepthToSpace", depth_to_space},
    {"Expand", expand_of},
    {"EyeLike", eye_like},
    {"Flatten", flatten_of},
    {"HammingWindow", hamming_window},
    {"HannWindow", hann_window},
    {"Pad", pad_of},
    {"Range", range_of},
    {"Reshape", reshape_of},
    {"Shape", shape_of},
    {"Size", size_op},
    {"Slice", slice_of},
    {"SpaceToDepth", space_to_depth},
    {"Split", split_of},
    {"Squeeze", squeeze_of},
    {"Tile", tile_of},
    {"Transpose", transpose_of},
    {"Trilu", trilu},
    {"Unsqueeze", unsqueeze_of},
};

}  // namespace

std::span<const OnnxOperator> onnx_shape_ops() { return kShapeOps; }

}  // namespace weft
