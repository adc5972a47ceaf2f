#include "weft/kernel/attention/cached_attention.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/parallel.h"
#include "weft/kernel/attention/attention.h"
#include "weft/kernel/attention/attention_blocks.h"
#include "weft/kernel/attention/attention_loops.h"
#include "weft/kernel/core/test_random_array.h"
#include "weft/kernel/gemm/gemm_loops.h"

namespace weft::cached_attention_test {
namespace {

constexpr float kUntouched = -12345.0F;

struct Sizes {
  std::int64_t batch;
  std::int64_t heads;
  std::int64_t kv_heads;
  std::int64_t cached;
  std::int64_t fresh;
  std::int64_t width;
};

// Keys or values of all tokens, [B, tokens, kv_heads, D]; the room of the first `cached` of them.
Array room_of(const Array& all, std::int64_t cached, std::int64_t capacity) {
  Array room = Array::full({all.dim(0), all.dim(2), capacity, all.dim(3)}, double{kUntouched});
  room.slice(2, 0, cached).copy_from(all.slice(1, 0, cached).transpose(1, 2));
  return room;
}

// What attention_forward() gives for the last tokens, as [B, T, heads D].
std::vector<float> whole(const Array& q, const Array& k, const Array& v, std::int64_t cached) {
  AttentionRun run;
  run.causal = true;
  run.causal_offset = cached;
  run.scale = 1.0 / std::sqrt(static_cast<double>(q.dim(3)));
  return attention_forward({q, k, v, {}, {}}, run).output.to_vector<float>();
}

// The tokens that were appended are there, and the room behind them is as it was.
void expect_appended(const Array& room, const Array& all) {
  const std::int64_t tokens = all.dim(1);
  EXPECT_EQ(room.slice(2, 0, tokens).transpose(1, 2).to_vector<float>(), all.to_vector<float>());
  for (const float value : room.slice(2, tokens, {}).to_vector<float>()) {
    ASSERT_EQ(value, kUntouched);
  }
}

const std::vector<Sizes> kSizes = {
    {1, 4, 4, 60, 1, 32},
    {1, 4, 2, 0, 1, 16},
    {2, 6, 2, 200, 1, 64},
    {1, 3, 1, 17, 5, 8},
    {3, 2, 2, 0, 30, 32},
    {1, 2, 2, 9, 2, 17},
    {2, 2, 1, 5, 0, 16},
    // Enough work for several threads: a few texts each, or a few heads of one text.
    {7, 4, 2, 300, 1, 64},
    {1, 8, 4, 600, 1, 64}};

TEST(CachedAttention, GivesTheBitsOfTheWholeAndAppends) {
  for (const int threads : {1, 3}) {
    set_thread_count(threads);
    for (const Sizes& s : kSizes) {
      SCOPED_TRACE(testing::Message() << "cached " << s.cached << ", width " << s.width);
      const std::int64_t tokens = s.cached + s.fresh;
      // As one layer gives them: side by side.
      const Array packed = random_array({s.batch, s.fresh, s.heads + 2 * s.kv_heads, s.width}, 1);
      const Array q = packed.slice(2, 0, s.heads);
      Array k = random_array({s.batch, tokens, s.kv_heads, s.width}, 2);
      Array v = random_array({s.batch, tokens, s.kv_heads, s.width}, 3);
      const Array fresh_k = packed.slice(2, s.heads, s.heads + s.kv_heads);
      const Array fresh_v = packed.slice(2, s.heads + s.kv_heads, {});
      k.slice(1, s.cached, tokens).copy_from(fresh_k);
      v.slice(1, s.cached, tokens).copy_from(fresh_v);
      Array keys = room_of(k, s.cached, tokens + 3);
      Array values = room_of(v, s.cached, tokens + 3);
      const std::uint64_t version = keys.storage()->version();
      const CachedTokens cache{&keys, &values, s.cached};
      const Array y = cached_attention(q, fresh_k, fresh_v, {&cache, 1});
      EXPECT_EQ(y.shape(), (Shape{s.batch, s.fresh, s.heads * s.width}));
      EXPECT_EQ(y.to_vector<float>(), whole(q, k, v, s.cached));
      EXPECT_GT(keys.storage()->version(), version);
      expect_appended(keys, k);
      expect_appended(values, v);
    }
  }
  set_thread_count(1);
}

// Values of one query are added in registers, 16 to 128 columns at once.
TEST(CachedAttention, OneQueryOfAnyWidthGivesTheValuesOfF64) {
  for (const std::int64_t width : {16, 48, 112, 240}) {
    for (const std::int64_t cached : {0, 20, 200}) {
      SCOPED_TRACE(testing::Message() << "cached " << cached << ", width " << width);
      const Array q = random_array({2, 1, 4, width}, 1);
      const Array k = random_array({2, cached + 1, 2, width}, 2);
      const Array v = random_array({2, cached + 1, 2, width}, 3);
      Array keys = room_of(k, cached, cached + 1);
      Array values = room_of(v, cached, cached + 1);
      const CachedTokens cache{&keys, &values, cached};
      const auto last = [&](const Array& x) { return x.slice(1, cached, cached + 1); };
      const std::vector<float> y =
          cached_attention(q, last(k), last(v), {&cache, 1}).to_vector<float>();
      AttentionRun run;
      run.scale = 1.0 / std::sqrt(static_cast<double>(width));
      const auto exact = [](const Array& x) { return x.to(DType::kF64); };
      const std::vector<double> want =
          attention_forward({exact(q), exact(k), exact(v), {}, {}}, run).output.to_vector<double>();
      ASSERT_EQ(y.size(), want.size());
      for (std::size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], want[i], 2e-6) << i;
    }
  }
}

// The loop of a single query, which reads rows in place, against the tiles that several queries
// have.
TEST(CachedAttention, ValuesOfOneQueryHaveTheBitsOfAProduct) {
  const GemmLoops& gemm = gemm_loops();
  const std::int64_t padded = attention_blocks::row_floats(240);
  for (const std::int64_t width : {16, 32, 112, 240}) {
    for (const std::int64_t count : {1, 20, 192}) {
      SCOPED_TRACE(testing::Message() << count << " values of width " << width);
      const std::vector<float> shares = random_array({count}, 1).to_vector<float>();
      const std::vector<float> values = random_array({count, padded}, 2).to_vector<float>();
      std::vector<float> sums = random_array({padded}, 3).to_vector<float>();
      std::vector<float> want = sums;
      attention_loops().add_values(shares.data(), {values.data(), padded, count, width},
                                   sums.data());
      for (std::int64_t d = 0; d < width; d += gemm.columns) {
        gemm.multiply({1, std::min(gemm.columns, width - d), count}, {shares.data(), count, 1},
                      {values.data() + d, padded, kGemmPanel}, {want.data() + d, padded, true});
      }
      EXPECT_EQ(sums, want);
    }
  }
}

void expect_bits_of_each_alone(const std::vector<std::int64_t>& cached) {
  const auto texts = static_cast<std::int64_t>(cached.size());
  const std::int64_t capacity = *std::max_element(cached.begin(), cached.end()) + 8;
  const Array q = random_array({texts, 2, 4, 64}, 1);
  const Array k = random_array({texts, 2, 2, 64}, 2);
  const Array v = random_array({texts, 2, 2, 64}, 3);
  std::vector<Array> rooms;
  std::vector<Array> alone;
  for (std::size_t i = 0; i < cached.size(); ++i) {
    for (const std::uint64_t seed : {4U, 5U}) {
      rooms.push_back(random_array({1, 2, capacity, 64}, seed + 2 * i));
      alone.push_back(rooms.back().clone());
    }
  }
  std::vector<CachedTokens> caches;
  for (std::size_t i = 0; i < cached.size(); ++i) {
    caches.push_back({&rooms[2 * i], &rooms[2 * i + 1], cached[i]});
  }
  const Array y = cached_attention(q, k, v, caches);
  for (std::int64_t i = 0; i < texts; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const auto row = [i](const Array& x) { return x.slice(0, i, i + 1); };
    const CachedTokens own{&alone[2 * at], &alone[2 * at + 1], cached[at]};
    const Array want = cached_attention(row(q), row(k), row(v), {&own, 1});
    EXPECT_EQ(row(y).to_vector<float>(), want.to_vector<float>()) << i;
    EXPECT_EQ(rooms[2 * at].to_vector<float>(), alone[2 * at].to_vector<float>()) << i;
    EXPECT_EQ(rooms[2 * at + 1].to_vector<float>(), alone[2 * at + 1].to_vector<float>()) << i;
  }
}

TEST(CachedAttention, TextsOfSeveralLengthsHaveTheBitsOfEachAlone) {
  for (const int threads : {1, 3}) {
    set_thread_count(threads);
    expect_bits_of_each_alone({7, 0, 40, 3});
    expect_bits_of_each_alone({700, 0, 400, 3, 650});
  }
  set_thread_count(1);
}

}  // namespace
}  // namespace weft::cached_attention_test
