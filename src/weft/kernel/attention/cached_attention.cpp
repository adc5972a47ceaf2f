#include "weft/kernel/attention/cached_attention.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "weft/array/launch.h"
#include "weft/base/parallel.h"
#include "weft/kernel/attention/attention_problem.h"

namespace weft {
namespace {

// The strides of a room are its shape's.
Heads<float> room_heads(Array& room) {
  const std::int64_t width = room.dim(3);
  const std::int64_t head_step = room.dim(2) * width;
  return {room.data<float>(), room.dim(1) * head_step, width, head_step};
}

// Texts [first, first + count) of one cache; the first is text `row` of the new tokens.
struct Texts {
  std::int64_t first;
  std::int64_t count;
  std::int64_t row;
};

// Copies new tokens [B, T, kv_heads, D] behind the `cached` that are there.
void append_tokens(const Array& from, const Texts& texts, Array& room, std::int64_t cached) {
  const Heads<const float> source = heads_of<float>(from);
  const Heads<float> to = room_heads(room);
  const std::int64_t width = from.dim(3);
  for (std::int64_t b = 0; b < texts.count; ++b) {
    for (std::int64_t t = 0; t < from.dim(1); ++t) {
      for (std::int64_t head = 0; head < from.dim(2); ++head) {
        std::copy_n(source.at(texts.row + b, head, t), width,
                    to.at(texts.first + b, head, cached + t));
      }
    }
  }
}

void attend_texts(const Array& q, const Texts& texts, Array& keys, Array& values,
                  std::int64_t cached, Array& y) {
  AttentionRun run;
  run.causal = true;
  run.causal_offset = cached;
  run.scale = 1.0 / std::sqrt(static_cast<double>(std::max<std::int64_t>(q.dim(3), 1)));
  const Heads<const float> queries = heads_of<float>(q);
  const Heads<float> k = room_heads(keys);
  const Heads<float> v = room_heads(values);
  AttentionProblem<float> problem{
      run, {texts.count, q.dim(2), keys.dim(1), q.dim(1), cached + q.dim(1), q.dim(3)}};
  problem.q = {queries.at(texts.row, 0, 0), queries.batch_step, queries.token_step,
               queries.head_step};
  problem.k = {k.at(texts.first, 0, 0), k.batch_step, k.token_step, k.head_step};
  problem.v = {v.at(texts.first, 0, 0), v.batch_step, v.token_step, v.head_step};
  const std::int64_t row = y.dim(2);
  solve_attention(problem, AttentionOutputs<float>{{y.data<float>() + texts.row * y.dim(1) * row,
                                                    y.dim(1) * row, row, q.dim(3)},
                                                   nullptr});
}

// Operations of both products over the pairs of a query and a key that it reads.
double pair_flops(const Array& q, std::int64_t texts, std::int64_t cached) {
  const auto queries = static_cast<double>(q.dim(1));
  const double pairs = queries * (static_cast<double>(cached) + (queries + 1) / 2);
  return 4.0 * pairs * static_cast<double>(texts * q.dim(2) * q.dim(3));
}

// The inputs are q, k, v and the keys and values of each cache, the outputs y and these again.
// `cached`: the tokens of each cache before the launch. A thread appends the tokens of the texts
// that it attends to, so that their keys and values stay in its cache.
void attend_all(LaunchArrays in, LaunchArrays out, std::span<const std::int64_t> cached) {
  const Array& q = in[0];
  double flops = 0.0;
  for (std::size_t i = 0; i < cached.size(); ++i) {
    flops += pair_flops(q, out[1 + static_cast<int>(2 * i)].dim(0), cached[i]);
  }
  launch_flops(flops);
  const std::int64_t texts = q.dim(0);
  const auto products = static_cast<std::int64_t>(flops / 4.0) / std::max<std::int64_t>(texts, 1);
  parallel_for(texts, attention_grain(products), [&](std::int64_t begin, std::int64_t end) {
    std::int64_t row = 0;  // the first text of the cache
    for (std::size_t i = 0; i < cached.size(); ++i) {
      const int at = static_cast<int>(2 * i);
      Array& keys = out[1 + at];
      Array& values = out[2 + at];
      const std::int64_t first = std::max(begin - row, std::int64_t{0});
      const std::int64_t count = std::min(end - row, keys.dim(0)) - first;
      const Texts some{first, count, row + first};
      row += keys.dim(0);
      if (count <= 0) continue;
      append_tokens(in[1], some, keys, cached[i]);
      append_tokens(in[2], some, values, cached[i]);
      attend_texts(q, some, keys, values, cached[i], out[0]);
    }
  });
}

}  // namespace

Array cached_attention(const Array& q, const Array& k, const Array& v,
                       std::span<const CachedTokens> caches) {
  Array y = Array::empty({q.dim(0), q.dim(1), q.dim(2) * q.dim(3)}, q.dtype(), q.device());
  for (const CachedTokens& cache : caches) {
    cache.keys->storage()->bump_version();
    cache.values->storage()->bump_version();
  }
  if (caches.size() == 1) {
    Array* const keys = caches[0].keys;
    Array* const values = caches[0].values;
    launch("cached_attention", {&q, &k, &v, keys, values}, {&y, keys, values},
           [count = caches[0].count](LaunchArrays in, LaunchArrays out) {
             attend_all(in, out, {&count, 1});
           });
    return y;
  }
  std::vector<const Array*> in = {&q, &k, &v};
  std::vector<Array*> out = {&y};
  std::vector<std::int64_t> counts;
  for (const CachedTokens& cache : caches) {
    for (Array* const room : {cache.keys, cache.values}) {
      in.push_back(room);
      out.push_back(room);
    }
    counts.push_back(cache.count);
  }
  launch("cached_attention", std::span<const Array* const>(in), std::span<Array* const>(out),
         [counts](LaunchArrays from, LaunchArrays to) { attend_all(from, to, counts); });
  return y;
}

}  // namespace weft
