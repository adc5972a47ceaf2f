#include "weft/kernel/attention/attention.h"

#include <cmath>

#include <gtest/gtest.h>

#include "weft/base/parallel.h"
#include "weft/base/rng.h"
#include "weft/kernel/random/dropout.h"

namespace weft::attention_test {
namespace {

Array random_array(const Shape& shape, std::uint64_t stream) {
  Array values = Array::empty(shape);
  Rng rng(3, stream);
  for (float& value : values.flat<float>()) value = static_cast<float>(rng.normal());
  return values;
}

struct Sizes {
  std::int64_t batch;
  std::int64_t heads;
  std::int64_t kv_heads;
  std::int64_t queries;
  std::int64_t keys;
  std::int64_t width;
};

struct Inputs {
  Array q;
  Array k;
  Array v;
  Array dy;
};

Inputs inputs_of(const Sizes& s) {
  return {random_array({s.batch, s.queries, s.heads, s.width}, 1),
          random_array({s.batch, s.keys, s.kv_heads, s.width}, 2),
          random_array({s.batch, s.keys, s.kv_heads, s.width}, 3),
          random_array({s.batch, s.queries, s.heads, s.width}, 4)};
}

struct All {
  AttentionResult result;
  AttentionGradient gradient;
};

All both_passes(const Inputs& in, const Array& mask, const Array& stream, const AttentionRun& run) {
  All all;
  const AttentionInputs inputs{in.q, in.k, in.v, mask, stream};
  all.result = attention_forward(inputs, run);
  all.gradient = attention_backward(inputs, run, all.result, in.dy);
  return all;
}

All both_passes(const Inputs& in, const AttentionRun& run) {
  return both_passes(in, Array(), Array(), run);
}

// Largest error as part of the largest value, or of 1, and root of the mean square likewise.
struct Bounds {
  double largest;
  double mean;
};
constexpr Bounds kF32Bounds{1e-5, 1e-5};
// Shares, the gradients of scores and results are rounded, by at most 2^-9 of themselves each.
constexpr Bounds kBf16Bounds{0x1p-6, 0.01};

void expect_close(const Array& got, const Array& want, const Bounds& bounds) {
  const std::vector<double> a = got.to(DType::kF64).to_vector<double>();
  const std::vector<double> b = want.to_vector<double>();
  double largest = 1;
  double squares = 0;
  double wanted = 0;
  for (const double value : b) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isinf(b[i])) {
      ASSERT_EQ(a[i], b[i]) << i;
      continue;
    }
    ASSERT_NEAR(a[i], b[i], bounds.largest * largest) << i;
    squares += (a[i] - b[i]) * (a[i] - b[i]);
    wanted += b[i] * b[i];
  }
  const auto count = static_cast<double>(a.size());
  EXPECT_LE(std::sqrt(squares / count), bounds.mean * std::max(std::sqrt(wanted / count), 0.1));
}

// In f32, and in bf16 of inputs that are rounded to it first.
void expect_as_plain(const Sizes& sizes, const AttentionRun& run, const Array& mask = {},
                     const Array& stream = {}) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    SCOPED_TRACE(to_string(dtype));
    const Bounds& bounds = dtype == DType::kF32 ? kF32Bounds : kBf16Bounds;
    const Inputs all = inputs_of(sizes);
    const Inputs in = {all.q.to(dtype), all.k.to(dtype), all.v.to(dtype), all.dy.to(dtype)};
    const Inputs wide = {in.q.to(DType::kF64), in.k.to(DType::kF64), in.v.to(DType::kF64),
                         in.dy.to(DType::kF64)};
    const All got = both_passes(in, mask, stream, run);
    const All want = both_passes(wide, mask, stream, run);
    expect_close(got.result.output, want.result.output, bounds);
    expect_close(got.result.log_sums, want.result.log_sums, kF32Bounds);
    expect_close(got.gradient.q, want.gradient.q, bounds);
    expect_close(got.gradient.k, want.gradient.k, bounds);
    expect_close(got.gradient.v, want.gradient.v, bounds);
  }
}

// The plain f64 loops, which the op's contract test compares with its own reference, over sizes
// around those of the blocks (24 queries and 192 keys; 96 of both in the gradient).
TEST(Attention, BlocksGiveWhatPlainLoopsGive) {
  for (const std::int64_t tokens : {1, 7, 23, 25, 95, 97, 191, 194, 530}) {
    for (const bool causal : {false, true}) {
      SCOPED_TRACE(std::to_string(tokens) + (causal ? " causal" : ""));
      expect_as_plain({1, 2, 1, tokens, tokens, 20}, {.scale = 0.3, .causal = causal});
    }
  }
  expect_as_plain({2, 4, 2, 40, 300, 32}, {.scale = 0.2, .causal = true, .causal_offset = 260});
  expect_as_plain({1, 1, 1, 300, 40, 16}, {.scale = 0.2, .causal = true, .causal_offset = -7});
}

TEST(Attention, HeadsOfAnyWidth) {
  for (const std::int64_t width : {1, 15, 16, 17, 64, 80, 128}) {
    SCOPED_TRACE(width);
    expect_as_plain({1, 2, 2, 101, 101, width}, {.scale = 0.2, .causal = true});
  }
}

// As a text grows: up to three queries of a head read the keys where they are.
TEST(Attention, AFewQueriesOfManyKeys) {
  for (const std::int64_t keys : {1, 7, 8, 15, 17, 31, 33, 192, 203}) {
    for (const std::int64_t queries : {1, 2, 3, 4}) {
      SCOPED_TRACE(std::to_string(queries) + " of " + std::to_string(keys));
      for (const std::int64_t width : {16, 48, 64}) {
        expect_as_plain({2, 2, 2, queries, keys, width},
                        {.scale = 0.3, .causal = true, .causal_offset = keys - queries});
      }
      expect_as_plain({1, 3, 1, queries, keys, 32}, {.scale = 0.3});
    }
  }
}

TEST(Attention, ANegativeScaleTurnsTheOrderAround) {
  expect_as_plain({1, 2, 1, 50, 200, 16}, {.scale = -0.4});
}

// Values of 1e30 at keys that nobody may read would show in any share but 0.
TEST(Attention, HiddenKeysHaveNoShareAtAll) {
  Inputs in = inputs_of({1, 1, 1, 40, 50, 16});
  Array mask = Array::full({1, 1, 40, 50}, 1.0, DType::kBool);
  for (std::int64_t i = 0; i < 40; ++i) mask.data<bool>()[i * 50 + 33] = false;
  const All want = both_passes(in, mask, Array(), {.scale = 0.25});
  for (std::int64_t d = 0; d < 16; ++d) in.v.data<float>()[33 * 16 + d] = 1e30F;
  const All got = both_passes(in, mask, Array(), {.scale = 0.25});
  EXPECT_EQ(got.result.output.to_vector<float>(), want.result.output.to_vector<float>());
  EXPECT_EQ(got.gradient.k.to_vector<float>(), want.gradient.k.to_vector<float>());
}

TEST(Attention, WhatIsNoNumberStaysNoNumber) {
  Inputs in = inputs_of({1, 1, 1, 30, 30, 16});
  in.k.data<float>()[3 * 16] = std::nanf("");
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    const Inputs typed = {in.q.to(dtype), in.k.to(dtype), in.v.to(dtype), in.dy.to(dtype)};
    const All all = both_passes(typed, {.scale = 0.25, .causal = true});
    const Array output = all.result.output.to(DType::kF32);
    for (std::int64_t i = 0; i < 30; ++i) {
      EXPECT_EQ(std::isnan(output.data<float>()[i * 16]), i >= 3) << to_string(dtype) << i;
    }
  }
}

// Blocks of memory that others have left full of what is no number: what is not written is not
// read.
TEST(Attention, ReadsNothingThatItHasNotWritten) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    for (const auto& [tokens, width] :
         {std::pair<std::int64_t, std::int64_t>{5, 20}, {33, 17}, {101, 20}, {102, 1}}) {
      SCOPED_TRACE(std::string(to_string(dtype)) + " " + std::to_string(tokens));
      Inputs in = inputs_of({1, 2, 1, tokens, tokens, width});
      for (Array* const each : {&in.q, &in.k, &in.v, &in.dy}) *each = each->to(dtype);
      const AttentionRun run{.scale = 0.2, .causal = true};
      const All want = both_passes(in, run);
      {
        // The pool keeps memory by classes of sizes, which are more than an eighth apart.
        std::vector<Array> left;
        for (std::int64_t count = 64; count < std::int64_t{1} << 19; count += count / 16 + 1) {
          left.push_back(Array::full({count}, std::nan(""), DType::kF32));
        }
      }
      const All got = both_passes(in, run);
      for (const auto& [a, b] : {std::pair{got.result.output, want.result.output},
                                 {got.gradient.q, want.gradient.q},
                                 {got.gradient.k, want.gradient.k},
                                 {got.gradient.v, want.gradient.v}}) {
        EXPECT_EQ(a.to(DType::kF32).to_vector<float>(), b.to(DType::kF32).to_vector<float>());
      }
    }
  }
}

TEST(Attention, MaskAndDropoutInBlocks) {
  const Sizes sizes{2, 2, 2, 50, 290, 16};
  Array mask = Array::empty({2, 1, 50, 290}, DType::kBool);
  for (std::int64_t i = 0; i < mask.size(); ++i) mask.data<bool>()[i] = i % 7 < 3 || i % 290 == 5;
  const Array all = mask.expand({2, 2, 50, 290});
  const Array stream = dropout_stream(Array::from(std::vector<std::int64_t>{5, 6, 7}, {3}), 2);
  expect_as_plain(sizes, {.scale = 0.3}, all);
  expect_as_plain(sizes, {.scale = 0.3, .dropout = 0.3}, all, stream);
}

TEST(Attention, LargeScoresDoNotOverflow) {
  Inputs in = inputs_of({1, 1, 1, 30, 300, 8});
  for (float& value : in.q.flat<float>()) value *= 100.0F;
  const All all = both_passes(in, {.scale = 1.0});
  for (const float value : all.result.output.flat<float>()) ASSERT_TRUE(std::isfinite(value));
  for (const float value : all.gradient.k.flat<float>()) ASSERT_TRUE(std::isfinite(value));
}

TEST(Attention, InBf16GivesTheSameBitsForAnyThreadCount) {
  Inputs in = inputs_of({3, 4, 2, 70, 70, 24});
  for (Array* const each : {&in.q, &in.k, &in.v, &in.dy}) *each = each->to(DType::kBF16);
  const AttentionRun run{.scale = 0.2, .causal = true};
  const All one = both_passes(in, run);
  set_thread_count(3);
  const All three = both_passes(in, run);
  set_thread_count(1);
  const auto values = [](const Array& x) { return x.to(DType::kF32).to_vector<float>(); };
  EXPECT_EQ(values(one.result.output), values(three.result.output));
  EXPECT_EQ(values(one.gradient.q), values(three.gradient.q));
  EXPECT_EQ(values(one.gradient.k), values(three.gradient.k));
  EXPECT_EQ(values(one.gradient.v), values(three.gradient.v));
}

TEST(Attention, GivesTheSameBitsForAnyThreadCount) {
  const Inputs in = inputs_of({3, 4, 2, 70, 70, 24});
  const AttentionRun run{.scale = 0.2, .causal = true};
  const All one = both_passes(in, run);
  set_thread_count(3);
  const All three = both_passes(in, run);
  set_thread_count(1);
  EXPECT_EQ(one.result.output.to_vector<float>(), three.result.output.to_vector<float>());
  EXPECT_EQ(one.gradient.q.to_vector<float>(), three.gradient.q.to_vector<float>());
  EXPECT_EQ(one.gradient.k.to_vector<float>(), three.gradient.k.to_vector<float>());
  EXPECT_EQ(one.gradient.v.to_vector<float>(), three.gradient.v.to_vector<float>());
}

// Freed blocks stay in the pool, so that its size tells how much memory was used at once.
TEST(Attention, MakesNoArrayOfTokensTimesTokens) {
  constexpr std::int64_t kTokens = 2048;
  const Inputs in = inputs_of({1, 1, 1, kTokens, kTokens, 16});
  Storage::trim_pool();
  const All all = both_passes(in, {.scale = 0.25, .causal = true});
  const std::size_t results = 4 * in.q.size_bytes() + all.result.log_sums.size_bytes();
  EXPECT_LT(Storage::pooled_bytes() + results, std::size_t{kTokens} * kTokens * sizeof(float) / 8);
}

TEST(Attention, PackedHeadsGiveWhatSeparateOnesGive) {
  const std::int64_t width = 12;
  const Array qkv = random_array({2, 33, (4 + 2 * 2) * width}, 9);
  const auto part = [&](std::int64_t first, std::int64_t count) {
    return qkv.slice(2, first * width, (first + count) * width)
        .reshape({2, 33, count, width})
        .contiguous();
  };
  const AttentionRun run{.scale = 0.3, .causal = true};
  const Array dy = random_array({2, 33, 4, width}, 10);
  const All want = both_passes({part(0, 4), part(4, 2), part(6, 2), dy}, run);
  const AttentionResult got = packed_attention_forward(qkv, {4, 2}, Array(), run);
  EXPECT_EQ(got.output.to_vector<float>(), want.result.output.to_vector<float>());
  const Array gradient = packed_attention_backward(qkv, {4, 2}, Array(), run, got, dy);
  const auto flat = [](const Array& x) { return x.contiguous().reshape({2, 33, -1}); };
  EXPECT_EQ(gradient.slice(2, 0, 4 * width).to_vector<float>(),
            flat(want.gradient.q).to_vector<float>());
  EXPECT_EQ(gradient.slice(2, 4 * width, 6 * width).to_vector<float>(),
            flat(want.gradient.k).to_vector<float>());
  EXPECT_EQ(gradient.slice(2, 6 * width, 8 * width).to_vector<float>(),
            flat(want.gradient.v).to_vector<float>());
}

}  // namespace
}  // namespace weft::attention_test
