// split: parts along an axis as views; their gradients become one array.
#include "weft/op/core/operands.h"
#include "weft/op/shape.h"
#include "weft/op/shape/pick_values.h"

namespace weft {
namespace {

// The gradients of the parts behind each other; 0 for a part that got none.
template <class T>
std::vector<T> with_zeros(std::span<const T> parts, const Shape& shape,
                          const std::vector<std::int64_t>& lengths, int axis, DType dtype,
                          Device device) {
  std::vector<T> whole;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Shape part = shape;
    part[axis] = lengths[i];
    whole.push_back(parts[i].defined() ? parts[i] : T(Array::zeros(part, dtype, device)));
  }
  return whole;
}

}  // namespace

std::vector<Tensor> split(const Tensor& x, const std::vector<std::int64_t>& lengths, int axis) {
  const int at = normalize_axis("split", axis, x.ndim());
  const Array whole = x.array().strided();
  std::vector<Array> parts;
  std::int64_t end = 0;
  for (const std::int64_t length : lengths) {
    if (length < 0 || length > x.dim(at) - end) {
      throw_operand("split", "lengths of 0 or more that sum to " + std::to_string(x.dim(at)),
                    std::to_string(length) + " after " + std::to_string(end));
    }
    parts.push_back(whole.slice(at, end, end + length));
    end += length;
  }
  if (end != x.dim(at)) {
    throw_operand("split", "lengths that sum to " + std::to_string(x.dim(at)), std::to_string(end));
  }
  const Tensor* const inputs[] = {&x};
  return record_many(
      "split", std::move(parts), inputs,
      [=, shape = x.shape(), dtype = x.dtype(), device = x.device()](std::span<const Array> dy,
                                                                     const InputGradients& dx) {
        Array gradient = Array::empty(shape, dtype, device);
        std::int64_t begin = 0;
        for (std::size_t i = 0; i < dy.size(); ++i) {
          Array part = gradient.slice(at, begin, begin + lengths[i]);
          begin += lengths[i];
          if (dy[i].defined()) {
            part.copy_from(dy[i].strided());
          } else {
            part.fill(0);
          }
        }
        dx.add(0, std::move(gradient));
      },
      [=, shape = x.shape(), dtype = x.dtype(), device = x.device()](std::span<const Tensor> dy,
                                                                     const TensorGradients& dx) {
        dx.add(0, concat(with_zeros(dy, shape, lengths, at, dtype, device), at));
      });
}

std::vector<Tensor> split(const Tensor& x, std::int64_t length, int axis) {
  if (length < 1) throw_operand("split", "a length of 1 or more", std::to_string(length));
  std::vector<std::int64_t> lengths;
  const std::int64_t extent = x.dim(axis);
  for (std::int64_t begin = 0; begin < extent; begin += length) {
    lengths.push_back(std::min(length, extent - begin));
  }
  if (lengths.empty()) lengths.push_back(0);
  return split(x, lengths, axis);
}

std::vector<Tensor> chunk(const Tensor& x, std::int64_t count, int axis) {
  if (count < 1) throw_operand("chunk", "a count of 1 or more", std::to_string(count));
  if (x.dim(axis) == 0) {  // as many parts as asked for, all empty
    return split(x, std::vector<std::int64_t>(static_cast<std::size_t>(count), 0), axis);
  }
  return split(x, (x.dim(axis) + count - 1) / count, axis);
}

Tensor select(const Tensor& x, int axis, std::int64_t position) {
  const int at = normalize_axis("select", axis, x.ndim());
  const std::int64_t length = x.dim(at);
  if (position < -length || position >= length) {
    throw_operand("select",
                  "a position in [" + std::to_string(-length) + ", " + std::to_string(length) + ")",
                  std::to_string(position));
  }
  const std::int64_t begin = position < 0 ? position + length : position;
  return squeeze(slice(x, at, begin, begin + 1), at);
}

std::vector<Tensor> unbind(const Tensor& x, int axis) {
  const int at = normalize_axis("unbind", axis, x.ndim());
  const std::vector<std::int64_t> lengths(static_cast<std::size_t>(x.dim(at)), 1);
  std::vector<Tensor> parts = split(x, lengths, at);
  for (Tensor& part : parts) part = squeeze(part, at);
  return parts;
}

// Part `part` of columns.
static OpSample part_sample(const char* name, const Shape& shape, std::vector<std::int64_t> lengths,
                            std::size_t part) {
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < part; ++i) begin += lengths[i];
  return pick_sample(
      name, shape, [=](const Tensor& x) { return split(x, lengths, 1)[part]; },
      {shape[0], lengths[part]},
      [begin](Dims i) {
        return Dims{i[0], i[1] + begin};
      });
}

static std::vector<OpSample> split_samples() {
  return {part_sample("middle part", {3, 7}, {2, 3, 2}, 1),
          part_sample("empty part", {2, 4}, {4, 0}, 1),
          part_sample("one element", {1, 1}, {1}, 0),
          part_sample("no rows", {0, 4}, {1, 3}, 1),
          pick_sample(
              "all parts in another order", {2, 5},
              [](const Tensor& x) {
                const std::vector<Tensor> parts = split(x, 2, -1);
                return concat({parts[2], parts[0], parts[1]}, -1);
              },
              {2, 5},
              [](Dims i) {
                return Dims{i[0], (i[1] + 4) % 5};
              }),
          pick_sample(
              "the last of 3 chunks", {7}, [](const Tensor& x) { return chunk(x, 3, 0).back(); },
              {1}, [](Dims i) { return Dims{i[0] + 6}; }),
          pick_sample(
              "select", {3, 4}, [](const Tensor& x) { return select(x, 1, -2); }, {3},
              [](Dims i) {
                return Dims{i[0], 2};
              }),
          pick_sample(
              "unbind", {3, 4}, [](const Tensor& x) { return unbind(x, -1)[2]; }, {3},
              [](Dims i) {
                return Dims{i[0], 2};
              })};
}
extern const OpDef split_op = {"split", split_samples};

}  // namespace weft
