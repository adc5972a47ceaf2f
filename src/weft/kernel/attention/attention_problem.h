// AttentionProblem: one attention as raw memory, with its two solvers. For attention*.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "weft/array/dtype/half.h"
#include "weft/kernel/attention/attention.h"
#include "weft/kernel/random/dropout.h"

namespace weft {

// Texts or heads of so many products of a query's and a key's values each that are worth a thread.
inline std::int64_t attention_grain(std::int64_t products) {
  constexpr std::int64_t kWorthwhile = 16 * 1024;
  return 1 + kWorthwhile / std::max<std::int64_t>(products, 1);
}

// [B, tokens, heads, D] with dense D.
template <class T>
struct Heads {
  T* data = nullptr;
  std::int64_t batch_step = 0;
  std::int64_t token_step = 0;
  std::int64_t head_step = 0;

  T* at(std::int64_t b, std::int64_t head, std::int64_t token) const {
    return data + b * batch_step + head * head_step + token * token_step;
  }
};

template <class T>
Heads<const T> heads_of(const Array& array) {
  WEFT_CHECK(array.ndim() == 4 &&
             (array.size() == 0 || array.dim(3) == 1 || array.strides()[3] == 1));
  return {array.data<T>(), array.strides()[0], array.strides()[1], array.strides()[2]};
}
template <class T>
Heads<T> output_heads_of(Array& array) {
  return {array.data<T>(), array.strides()[0], array.strides()[1], array.strides()[2]};
}

// The mask as something to add to scores.
class AttentionMask {
 public:
  explicit AttentionMask(const Array& mask);
  bool defined() const { return data_ != nullptr; }
  struct Place {
    std::int64_t batch;
    std::int64_t head;
    std::int64_t query;
    std::int64_t key;
  };
  double at(const Place& place) const {
    const std::int64_t offset = place.batch * steps_[0] + place.head * steps_[1] +
                                place.query * steps_[2] + place.key * steps_[3];
    if (dtype_ == DType::kF32) return double{static_cast<const float*>(data_)[offset]};
    if (dtype_ == DType::kF64) return static_cast<const double*>(data_)[offset];
    if (dtype_ == DType::kBF16) {
      return double{static_cast<float>(static_cast<const BFloat16*>(data_)[offset])};
    }
    return static_cast<const bool*>(data_)[offset] ? 0.0 : -std::numeric_limits<double>::infinity();
  }

 private:
  const void* data_ = nullptr;
  Strides steps_;
  DType dtype_ = DType::kBool;
};

struct AttentionSizes {
  std::int64_t batch;
  std::int64_t heads;
  std::int64_t kv_heads;
  std::int64_t queries;
  std::int64_t keys;
  std::int64_t width;
};

template <class T>
struct AttentionProblem {
  AttentionRun run;
  DropoutStream dropout;
  AttentionMask mask;
  std::int64_t batch;
  std::int64_t heads;
  std::int64_t kv_heads;
  std::int64_t queries;
  std::int64_t keys;
  std::int64_t width;
  Heads<const T> q;
  Heads<const T> k;
  Heads<const T> v;

  AttentionProblem(const Array& q_array, const Array& k_array, const Array& v_array,
                   const Array& mask_array, const Array& stream, const AttentionRun& how)
      : run(how),
        dropout(stream.defined() ? read_dropout_stream(stream, how.dropout) : DropoutStream{}),
        mask(mask_array),
        batch(q_array.dim(0)),
        heads(q_array.dim(2)),
        kv_heads(k_array.dim(2)),
        queries(q_array.dim(1)),
        keys(k_array.dim(1)),
        width(q_array.dim(3)),
        q(heads_of<T>(q_array)),
        k(heads_of<T>(k_array)),
        v(heads_of<T>(v_array)) {
    dropout.first_row *= static_cast<std::uint64_t>(heads * queries);
  }

  // Without a mask and dropout, of operands that the caller sets.
  AttentionProblem(const AttentionRun& how, const AttentionSizes& sizes)
      : run(how),
        dropout(),
        mask(Array()),
        batch(sizes.batch),
        heads(sizes.heads),
        kv_heads(sizes.kv_heads),
        queries(sizes.queries),
        keys(sizes.keys),
        width(sizes.width) {}

  std::int64_t group() const { return heads / kv_heads; }
  // Keys that query i may read for its place: [0, limit).
  std::int64_t key_limit(std::int64_t i) const {
    return run.causal ? std::clamp<std::int64_t>(i + run.causal_offset + 1, 0, keys) : keys;
  }
  // The first query that may read key j.
  std::int64_t query_begin(std::int64_t j) const {
    return run.causal ? std::max<std::int64_t>(0, j - run.causal_offset) : 0;
  }
  std::int64_t row(std::int64_t b, std::int64_t head, std::int64_t i) const {
    return (b * heads + head) * queries + i;
  }
};

// Those of 16 bits would not tell shares apart.
template <class T>
using LogSum = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <class T>
struct AttentionOutputs {
  Heads<T> output;
  LogSum<T>* log_sums;  // f32: null where not wanted
};

template <class T>
struct AttentionGradients {
  Heads<const T> output;
  const LogSum<T>* log_sums;
  Heads<const T> dy;
  Heads<T> dq;
  Heads<T> dk;
  Heads<T> dv;
};

// out[c] = 0 or 1 / (1 - p) for keys [key, key + count) of row `row` of the dropout's stream.
void attention_dropout(const DropoutStream& stream, std::int64_t row, std::int64_t key,
                       std::int64_t count, float* out);
void attention_dropout(const DropoutStream& stream, std::int64_t row, std::int64_t key,
                       std::int64_t count, double* out);

// The blocked solvers of f32 and bf16, and the plain ones of f64.
void solve_attention(const AttentionProblem<float>& problem, const AttentionOutputs<float>& out);
void solve_attention(const AttentionProblem<BFloat16>& problem,
                     const AttentionOutputs<BFloat16>& out);
void solve_attention(const AttentionProblem<double>& problem, const AttentionOutputs<double>& out);
void solve_attention_gradient(const AttentionProblem<float>& problem,
                              const AttentionGradients<float>& out);
void solve_attention_gradient(const AttentionProblem<BFloat16>& problem,
                              const AttentionGradients<BFloat16>& out);
void solve_attention_gradient(const AttentionProblem<double>& problem,
                              const AttentionGradients<double>& out);

}  // namespace weft
