// embedding: rows of a table by number, with a dense gradient or a gradient of the used rows only.
//
// Dense: backward() adds rows to the table's gradient in place (in the arena, if it is there), in
// the order of the tokens: the same bits for any thread count.
// Sparse: the table takes no gradient through the graph. The rows that were used become a leaf of
// their own, and sparse_rows() sums its gradient by row: an optimizer that keeps no momentum for
// untouched rows changes rows[] only. See SparseRows.
#pragma once

#include <cstdint>
#include <optional>

#include "weft/autograd/tensor.h"
#include "weft/op/index_operand.h"

namespace weft {

struct EmbeddingOptions {
  // The row of this number gets no gradient; negative ones count from the end.
  std::optional<std::int64_t> padding_index = std::nullopt;
};

// `tokens` of integers in [0, rows), `table` [rows, width] -> [tokens' shape..., width].
Tensor embedding(const Tensor& table, const IndexOperand& tokens,
                 const EmbeddingOptions& options = {});

// A gradient of a table [rows, width] that is 0 but in some rows.
struct SparseRows {
  Array rows;    // i64 [count], rising, each once
  Array values;  // [count, width]
  Shape shape;   // of the table
};

// An embedding whose gradient does not go to the table but is read from `looked_up` after
// backward(), by sparse_rows().
struct SparseEmbedding {
  Tensor output;     // [tokens' shape..., width]
  Tensor looked_up;  // a leaf [tokens, width]
  Array tokens;      // i64 [tokens]
  Shape table_shape;
};
SparseEmbedding sparse_embedding(const Array& table, const IndexOperand& tokens);

// The gradient of the table, equal rows added up in the order of the tokens. Reads the tokens on
// the host. Without `padding_index`. REQUIRES: backward() has run.
SparseRows sparse_rows(const SparseEmbedding& embedding, const EmbeddingOptions& options = {});
// The same as an array of the table's shape.
Array to_dense(const SparseRows& gradient);

}  // namespace weft
