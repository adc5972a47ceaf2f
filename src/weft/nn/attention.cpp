#include "weft/nn/attention.h"

#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "weft/nn/sizes.h"
#include "weft/op/linear.h"
#include "weft/op/shape.h"

namespace weft {
namespace {

void require_heads(const char* layer, std::int64_t width, std::int64_t heads) {
  require_positive(layer, {width, heads});
  if (width % heads != 0) {
    throw std::invalid_argument(
        fmt::format("[{}] expected a width that {} heads divide, got {}", layer, heads, width));
  }
}

// [N, T, heads * D] as [N, heads, T, D] and back; views where memory allows it.
Tensor split_heads(const Tensor& x, std::int64_t heads) {
  return transpose(reshape(x, {x.dim(0), x.dim(1), heads, x.dim(2) / heads}), 1, 2);
}
Tensor join_heads(const Tensor& x) {
  return reshape(transpose(x, 1, 2), {x.dim(0), x.dim(2), x.dim(1) * x.dim(3)});
}

// What was cached with `more` behind it, along the axis of tokens.
Array appended(const Array& cached, const Array& more) {
  if (!cached.defined()) return more.contiguous();
  Shape shape = cached.shape();
  shape[2] += more.dim(2);
  Array all = Array::empty(shape, cached.dtype());
  Array first = all.slice(2, 0, cached.dim(2));
  Array second = all.slice(2, cached.dim(2), shape[2]);
  first.copy_from(cached);
  second.copy_from(more);
  return all;
}

// Attention behind the cache, which then holds the new keys and values too.
Tensor attend_cached(const Tensor& q, const Tensor& k, const Tensor& v, KeyValueCache& cache) {
  AttentionOptions options;
  options.causal = true;
  options.causal_offset = cache.tokens();
  cache.keys = appended(cache.keys, k.array());
  cache.values = appended(cache.values, v.array());
  return attention(q, Tensor(cache.keys), Tensor(cache.values), options);
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(const MultiHeadAttentionShape& shape) : shape_(shape) {
  require_heads("multi_head_attention", shape.width, shape.heads);
  const Shape in = {3 * shape.width, shape.width};
  register_parameter("in_proj_weight", weight_, in, ParameterKind::kWeight,
                     [](Array& values, Rng& rng) { xavier_uniform(values, rng); });
  if (shape.bias) {
    register_parameter("in_proj_bias", bias_, {3 * shape.width}, ParameterKind::kBias,
                       constant_initializer(0.0));
  }
  out_ = &static_cast<Linear&>(
      register_part("out_proj", std::make_unique<Linear>(shape.width, shape.width, shape.bias)));
  if (shape.bias) out_->set_initializer("bias", zeros_initializer());  // as PyTorch does
}

AttentionOptions MultiHeadAttention::with_dropout(const AttentionOptions& options) const {
  AttentionOptions result = options;
  result.dropout = is_training() ? shape_.dropout : 0.0;
  result.dropout_words = step_words();
  result.dropout_layer = place();
  return result;
}

Tensor MultiHeadAttention::forward(const Tensor& x) {
  const Tensor y =
      packed_attention(linear(x, weight_, bias_), {shape_.heads, shape_.heads}, with_dropout({}));
  return out_->forward(y);
}

Tensor MultiHeadAttention::project(const Tensor& x, std::int64_t part) const {
  const std::int64_t begin = part * shape_.width;
  const std::int64_t end = begin + shape_.width;
  const Tensor bias = bias_.defined() ? slice(bias_, 0, begin, end) : Tensor();
  return split_heads(linear(x, slice(weight_, 0, begin, end), bias), shape_.heads);
}

Tensor MultiHeadAttention::operator()(const Tensor& query, const Tensor& key, const Tensor& value,
                                      const AttentionOptions& options) {
  const Tensor y =
      attention(project(query, 0), project(key, 1), project(value, 2), with_dropout(options));
  return out_->forward(join_heads(y));
}

GptAttention::GptAttention(std::int64_t width, std::int64_t heads, double dropout)
    : heads_(heads), dropout_(dropout) {
  require_heads("gpt_attention", width, heads);
  in_ = &static_cast<Linear&>(register_part("c_attn", std::make_unique<Linear>(width, 3 * width)));
  out_ = &static_cast<Linear&>(register_part("c_proj", std::make_unique<Linear>(width, width)));
}

Tensor GptAttention::forward(const Tensor& x) {
  AttentionOptions options;
  options.causal = true;
  options.dropout = is_training() ? dropout_ : 0.0;
  options.dropout_words = step_words();
  options.dropout_layer = place();
  return out_->forward(packed_attention(in_->forward(x), {heads_, heads_}, options));
}

Tensor GptAttention::forward_cached(const Tensor& x, KeyValueCache& cache) {
  const NoGrad no_grad;
  const std::int64_t width = x.dim(2);
  const Tensor qkv = in_->forward(x);
  const auto part = [&](std::int64_t i) {
    return split_heads(slice(qkv, 2, i * width, (i + 1) * width), heads_);
  };
  return out_->forward(join_heads(attend_cached(part(0), part(1), part(2), cache)));
}

LlamaAttention::LlamaAttention(const LlamaAttentionShape& shape) : shape_(shape) {
  require_heads("llama_attention", shape.width, shape.heads);
  if (shape.kv_heads < 1 || shape.heads % shape.kv_heads != 0) {
    throw std::invalid_argument(
        fmt::format("[llama_attention] expected kv_heads to divide heads, got {} and {}",
                    shape.kv_heads, shape.heads));
  }
  const std::int64_t keys = shape.width / shape.heads * shape.kv_heads;
  const auto part = [&](const char* name, std::int64_t outputs) {
    return &static_cast<Linear&>(
        register_part(name, std::make_unique<Linear>(shape.width, outputs, false)));
  };
  q_ = part("q_proj", shape.width);
  k_ = part("k_proj", keys);
  v_ = part("v_proj", keys);
  o_ = part("o_proj", shape.width);
}

Tensor LlamaAttention::turned(const Tensor& x, Linear& part, std::int64_t heads,
                              std::int64_t first_place) {
  const Tensor y = part.forward(x);
  const Tensor by_head = reshape(y, {y.dim(0), y.dim(1), heads, y.dim(2) / heads});
  return transpose(rotary(by_head, {.base = shape_.rotary_base, .first_place = first_place}), 1, 2);
}

Tensor LlamaAttention::values(const Tensor& x) {
  return split_heads(v_->forward(x), shape_.kv_heads);
}

Tensor LlamaAttention::forward(const Tensor& x) {
  AttentionOptions options;
  options.causal = true;
  const Tensor y = attention(turned(x, *q_, shape_.heads, 0), turned(x, *k_, shape_.kv_heads, 0),
                             values(x), options);
  return o_->forward(join_heads(y));
}

Tensor LlamaAttention::forward_cached(const Tensor& x, KeyValueCache& cache) {
  const NoGrad no_grad;
  const std::int64_t place = cache.tokens();
  const Tensor y = attend_cached(turned(x, *q_, shape_.heads, place),
                                 turned(x, *k_, shape_.kv_heads, place), values(x), cache);
  return o_->forward(join_heads(y));
}

}  // namespace weft
