// embedding: y[i] = table[tokens[i]]; the gradient of a row is the sum over its tokens.
#include "weft/array/launch.h"
#include "weft/autograd/op_trace.h"
#include "weft/kernel/index/gather.h"
#include "weft/op/core/index_samples.h"
#include "weft/op/core/operands.h"
#include "weft/op/embedding.h"
#include "weft/op/index.h"
#include "weft/op/shape.h"

namespace weft {
namespace {

void check_table(const Shape& table) {
  if (table.size() != 2) throw_operand("embedding", "a table [rows, width]", to_string(table));
}

Shape with_width(Shape shape, std::int64_t width) {
  shape.push_back(width);
  return shape;
}

// The number of the row that takes no gradient, -1 if every row does.
std::int64_t padding_row(const EmbeddingOptions& options, std::int64_t rows) {
  if (!options.padding_index) return -1;
  const std::int64_t row = *options.padding_index;
  if (row < -rows || row >= rows) {
    throw_operand(
        "embedding",
        "a padding_index in [" + std::to_string(-rows) + ", " + std::to_string(rows) + ")",
        std::to_string(row));
  }
  return row < 0 ? row + rows : row;
}

// What the padding row got is taken off again: `before` is what it held, undefined for zeros.
void add_table_gradient(const Array& dy, const Array& tokens, std::int64_t padding,
                        const InputGradients& dx, const Shape& table) {
  const Array rows = dy.contiguous().reshape({tokens.size(), table.back()});
  if (size_of(dy.dtype()) < sizeof(float)) {
    Array gradient = sum_rows("embedding", table, 0, tokens, rows);
    if (padding >= 0) gradient.select(0, padding).fill(0);
    dx.add(0, std::move(gradient));
    return;
  }
  GradientTarget target = dx.target(0);
  if (!target.accumulate) target.array.fill(0);
  Array before;
  if (padding >= 0) before = target.array.select(0, padding).clone();
  add_rows_into("embedding", target.array, tokens, rows);
  if (padding >= 0) target.array.select(0, padding).copy_from(before);
}

}  // namespace

Tensor embedding(const Tensor& table, const IndexOperand& tokens, const EmbeddingOptions& options) {
  check_table(table.shape());
  const Array numbers = tokens.indexes("embedding", "tokens");
  const Array flat = numbers.reshape({numbers.size()});
  const std::int64_t padding = padding_row(options, table.dim(0));
  Array y = select_rows("embedding", table.array(), 0, flat)
                .reshape(with_width(tokens.shape(), table.dim(1)));
  const Tensor kept(flat);  // an input, so that a write to it is noticed
  if (op_tracing()) {
    trace_attributes("embedding", {{"tokens", {}, tokens.array()}});
  }
  if (!recording({&table, &kept})) return unrecorded("embedding", std::move(y), {&table, &kept});
  return record(
      "embedding", std::move(y), {&table, &kept},
      [=, shape = table.shape()](const Array& dy, const InputGradients& dx) {
        add_table_gradient(dy, flat, padding, dx, shape);
      },
      [=, shape = table.shape()](const Tensor& dy, const TensorGradients& dx) {
        const Tensor zero(Array::zeros(shape, dy.dtype(), dy.device()));
        Tensor gradient = index_add(zero, 0, flat, reshape(dy, {flat.size(), shape.back()}));
        if (padding >= 0) {
          Array mask = Array::zeros({shape[0], 1}, DType::kBool, dy.device());
          mask.select(0, padding).fill(1);
          gradient = masked_fill(gradient, mask, 0);
        }
        dx.add(0, gradient);
      });
}

SparseEmbedding sparse_embedding(const Array& table, const IndexOperand& tokens) {
  check_table(table.shape());
  const Array numbers = tokens.indexes("embedding", "tokens");
  const Array flat = numbers.reshape({numbers.size()});
  const Tensor looked_up(select_rows("embedding", table, 0, flat), true);
  const Tensor output = reshape(looked_up, with_width(tokens.shape(), table.dim(1)));
  return {output, looked_up, flat, table.shape()};
}

SparseRows sparse_rows(const SparseEmbedding& embedding, const EmbeddingOptions& options) {
  launch_host_read("sparse_rows");
  const Array& gradient = embedding.looked_up.grad();
  if (!gradient.defined()) throw_operand("sparse_rows", "an embedding after backward", "none");
  const std::int64_t padding = padding_row(options, embedding.table_shape[0]);
  Unique unique_tokens = unique(embedding.tokens);
  const DType dtype = gradient.dtype();
  const DType wide = size_of(dtype) < sizeof(float) ? DType::kF32 : dtype;
  Array sums = Array::zeros({unique_tokens.values.size(), embedding.table_shape[1]}, wide,
                            gradient.device());
  add_rows_into("sparse_rows", sums, unique_tokens.inverse, gradient.to(wide));
  SparseRows result{unique_tokens.values, sums.to(dtype), embedding.table_shape};
  if (padding < 0) return result;
  std::vector<std::int64_t> kept;
  const std::vector<std::int64_t> rows = result.rows.to_vector<std::int64_t>();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] != padding) kept.push_back(static_cast<std::int64_t>(i));
  }
  const Array places =
      Array::from(kept, {static_cast<std::int64_t>(kept.size())}).to(gradient.device());
  result.rows = select_rows("sparse_rows", result.rows, 0, places);
  result.values = select_rows("sparse_rows", result.values, 0, places);
  return result;
}

Array to_dense(const SparseRows& gradient) {
  return put_rows("to_dense",
                  Array::zeros(gradient.shape, gradient.values.dtype(), gradient.values.device()),
                  0, gradient.rows, gradient.values, ScatterMode::kAssign);
}

static std::vector<OpSample> embedding_samples() {
  const auto sample = [](const char* name, const Shape& tokens, std::int64_t rows,
                         std::int64_t width) {
    return OpSample{name,
                    {sample_values({rows, width}, 571), sample_indexes(tokens, rows, 572)},
                    [](std::span<const Tensor> in) { return embedding(in[0], in[1]); },
                    [tokens, width](std::span<const Array> in) {
                      Array y = Array::empty(with_width(tokens, width), DType::kF64);
                      for (std::int64_t i = 0; i < y.size(); ++i) {
                        const std::int64_t row = in[1].data<std::int64_t>()[i / width];
                        y.data<double>()[i] = in[0].data<double>()[row * width + i % width];
                      }
                      return y;
                    }};
  };
  return {sample("tokens", {2, 3}, 5, 4), sample("few rows, many tokens", {17}, 3, 2),
          sample("one token", {}, 4, 3), sample("one element", {1}, 1, 1),
          sample("no tokens", {0, 2}, 3, 2)};
}
extern const OpDef embedding_op = {"embedding", embedding_samples};

}  // namespace weft
