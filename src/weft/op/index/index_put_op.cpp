// Samples of index_put, which stands with index in index_op.cpp.
#include "weft/op/core/index_samples.h"
#include "weft/op/index.h"

namespace weft {

// x[rows, columns] = or += values, `columns` broadcast against `rows`.
static Array index_put_reference(std::span<const Array> in, bool add) {
  Array y = in[0].clone();
  const std::int64_t columns = in[2].size();
  for (std::int64_t i = 0; i < in[1].size(); ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      double& value = y.data<double>()[in[1].data<std::int64_t>()[i] * y.dim(1) +
                                       in[2].data<std::int64_t>()[j]];
      value = in[3].data<double>()[i * columns + j] + (add ? value : 0.0);
    }
  }
  return y;
}

static OpSample index_put_sample(const char* name, const Shape& x, std::int64_t rows,
                                 std::int64_t columns, bool add) {
  const auto positions = [add](std::int64_t count, std::int64_t below, std::uint64_t seed) {
    return add ? sample_indexes({count}, below, seed) : sample_distinct_indexes(count, below, seed);
  };
  return {name,
          {sample_values(x, 561), positions(rows, x[0], 562), positions(columns, x[1], 563),
           sample_values({rows, columns}, 564)},
          [add](std::span<const Tensor> in) {
            const Array of_rows = in[1].array().unsqueeze(1);
            return index_put(in[0], {of_rows, in[2].array()}, in[3], add);
          },
          [add](std::span<const Array> in) { return index_put_reference(in, add); }};
}

static std::vector<OpSample> index_put_samples() {
  return {index_put_sample("write", {5, 4}, 3, 2, false),
          index_put_sample("add, positions repeat", {3, 4}, 5, 6, true),
          index_put_sample("one element", {1, 1}, 1, 1, true),
          index_put_sample("nothing", {3, 2}, 0, 2, true),
          OpSample{"one value for all of a row",
                   {sample_values({3, 4}, 565), sample_values({}, 566)},
                   [](std::span<const Tensor> in) {
                     const Array row =
                         Array::from(std::vector<std::int64_t>{-2}, {1}).to(in[0].device());
                     return index_put(in[0], {row}, in[1]);
                   },
                   [](std::span<const Array> in) {
                     Array y = in[0].clone();
                     y.select(0, 1).fill(in[1].item());
                     return y;
                   }}};
}
extern const OpDef index_put_op = {"index_put", index_put_samples};

}  // namespace weft
