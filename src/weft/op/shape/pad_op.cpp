// pad: values around the last axes. kConstant: the gradient is the middle part; the other modes
// are selections of positions, whose gradients add up.
#include <algorithm>

#include "weft/array/launch.h"
#include "weft/op/core/operands.h"
#include "weft/op/index.h"
#include "weft/op/shape.h"
#include "weft/op/shape/pick_values.h"

namespace weft {
namespace {

// The parts of x and y that hold the same values.
struct Overlap {
  Array inner;
  Array outer;
};

Overlap overlap(const Array& x, const Array& y, const std::vector<AxisPadding>& padding) {
  Overlap result{x, y};
  const int first = x.ndim() - static_cast<int>(padding.size());
  for (std::size_t i = 0; i < padding.size(); ++i) {
    const int axis = first + static_cast<int>(i);
    const auto [before, after] = padding[i];
    const auto cut = [](std::int64_t amount) { return std::max<std::int64_t>(0, amount); };
    result.inner = result.inner.slice(axis, cut(-before), x.dim(axis) - cut(-after));
    result.outer = result.outer.slice(axis, cut(before), y.dim(axis) - cut(after));
  }
  return result;
}

Array padded(const Array& x, const Shape& shape, const std::vector<AxisPadding>& padding,
             double value) {
  Array y = Array::full(shape, value, x.dtype(), x.device());
  Overlap parts = overlap(x.strided(), y, padding);
  parts.outer.copy_from(parts.inner);
  return y;
}

Tensor pad_constant(const Tensor& x, const std::vector<AxisPadding>& padding, double value) {
  check_holds("pad", x.dtype(), value);
  Shape shape = x.shape();
  const int first = x.ndim() - static_cast<int>(padding.size());
  std::vector<AxisPadding> back;
  for (std::size_t i = 0; i < padding.size(); ++i) {
    std::int64_t& length = shape[first + static_cast<int>(i)];
    length += padding[i].before + padding[i].after;
    if (length < 0 || -padding[i].before > x.dim(first + static_cast<int>(i)) ||
        -padding[i].after > x.dim(first + static_cast<int>(i))) {
      throw_operand("pad", "padding that leaves a length", to_string(x.shape()));
    }
    back.push_back({-padding[i].before, -padding[i].after});
  }
  return record(
      "pad", padded(x.array(), shape, padding, value), {&x},
      [back, from = x.shape()](const Array& dy, const InputGradients& dx) {
        dx.add(0, padded(dy, from, back, 0));
      },
      [back](const Tensor& dy, const TensorGradients& dx) {
        dx.add(0, pad_constant(dy, back, 0));
      });
}

// Where each place of a padded axis of `length` takes its value from.
Array sources(std::int64_t length, const AxisPadding& padding, PadMode mode, Device device) {
  std::vector<std::int64_t> from;
  from.reserve(static_cast<std::size_t>(length + padding.before + padding.after));
  for (std::int64_t i = -padding.before; i < length + padding.after; ++i) {
    if (mode == PadMode::kReplicate) {
      from.push_back(std::clamp<std::int64_t>(i, 0, length - 1));
    } else {
      from.push_back(i < 0 ? -i : i >= length ? 2 * (length - 1) - i : i);
    }
  }
  const Array index = Array::from(from, {static_cast<std::int64_t>(from.size())});
  launch_constant(index);
  return index.to(device);
}

}  // namespace

Tensor pad(const Tensor& x, const std::vector<AxisPadding>& padding, PadMode mode, double value) {
  // No memory holds more, and sums of lengths do not wrap around.
  constexpr std::int64_t kPaddingMax = std::int64_t{1} << 40;
  for (const auto& [before, after] : padding) {
    for (const std::int64_t amount : {before, after}) {
      if (amount > kPaddingMax || amount < -kPaddingMax) {
        throw_operand("pad", "padding within 2^40", std::to_string(amount));
      }
    }
  }
  const int first = x.ndim() - static_cast<int>(padding.size());
  if (first < 0) {
    throw_operand("pad", "padding of at most " + std::to_string(x.ndim()) + " axes",
                  std::to_string(padding.size()));
  }
  if (mode == PadMode::kConstant) return pad_constant(x, padding, value);
  Tensor y = x;
  for (std::size_t i = 0; i < padding.size(); ++i) {
    const int axis = first + static_cast<int>(i);
    const auto [before, after] = padding[i];
    const std::int64_t length = x.dim(axis);
    const std::int64_t limit = mode == PadMode::kReflect ? length : std::max(before, after) + 1;
    if (before < 0 || after < 0 || before >= limit || after >= limit || length == 0) {
      throw_operand("pad", "padding in [0, " + std::to_string(limit) + ") of a filled axis",
                    std::to_string(before) + " and " + std::to_string(after) + " of length " +
                        std::to_string(length));
    }
    if (before + after > 0)
      y = index_select(y, axis, sources(length, padding[i], mode, y.device()));
  }
  return y;
}

static std::vector<OpSample> pad_samples() {
  const auto sample = [](const char* name, const Shape& from,
                         const std::vector<AxisPadding>& padding, const Shape& to, PadMode mode) {
    return pick_sample(
        name, from, [=](const Tensor& x) { return pad(x, padding, mode); }, to,
        [=](Dims i) -> std::optional<Dims> {
          for (std::size_t k = 0; k < padding.size(); ++k) {
            const int axis = from.size() - static_cast<int>(padding.size() - k);
            i[axis] -= padding[k].before;
            const std::int64_t length = from[axis];
            if (i[axis] >= 0 && i[axis] < length) continue;
            if (mode == PadMode::kConstant) return {};
            // One step at a time back from outside.
            if (mode == PadMode::kReplicate) i[axis] = i[axis] < 0 ? 0 : length - 1;
            if (i[axis] < 0) i[axis] = -i[axis];
            if (i[axis] >= length) i[axis] = length - 1 - (i[axis] - (length - 1));
          }
          return i;
        });
  };
  return {sample("rows and columns", {2, 3}, {{1, 0}, {2, 1}}, {3, 6}, PadMode::kConstant),
          sample("last axis", {2, 3}, {{0, 2}}, {2, 5}, PadMode::kConstant),
          sample("cut off", {4, 5}, {{-1, 1}, {2, -3}}, {4, 4}, PadMode::kConstant),
          sample("not at all", {2, 3}, {}, {2, 3}, PadMode::kConstant),
          sample("one element", {1}, {{0, 0}}, {1}, PadMode::kConstant),
          sample("an empty axis", {0, 2}, {{1, 1}, {0, 0}}, {2, 2}, PadMode::kConstant),
          sample("reflect", {2, 4}, {{1, 1}, {3, 2}}, {4, 9}, PadMode::kReflect),
          sample("replicate", {3, 2}, {{2, 1}, {0, 4}}, {6, 6}, PadMode::kReplicate)};
}
extern const OpDef pad_op = {"pad", pad_samples};

}  // namespace weft
