#include "weft/nn/attention.h"

#include <algorithm>
#include <initializer_list>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "weft/autograd/node.h"
#include "weft/kernel/attention/cached_attention.h"
#include "weft/kernel/attention/rotary.h"
#include "weft/kernel/elementwise/convert.h"
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

// The same as a view of an array without gaps that stays [N, T, heads, D].
Array by_head(const Tensor& x, std::int64_t first, std::int64_t heads, std::int64_t width) {
  const std::int64_t row = x.dim(2);
  return x.array().contiguous().as_strided({x.dim(0), x.dim(1), heads, width},
                                           {x.dim(1) * row, row, width, 1},
                                           x.size() == 0 ? 0 : first * width);
}

// The first room of a cache: kFirstRoom tokens, or fewer where these would exceed kFirstRoomBytes,
// but at least kFirstRoomMin. It is large because each growth copies all tokens into pages that are
// fresh from the system; a fresh page takes no memory before a token is written to it.
constexpr std::int64_t kFirstRoom = 256;
constexpr std::int64_t kFirstRoomMin = 16;
constexpr std::int64_t kFirstRoomBytes = std::int64_t{1} << 20;

// In tokens like those of `more` [N, T, kv_heads, D].
std::int64_t first_room(const Array& more) {
  const std::int64_t bytes =
      more.dim(0) * more.dim(2) * more.dim(3) * static_cast<std::int64_t>(size_of(more.dtype()));
  return std::clamp(kFirstRoomBytes / std::max<std::int64_t>(bytes, 1), kFirstRoomMin, kFirstRoom);
}

// Makes room for `more` [N, T, kv_heads, D] behind `count` tokens.
void make_room(Array& room, std::int64_t count, const Array& more) {
  const std::int64_t after = count + more.dim(1);
  if (room.defined()) {
    if (room.dim(0) != more.dim(0) || room.dim(1) != more.dim(2) || room.dim(3) != more.dim(3) ||
        room.dtype() != more.dtype()) {
      throw std::invalid_argument(
          fmt::format("[attention] expected tokens as those of the cache, {} {}, got {} {}",
                      to_string(room.shape()), to_string(room.dtype()), to_string(more.shape()),
                      to_string(more.dtype())));
    }
    if (room.dim(2) >= after) return;
  }
  const std::int64_t tokens = std::max({after, 2 * count, first_room(more)});
  Array larger =
      Array::empty({more.dim(0), more.dim(2), tokens, more.dim(3)}, more.dtype(), more.device());
  if (count > 0) larger.slice(2, 0, count).copy_from(room.slice(2, 0, count));
  room = std::move(larger);
}

// Queries [N, T, heads, D], keys and values [N, T, kv_heads, D] of new tokens.
struct NewTokens {
  Array q;
  Array k;
  Array v;
};

// The tokens of one cache by the operation for whole arrays, which has every type.
Tensor attend_by_op(const NewTokens& tokens, KeyValueCache& cache) {
  const std::int64_t after = cache.tokens + tokens.k.dim(1);
  const auto appended = [&](const Array& more, Array& room) {
    room.slice(2, cache.tokens, after).copy_from(more.transpose(1, 2));
    return Tensor(room.slice(2, 0, after));
  };
  const Tensor k = appended(tokens.k, cache.keys);
  const Tensor v = appended(tokens.v, cache.values);
  AttentionOptions options;
  options.causal = true;
  options.causal_offset = cache.tokens;
  return join_heads(attention(Tensor(tokens.q.transpose(1, 2)), k, v, options));
}

Tensor attend_by_op(const NewTokens& tokens, KeyValueCaches caches) {
  if (caches.size() == 1) return attend_by_op(tokens, *caches[0]);
  std::vector<Tensor> parts;
  for (std::int64_t i = 0; i < tokens.q.dim(0); ++i) {
    const auto row = [i](const Array& x) { return x.slice(0, i, i + 1); };
    parts.push_back(attend_by_op({row(tokens.q), row(tokens.k), row(tokens.v)},
                                 *caches[static_cast<std::size_t>(i)]));
  }
  return concat(parts, 0);
}

// bf16 and f16 are turned in f32.
Array turned_by(const Array& x, const RotaryRun& run) {
  if (size_of(x.dtype()) >= sizeof(float)) return rotary_turn(x, run);
  return convert(rotary_turn(convert(x, DType::kF32), run), x.dtype());
}

void check_caches(const Tensor& x, KeyValueCaches caches) {
  const auto count = static_cast<std::int64_t>(caches.size());
  if (count == 1 || (count > 1 && count == x.dim(0))) return;
  throw std::invalid_argument(fmt::format(
      "[attention] expected one cache or one a row, got {} for {} rows", count, x.dim(0)));
}

// Attention [N, T, heads D] behind the cache, or of each row behind its own; the new keys and
// values are then in it.
Tensor attend_cached(const NewTokens& tokens, KeyValueCaches caches,
                     std::initializer_list<const Tensor*> from) {
  const std::int64_t rows = caches.size() == 1 ? tokens.k.dim(0) : 1;
  const Array row_k = rows == tokens.k.dim(0) ? tokens.k : tokens.k.slice(0, 0, rows);
  for (KeyValueCache* const cache : caches) {
    make_room(cache->keys, cache->tokens, row_k);
    make_room(cache->values, cache->tokens, row_k);
  }
  Tensor y;
  if (tokens.q.dtype() == DType::kF32) {
    std::vector<CachedTokens> cached;
    cached.reserve(caches.size());
    for (KeyValueCache* const cache : caches) {
      cached.push_back({&cache->keys, &cache->values, cache->tokens});
    }
    y = unrecorded("cached_attention", cached_attention(tokens.q, tokens.k, tokens.v, cached),
                   from);
  } else {
    y = attend_by_op(tokens, caches);
  }
  for (KeyValueCache* const cache : caches) cache->tokens += tokens.k.dim(1);
  return y;
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
  check_caches(x, caches);
  const Tensor qkv = in_->forward(x);
  const std::int64_t width = x.dim(2) / heads_;
  const auto part = [&](std::int64_t i) { return by_head(qkv, i * heads_, heads_, width); };
  return out_->forward(attend_cached({part(0), part(1), part(2)}, caches, {&qkv}));
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

Tensor LlamaAttention::turned(const Tensor& y, std::int64_t heads) const {
  const Tensor by_head = reshape(y, {y.dim(0), y.dim(1), heads, y.dim(2) / heads});
  return transpose(rotary(by_head, {.base = shape_.rotary_base}), 1, 2);
}

Tensor LlamaAttention::forward(const Tensor& x) {
  AttentionOptions options;
  options.causal = true;
  const Tensor y =
      attention(turned(q_->forward(x), shape_.heads), turned(k_->forward(x), shape_.kv_heads),
                split_heads(v_->forward(x), shape_.kv_heads), options);
  return o_->forward(join_heads(y));
}

Tensor LlamaAttention::forward_cached(const Tensor& x, KeyValueCaches caches) {
  const NoGrad no_grad;
  check_caches(x, caches);
  const std::int64_t width = shape_.width / shape_.heads;
  RotaryRun run{.base = shape_.rotary_base, .first_place = caches[0]->tokens};
  for (const KeyValueCache* const cache : caches) {
    if (caches.size() > 1) run.row_places.push_back(cache->tokens);
  }
  const auto turned = [&](Linear& layer, std::int64_t heads) {
    const Tensor y = layer.forward(x);
    return unrecorded("rotary", turned_by(by_head(y, 0, heads, width), run), {&y});
  };
  const Tensor q = turned(*q_, shape_.heads);
  const Tensor k = turned(*k_, shape_.kv_heads);
  const Tensor v = v_->forward(x);
  return o_->forward(attend_cached({q.array(), k.array(), by_head(v, 0, shape_.kv_heads, width)},
                                   caches, {&q, &k, &v}));
}

}  // namespace weft
