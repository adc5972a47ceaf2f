// Operators that pick, put, order and count values.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "weft/io/onnx/onnx_operator.h"
#include "weft/op/ops.h"

namespace weft {
namespace {

using Tensors = std::vector<Tensor>;
using Integers = std::vector<std::int64_t>;

// Positions along an axis of `size`, negative ones from the end; i64, in [0, size).
Array positions(const OnnxCall& call, const Tensor& given, std::int64_t size) {
  if (!is_integer(given.dtype())) call.fail("integer positions", "others");
  Array places = given.array().strided().to(DType::kI64).contiguous().clone();
  for (std::int64_t& place : places.flat<std::int64_t>()) {
    if (place < -size || place >= size) {
      call.fail(fmt::format("positions in [{}, {})", -size, size), fmt::format("{}", place));
    }
    if (place < 0) place += size;
  }
  return places;
}

Tensors gather_of(const OnnxCall& call) {
  const Tensor& x = call.in(0);
  const int axis = call.axis(call.integer("axis", 0), x.ndim());
  const Array places = positions(call, call.in(1), x.dim(axis));
  Integers shape(x.shape().begin(), x.shape().begin() + axis);
  shape.insert(shape.end(), places.shape().begin(), places.shape().end());
  shape.insert(shape.end(), x.shape().begin() + axis + 1, x.shape().end());
  const Shape bounded = call.bounded(shape);
  return {reshape(index_select(x, axis, places.reshape({places.size()})), bounded)};
}

Tensors gather_elements(const OnnxCall& call) {
  const Tensor& x = call.in(0);
  const int axis = call.axis(call.integer("axis", 0), x.ndim());
  return {gather(x, axis, positions(call, call.in(1), x.dim(axis)))};
}

// For each row of `given` [..., k], which names an element of the first k axes of `shape`: its
// place among them.
Integers flat_places(const OnnxCall& call, const Tensor& given,
                     std::span<const std::int64_t> shape) {
  const Integers all = call.integers_in(1);
  const auto k = static_cast<std::size_t>(given.dim(-1));
  Integers places;
  for (std::size_t row = 0; k > 0 && row < all.size(); row += k) {
    std::int64_t flat = 0;
    for (std::size_t i = 0; i < k; ++i) {
      const std::int64_t place = all[row + i];
      if (place < -shape[i] || place >= shape[i]) {
        call.fail(fmt::format("positions in [{}, {})", -shape[i], shape[i]),
                  fmt::format("{}", place));
      }
      flat = flat * shape[i] + (place < 0 ? place + shape[i] : place);
    }
    places.push_back(flat);
  }
  return places;
}

std::int64_t product(std::span<const std::int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

Array as_array(const Integers& values) {
  return Array::from(values, {static_cast<std::int64_t>(values.size())});
}

Tensors gather_nd(const OnnxCall& call) {
  const Tensor& x = call.in(0);
  const Tensor& given = call.in(1);
  const std::int64_t batch = call.integer("batch_dims", 0);
  if (given.ndim() < 1 || batch < 0 || batch >= given.ndim() || batch + given.dim(-1) > x.ndim()) {
    call.fail("positions [..., k] with k axes of the data behind batch_dims",
              to_string(given.shape()));
  }
  const std::span<const std::int64_t> shape(x.shape().begin(), x.shape().end());
  const auto skipped = static_cast<std::size_t>(batch);
  const auto k = static_cast<std::size_t>(given.dim(-1));
  if (!std::equal(shape.begin(), shape.begin() + batch, given.shape().begin())) {
    call.fail("the data's batch axes", to_string(given.shape()));
  }
  Integers places = flat_places(call, given, shape.subspan(skipped));
  const std::int64_t inner = product(shape.subspan(skipped, k));
  const std::int64_t batches = product(shape.first(skipped));
  const std::size_t each =
      places.size() / static_cast<std::size_t>(std::max<std::int64_t>(1, batches));
  for (std::size_t i = 0; each > 0 && i < places.size(); ++i) {
    places[i] += static_cast<std::int64_t>(i / each) * inner;
  }
  Integers result(given.shape().begin(), given.shape().end() - 1);
  const auto rest = shape.subspan(skipped + k);
  result.insert(result.end(), rest.begin(), rest.end());
  const Shape bounded = call.bounded(result);
  const Tensor rows = reshape(x, {batches * inner, product(rest)});
  return {reshape(index_select(rows, 0, as_array(places)), bounded)};
}

// Without an axis, sorted; where each value stands first is worked out here.
Tensors unique_of(const OnnxCall& call) {
  if (call.node().find("axis") != nullptr || call.integer("sorted", 1) == 0) {
    call.fail("sorted values of the whole input", "an axis, or another order");
  }
  const Tensor& x = call.in(0);
  const Unique found = unique(x.array().strided().contiguous().reshape({x.size()}));
  Integers first(static_cast<std::size_t>(found.values.size()), -1);
  const Integers inverse = found.inverse.to_vector<std::int64_t>();
  for (std::size_t i = inverse.size(); i > 0; --i) {
    first[static_cast<std::size_t>(inverse[i - 1])] = static_cast<std::int64_t>(i - 1);
  }
  return {Tensor(found.values), Tensor(as_array(first)), Tensor(found.inverse),
          Tensor(found.counts)};
}

void require_plain(const OnnxCall& call, const std::string& reduction) {
  if (reduction != "none" && reduction != "add") call.fail("reduction none or add", reduction);
}

Tensors scatter_elements(const OnnxCall& call) {
  const Tensor& x = call.in(0);
  const int axis = call.axis(call.integer("axis", 0), x.ndim());
  const std::string reduction = call.text("reduction", "none");
  require_plain(call, reduction);
  const Array places = positions(call, call.in(1), x.dim(axis));
  if (reduction == "add") return {scatter_add(x, axis, places, call.in(2))};
  return {scatter(x, axis, places, call.in(2))};
}

Tensors scatter_nd(const OnnxCall& call) {
  const Tensor& x = call.in(0);
  const Tensor& given = call.in(1);
  const std::string reduction = call.text("reduction", "none");
  require_plain(call, reduction);
  if (given.ndim() < 1 || given.dim(-1) > x.ndim()) {
    call.fail("positions [..., k] of k axes of the data", to_string(given.shape()));
  }
  const std::span<const std::int64_t> shape(x.shape().begin(), x.shape().end());
  const auto k = static_cast<std::size_t>(given.dim(-1));
  const Array places = as_array(flat_places(call, given, shape));
  const std::int64_t width = product(shape.subspan(k));
  const Tensor rows = reshape(x, {product(shape.first(k)), width});
  if (call.in(2).size() != places.size() * width) {
    call.fail("updates of " + to_string(given.shape()), to_string(call.in(2).shape()));
  }
  const Tensor updates = reshape(call.in(2), {places.size(), width});
  const Tensor changed = reduction == "add" ? index_add(rows, 0, places, updates)
                                            : index_copy(rows, 0, places, updates);
  return {reshape(changed, x.shape())};
}

Tensors one_hot_of(const OnnxCall& call) {
  const Tensor& given = call.in(0);
  const std::int64_t depth =
      call.in(1).array().strided().to(DType::kI64).reshape(Shape()).item_int();
  const Tensor& values = call.in(2);
  if (values.size() != 2 || values.ndim() != 1)
    call.fail("values [off, on]", to_string(values.shape()));
  const int axis = call.axis(call.integer("axis", -1), given.ndim() + 1);
  Integers shape(given.shape().begin(), given.shape().end());
  shape.insert(shape.begin() + axis, depth);
  const Shape bounded = call.bounded(shape);
  Integers line(bounded.begin(), bounded.end());
  for (int i = 0; i < bounded.size(); ++i)
    line[static_cast<std::size_t>(i)] = i == axis ? depth : 1;
  const Tensor raw = cast(given, DType::kI64);
  const Tensor places = unsqueeze(where(lt(raw, 0.0), raw + static_cast<double>(depth), raw), axis);
  const Tensor hit = eq(places, reshape(arange(depth), Shape(std::span<const std::int64_t>(line))));
  return {where(hit, slice(values, 0, 1, 2), slice(values, 0, 0, 1))};
}

Tensors nonzero_of(const OnnxCall& call) { return {transpose(Tensor(nonzero(call.in(0))), 0, 1)}; }

Tensors compress(const OnnxCall& call) {
  const OnnxAttribute* const given = call.node().find("axis");
  Tensor x = call.in(0);
  if (given == nullptr) x = reshape(x, {x.size()});
  const int axis = given == nullptr ? 0 : call.axis(given->integer, x.ndim());
  if (call.in(1).dtype() != DType::kBool) call.fail("a bool condition", "another type");
  const std::vector<bool> condition = call.in(1).array().to_vector<bool>();
  if (static_cast<std::int64_t>(condition.size()) > x.dim(axis)) {
    call.fail("a condition no longer than the axis", std::to_string(condition.size()));
  }
  Integers places;
  for (std::size_t i = 0; i < condition.size(); ++i) {
    if (condition[i]) places.push_back(static_cast<std::int64_t>(i));
  }
  return {index_select(x, axis, as_array(places))};
}

Tensors top_k(const OnnxCall& call) {
  const Tensor& x = call.in(0);
  const int axis = call.axis(call.integer("axis", -1), x.ndim());
  const std::int64_t k = call.has(1) ? call.in(1).array().item_int() : call.integer("k", 0);
  const Ordered found = topk(x, k, axis, call.integer("largest", 1) != 0);
  return {found.values, found.indices};
}

Tensors cumulative_sum(const OnnxCall& call) {
  Tensor x = call.in(0);
  const int axis = call.axis(call.in(1).array().item_int(), x.ndim());
  const bool reverse = call.integer("reverse", 0) != 0;
  if (reverse) x = flip(x, {axis});
  Tensor sums = cumsum(x, axis);
  if (call.integer("exclusive", 0) != 0) sums = sub(sums, x);
  sums = cast(sums, x.dtype());
  return {reverse ? flip(sums, {axis}) : sums};
}

Tensors reverse_sequence(const OnnxCall& call) {
  const Tensor& x = call.in(0);
  const std::int64_t batch_axis = call.integer("batch_axis", 1);
  const std::int64_t time_axis = call.integer("time_axis", 0);
  if (x.ndim() < 2 || batch_axis + time_axis != 1 || batch_axis * time_axis != 0) {
    call.fail("batch and time as the first two axes", to_string(x.shape()));
  }
  const Tensor by_row = batch_axis == 0 ? x : transpose(x, 0, 1);
  const Integers lengths = call.integers_in(1);
  if (static_cast<std::int64_t>(lengths.size()) != by_row.dim(0)) {
    call.fail("a length for each row", std::to_string(lengths.size()));
  }
  const std::int64_t steps = by_row.dim(1);
  Integers places;
  for (std::size_t row = 0; row < lengths.size(); ++row) {
    if (lengths[row] < 0 || lengths[row] > steps) call.fail("lengths of at most the axis", "more");
    for (std::int64_t i = 0; i < steps; ++i) {
      const std::int64_t at = i < lengths[row] ? lengths[row] - 1 - i : i;
      places.push_back(static_cast<std::int64_t>(row) * steps + at);
    }
  }
  const std::int64_t rows = by_row.dim(0) * steps;
  const std::int64_t width = rows == 0 ? 0 : x.size() / rows;
  const Tensor picked = index_select(reshape(by_row, {rows, width}), 0, as_array(places));
  const Tensor result = reshape(picked, by_row.shape());
  return {batch_axis == 0 ? result : transpose(result, 0, 1)};
}

constexpr OnnxOperator kIndexOps[] = {
    {"Compress", compress},        {"CumSum", cumulative_sum},
    {"Gather", gather_of},         {"GatherElements", gather_elements},
    {"GatherND", gather_nd},       {"NonZero", nonzero_of},
    {"OneHot", one_hot_of},        {"ReverseSequence", reverse_sequence},
    {"Scatter", scatter_elements}, {"ScatterElements", scatter_elements},
    {"ScatterND", scatter_nd},     {"TopK", top_k},
    {"Unique", unique_of},
};

}  // namespace

std::span<const OnnxOperator> onnx_index_ops() { return kIndexOps; }

}  // namespace weft
