#include "weft/nn/attention.h"

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "weft/nn/layer/sizes.h"
#include "weft/op/linear.h"
#include "weft/op/shape.h"

namespace weft {
namespace {

void require_heads(const char* layer, std::int64_t width, std::int64_t heads) {
  require_positive(layer, {{"width", width}, {"heads", heads}});
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

constexpr std::int64_t kRoomMin = 16;  // tokens

// What was cached with `more` behind it, along the axis of tokens; a view of `room`.
Array appended(const Array& cached, const Array& more, Array& room) {
  const std::int64_t before = cached.defined() ? cached.dim(2) : 0;
  const std::int64_t after = before + more.dim(2);
  if (!room.defined() || room.dim(2) < after) {
    Shape shape = more.shape();
    shape[2] = std::max({after, 2 * before, kRoomMin});
    Array larger = Array::empty(shape, more.dtype(), more.device());
    if (before > 0) {
      Array kept = larger.slice(2, 0, before);
      kept.copy_from(cached);
    }
    room = larger;
  }
  Array added = room.slice(2, before, after);
  added.copy_from(more);
  return room.slice(2, 0, after);
}

// Attention behind the cache, which then holds the new keys and values too.
Tensor attend_cached(const Tensor& q, const Tensor& k, const Tensor& v, KeyValueCache& cache) {
  AttentionOptions options;
  options.causal = true;
  options.causal_offset = cache.tokens();
  cache.keys = appended(cache.keys, k.array(), cache.key_room);
  cache.values = appended(cache.values, v.array(), cache.value_room);
  return attention(q, Tensor(cache.keys), Tensor(cache.values), options);
}

// What attend(rows, cache) gives, [rows, heads, T, D], as [N, T, heads * D]: for all rows at once
// behind the only cache, or for each row behind its own.
template <class Attend>
Tensor attend_each(std::int64_t rows, KeyValueCaches caches, const Attend& attend) {
  const auto all = [](const Tensor& x) { return x; };
  if (caches.size() == 1) return join_heads(attend(all, *caches[0]));
  if (static_cast<std::int64_t>(caches.size()) != rows) {
    throw std::invalid_argument(fmt::format(
        "[attention] expected one cache or one a row, got {} for {} rows", caches.size(), rows));
  }
  std::vector<Tensor> parts;
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto row = [i](const Tensor& x) { return slice(x, 0, i, i + 1); };
    parts.push_back(join_heads(attend(row, *caches[static_cast<std::size_t>(i)])));
  }
  return concat(parts, 0);
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

Tensor GptAttention::forward_cached(const Tensor& x, KeyValueCaches caches) {
  const NoGrad no_grad;
  const Tensor qkv = split_heads(in_->forward(x), 3 * heads_);
  return out_->forward(attend_each(x.dim(0), caches, [&](const auto& rows, KeyValueCache& cache) {
    const Tensor own = rows(qkv);
    const auto part = [&](std::int64_t i) { return slice(own, 1, i * heads_, (i + 1) * heads_); };
    return attend_cached(part(0), part(1), part(2), cache);
  }));
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

Tensor LlamaAttention::turned(const Tensor& y, std::int64_t heads, std::int64_t first_place) const {
  const Tensor by_head = reshape(y, {y.dim(0), y.dim(1), heads, y.dim(2) / heads});
  return transpose(rotary(by_head, {.base = shape_.rotary_base, .first_place = first_place}), 1, 2);
}

Tensor LlamaAttention::forward(const Tensor& x) {
  AttentionOptions options;
  options.causal = true;
  const Tensor y =
      attention(turned(q_->forward(x), shape_.heads, 0), turned(k_->forward(x), shape_.kv_heads, 0),
                split_heads(v_->forward(x), shape_.kv_heads), options);
  return o_->forward(join_heads(y));
}

Tensor LlamaAttention::forward_cached(const Tensor& x, KeyValueCaches caches) {
  const NoGrad no_grad;
  const Tensor q = q_->forward(x);
  const Tensor k = k_->forward(x);
  const Tensor v = v_->forward(x);
  return o_->forward(attend_each(x.dim(0), caches, [&](const auto& rows, KeyValueCache& cache) {
    const std::int64_t place = cache.tokens();
    return attend_cached(turned(rows(q), shape_.heads, place),
                         turned(rows(k), shape_.kv_heads, place),
                         split_heads(rows(v), shape_.kv_heads), cache);
  }));
}

}  // namespace weft
