// attention: softmax(q k^T scale + mask) v for each head.
#include <cmath>
#include <numeric>

#include "weft/array/launch.h"
#include "weft/autograd/node.h"
#include "weft/autograd/op_trace.h"
#include "weft/kernel/attention/attention.h"
#include "weft/kernel/random/dropout.h"
#include "weft/op/arithmetic.h"
#include "weft/op/attention.h"
#include "weft/op/attention/attention_run.h"
#include "weft/op/core/composed.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/sample.h"
#include "weft/op/dropout.h"

namespace weft {
namespace {

void check_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                     const AttentionOptions& options) {
  for (const Tensor* x : {&q, &k, &v}) check_floating("attention", *x);
  const bool ranks = q.ndim() == 4 && k.ndim() == 4 && v.ndim() == 4;
  if (!ranks || k.shape() != v.shape() || k.dim(0) != q.dim(0) || k.dim(3) != q.dim(3) ||
      k.dim(1) < 1 || q.dim(1) % k.dim(1) != 0) {
    throw_operand(
        "attention",
        "q [B, heads, queries, D], k and v [B, kv_heads, keys, D] with a divisor of heads",
        to_string(q.shape()) + ", " + to_string(k.shape()) + " and " + to_string(v.shape()));
  }
  if (k.dtype() != q.dtype() || v.dtype() != q.dtype()) {
    throw_operand("attention", "q, k and v of one type",
                  std::string(to_string(q.dtype())) + ", " + std::string(to_string(k.dtype())) +
                      " and " + std::string(to_string(v.dtype())));
  }
  const Array& mask = options.mask;
  if (mask.defined() && mask.dtype() != DType::kBool && mask.dtype() != q.dtype()) {
    throw_operand("attention", "a mask of bool or of q's type",
                  std::string(to_string(mask.dtype())));
  }
}

// [B, heads, tokens, D] as [B, tokens, heads, D] with a dense last axis.
Array by_token(const Array& array) {
  const Array view = array.strided().transpose(1, 2);
  return view.dim(3) <= 1 || view.strides()[3] == 1 ? view : view.contiguous();
}

struct AttentionSaved {
  AttentionInputs in;
  AttentionRun run;
  AttentionResult result;
};

}  // namespace

bool attention_takes(DType dtype) {
  return size_of(dtype) >= sizeof(float) || (dtype == DType::kBF16 && !op_tracing());
}

AttentionRun attention_run(const char* op, const AttentionOptions& options, std::int64_t width) {
  if (!(options.dropout >= 0.0 && options.dropout < 1.0)) {
    throw_operand(op, "dropout in [0, 1)", std::to_string(options.dropout));
  }
  AttentionRun run;
  run.scale = options.scale.value_or(
      1.0 / std::sqrt(static_cast<double>(std::max<std::int64_t>(width, 1))));
  run.causal = options.causal;
  run.causal_offset = options.causal_offset;
  run.dropout = options.dropout;
  const Array& words = options.dropout_words;
  if (options.dropout > 0 && (words.shape() != Shape{3} || words.dtype() != DType::kI64)) {
    throw_operand(op, "dropout_words i64 [3]", to_string(words.shape()));
  }
  return run;
}

Array attention_stream(const AttentionOptions& options, Device device) {
  if (options.dropout == 0) return {};
  return dropout_stream(options.dropout_words.contiguous(), options.dropout_layer).to(device);
}

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v,
                 const AttentionOptions& options) {
  check_attention(q, k, v, options);
  if (!attention_takes(q.dtype())) {
    AttentionOptions wider = options;
    if (wider.mask.defined() && wider.mask.dtype() != DType::kBool) {
      wider.mask = wider.mask.to(DType::kF32);
    }
    const auto wide = [](const Tensor& x) { return cast(x, DType::kF32); };
    return cast(attention(wide(q), wide(k), wide(v), wider), q.dtype());
  }
  AttentionSaved saved;
  saved.in = {by_token(q.array()), by_token(k.array()), by_token(v.array()), {}, {}};
  if (options.mask.defined()) {
    saved.in.mask = options.mask.strided().expand({q.dim(0), q.dim(1), q.dim(2), k.dim(2)});
  }
  saved.run = attention_run("attention", options, q.dim(3));
  saved.in.stream = attention_stream(options, q.device());
  saved.result = attention_forward(saved.in, saved.run);
  Array y = saved.result.output.transpose(1, 2);
  const Composition compose = attention_composition(saved.in.mask, saved.in.stream, saved.run);
  if (op_tracing()) {
    trace_attributes("attention", {{"causal", {options.causal ? 1.0 : 0.0}},
                                   {"causal_offset", {static_cast<double>(options.causal_offset)}},
                                   {"scale", {options.scale ? *options.scale : 0.0}},
                                   {"dropout", {options.dropout}},
                                   {"mask", {}, options.mask}});
  }
  return record(
      "attention", std::move(y), {&q, &k, &v},
      [saved](const Array& dy, const InputGradients& dx) {
        const AttentionGradient gradient =
            attention_backward(saved.in, saved.run, saved.result, by_token(dy));
        if (dx.needs(0)) dx.add(0, gradient.q.transpose(1, 2));
        if (dx.needs(1)) dx.add(1, gradient.k.transpose(1, 2));
        if (dx.needs(2)) dx.add(2, gradient.v.transpose(1, 2));
      },
      [compose, q = saved.in.q, k = saved.in.k, v = saved.in.v](const Tensor& dy,
                                                                const TensorGradients& dx) {
        const Array values[] = {q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)};
        add_composed_gradients(compose, values, dy, dx);
      });
}

// One query after another, all keys; factors of the dropout come from the dropout op.
Array attention_reference(const Array& q, const Array& k, const Array& v,
                          const AttentionOptions& options) {
  const std::int64_t heads = q.dim(1);
  const std::int64_t queries = q.dim(2);
  const std::int64_t keys = k.dim(2);
  const std::int64_t width = q.dim(3);
  const Shape scores = {q.dim(0), heads, queries, keys};
  const Array mask = options.mask.defined() ? options.mask.expand(scores).to(DType::kF64) : Array();
  const bool allows = options.mask.defined() && options.mask.dtype() == DType::kBool;
  Array factors =
      Array::full({q.dim(0) * heads * queries, std::max<std::int64_t>(keys, 1)}, 1.0, DType::kF64);
  if (options.dropout > 0) {
    Array words = options.dropout_words.clone();
    words.data<std::int64_t>()[2] *= heads * queries;
    factors = dropout(Tensor(factors), options.dropout, words, options.dropout_layer, true).array();
  }
  const double scale = options.scale.value_or(1.0 / std::sqrt(static_cast<double>(width)));
  Array y = Array::full(q.shape(), 0.0, DType::kF64);
  for (std::int64_t row = 0; row < q.dim(0) * heads * queries; ++row) {
    const std::int64_t b = row / (heads * queries);
    const std::int64_t kv = row / queries % heads / (heads / k.dim(1));
    const double* const from = k.data<double>() + (b * k.dim(1) + kv) * keys * width;
    const double* const values = v.data<double>() + (b * k.dim(1) + kv) * keys * width;
    std::vector<double> shares(static_cast<std::size_t>(keys), 0.0);
    double sum = 0;
    for (std::int64_t j = 0; j < keys; ++j) {
      if (options.causal && j > row % queries + options.causal_offset) continue;
      double score = 0;
      for (std::int64_t d = 0; d < width; ++d) {
        score += q.data<double>()[row * width + d] * from[j * width + d];
      }
      score *= scale;
      const std::int64_t place = row * keys + j;
      if (mask.defined()) {
        const double value = mask.contiguous().data<double>()[place];
        if (allows && value == 0.0) continue;
        if (!allows) score += value;
      }
      shares[static_cast<std::size_t>(j)] = std::exp(score);
      sum += std::exp(score);
    }
    for (std::int64_t j = 0; j < keys && sum > 0; ++j) {
      const double share = shares[static_cast<std::size_t>(j)] / sum *
                           factors.data<double>()[row * std::max<std::int64_t>(keys, 1) + j];
      for (std::int64_t d = 0; d < width; ++d) {
        y.data<double>()[row * width + d] += share * values[j * width + d];
      }
    }
  }
  return y;
}

namespace {

// Sizes of a sample.
struct Sizes {
  std::int64_t batch = 2;
  std::int64_t heads = 2;
  std::int64_t kv_heads = 2;
  std::int64_t queries = 5;
  std::int64_t keys = 5;
  std::int64_t width = 4;
};

OpSample attention_sample(const char* name, const Sizes& s, const AttentionOptions& options) {
  return {name,
          {sample_values({s.batch, s.heads, s.queries, s.width}, 181),
           sample_values({s.batch, s.kv_heads, s.keys, s.width}, 182),
           sample_values({s.batch, s.kv_heads, s.keys, s.width}, 183)},
          [options](std::span<const Tensor> in) {
            AttentionOptions own = options;
            if (own.mask.defined() && own.mask.dtype() != DType::kBool) {
              own.mask = own.mask.to(in[0].dtype());
            }
            own.mask = own.mask.to(in[0].device());
            return attention(in[0], in[1], in[2], own);
          },
          [options](std::span<const Array> in) {
            return attention_reference(in[0], in[1], in[2], options);
          }};
}

Array sample_mask(const Shape& shape) {
  Array mask = Array::empty(shape, DType::kBool);
  for (std::int64_t i = 0; i < mask.size(); ++i) mask.data<bool>()[i] = i % 3 != 1;
  return mask;
}

std::vector<OpSample> attention_samples() {
  AttentionOptions causal;
  causal.causal = true;
  AttentionOptions cached = causal;
  cached.causal_offset = 4;
  AttentionOptions late = causal;
  late.causal_offset = -2;
  AttentionOptions scaled;
  scaled.scale = -0.7;
  AttentionOptions masked;
  masked.mask = sample_mask({2, 1, 1, 7});
  AttentionOptions added = causal;
  added.mask = sample_values({5, 5}, 184);
  AttentionOptions dropped = causal;
  dropped.dropout = 0.4;
  dropped.dropout_words = Array::from(std::vector<std::int64_t>{1, 2, 5}, {3});
  dropped.dropout_layer = 3;
  return {
      attention_sample("plain", {}, {}),
      attention_sample("causal", {}, causal),
      attention_sample("causal, groups of 2 heads", {.heads = 4}, causal),
      attention_sample("one key head", {.heads = 3, .kv_heads = 1, .queries = 3}, {}),
      attention_sample("queries behind a cache", {.queries = 3, .keys = 7}, cached),
      attention_sample("queries that read nothing", {}, late),
      attention_sample("other scale", {.queries = 2, .keys = 9, .width = 3}, scaled),
      attention_sample("mask of keys", {.keys = 7}, masked),
      attention_sample("added mask", {}, added),
      attention_sample("dropout", {.queries = 7, .keys = 7}, dropped),
      attention_sample(
          "more than a block",
          {.batch = 1, .heads = 1, .kv_heads = 1, .queries = 29, .keys = 29, .width = 17}, causal),
      attention_sample("one element", {1, 1, 1, 1, 1, 1}, causal),
      attention_sample("no batch", {.batch = 0}, causal),
      attention_sample("no keys", {.keys = 0}, {}),
  };
}

}  // namespace

extern const OpDef attention_op = {"attention", attention_samples};

}  // namespace weft
