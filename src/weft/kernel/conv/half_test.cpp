// bf16 and f16 in kernels: the bits of the f32 kernels on the widened operands, rounded once; where
// the processor multiplies pairs of bf16, sums within the error bound of f32, rounded once.
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/parallel.h"
#include "weft/kernel/conv/residual.h"
#include "weft/kernel/core/onednn.h"
#include "weft/kernel/core/test_random_array.h"
#include "weft/kernel/elementwise/convert.h"
#include "weft/kernel/gemm/gemm_pairs_loops.h"
#include "weft/kernel/gemm/linear.h"
#include "weft/kernel/gemm/matmul.h"

namespace weft::half_test {
namespace {

constexpr DType kHalves[] = {DType::kBF16, DType::kF16};

Array random(const Shape& shape, std::uint64_t seed, DType dtype) {
  return convert(random_array(shape, seed), dtype);
}

Array wide(const Array& x) { return x.defined() ? convert(x, DType::kF32) : x; }

std::vector<float> values_of(const Array& x) { return wide(x.strided()).to_vector<float>(); }

// What `want`, in f32, becomes when it is rounded once.
std::vector<float> rounded(const Array& want, DType dtype) {
  return values_of(convert(want.strided(), dtype));
}

Array magnitudes(const Array& x) {
  Array result = wide(x.contiguous());
  for (float& value : result.flat<float>()) value = std::abs(value);
  return result;
}

// `got` is `want` rounded once. Where pairs are multiplied at once, want's sums of k products and
// got's differ by at most 2^-23 of `magnitude`, the sum of all magnitudes, for each addition,
// before either is rounded by at most 2^-8 of its value.
void expect_rounded(const Array& got, const Array& want, const Array& magnitude, std::int64_t k) {
  if (got.dtype() != DType::kBF16 || !gemm_pairs_loops().preferred) {
    ASSERT_EQ(values_of(got), rounded(want, got.dtype()));
    return;
  }
  const std::vector<float> values = values_of(got);
  const std::vector<float> sums = values_of(want);
  const std::vector<float> bounds = values_of(magnitude);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float error = bounds[i] * static_cast<float>(k + 2) * 0x1p-23F;
    ASSERT_NEAR(values[i], sums[i], (std::abs(sums[i]) + error) * 0x1p-8F + error)
        << "element " << i;
  }
}

struct Sizes {
  std::int64_t m, n, k;
};
const std::vector<Sizes> kSizes = {{1, 1, 1},       {7, 17, 257},   {64, 10, 33},
                                   {3, 40, 700},    {97, 31, 5},    {200, 33, 40},
                                   {250, 600, 800}, {20, 40, 1600}, {2, 3, 0}};

TEST(HalfMatmul, HasTheBitsOfTheWidenedProductRoundedOnce) {
  for (const DType dtype : kHalves) {
    for (const Sizes& size : kSizes) {
      for (int variant = 0; variant < 8; ++variant) {
        const MatmulOptions options{(variant & 1) != 0, (variant & 2) != 0, (variant & 4) != 0};
        const Array a =
            random(options.transpose_a ? Shape{size.k, size.m} : Shape{size.m, size.k}, 1, dtype);
        const Array b =
            random(options.transpose_b ? Shape{size.n, size.k} : Shape{size.k, size.n}, 2, dtype);
        Array out = random({size.m, size.n}, 3, dtype);
        Array want = wide(out);
        Array magnitude = magnitudes(out);
        matmul(wide(a), wide(b), want, options);
        matmul(magnitudes(a), magnitudes(b), magnitude, options);
        matmul(a, b, out, options);
        expect_rounded(out, want, magnitude, size.k);
        if (HasFatalFailure()) {
          FAIL() << size.m << " " << size.n << " " << size.k << " variant " << variant;
        }
      }
    }
  }
}

TEST(HalfMatmul, TakesViewsAndBatches) {
  const Array a = random({2, 20, 30}, 4, DType::kBF16).slice(1, 1, 18, 2).slice(2, 0, 30, 3);
  const Array b = random({2, 10, 40}, 5, DType::kBF16).slice(2, 0, 38, 2);
  Array out = Array::empty({2, a.dim(1), b.dim(2)}, DType::kBF16);
  Array want = Array::empty(out.shape());
  matmul(a, b, out);
  matmul(wide(a), wide(b), want);
  Array magnitude = Array::empty(out.shape());
  matmul(magnitudes(a), magnitudes(b), magnitude);
  expect_rounded(out, want, magnitude, a.dim(2));
}

TEST(HalfMatmul, AnyNumberOfThreadsGivesTheSameBits) {
  const int before = thread_count();
  const Array a = random({300, 500}, 6, DType::kBF16);
  const Array b = random({500, 130}, 7, DType::kBF16);
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 2, 3}) {
    set_thread_count(threads);
    Array out = Array::empty({300, 130}, DType::kBF16);
    matmul(a, b, out);
    results.push_back(values_of(out));
  }
  set_thread_count(before);
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

TEST(HalfLinear, BiasActivationAndSumsRoundOnce) {
  for (const DType dtype : kHalves) {
    const Array x = random({37, 450}, 8, dtype);
    const Array weight = random({300, 450}, 9, dtype);
    const Array bias = random({300}, 10, dtype);
    for (const bool relu : {false, true}) {
      expect_rounded(linear_forward(x, weight, bias, relu),
                     linear_forward(wide(x), wide(weight), wide(bias), relu),
                     linear_forward(magnitudes(x), magnitudes(weight), magnitudes(bias), false),
                     x.dim(1));
      if (HasFatalFailure()) return;
    }
    for (const bool accumulate : {false, true}) {
      Array sums = random({450}, 11, dtype);
      Array want = wide(sums);
      column_sums(x, sums, accumulate);
      column_sums(wide(x), want, accumulate);
      EXPECT_EQ(values_of(sums), rounded(want, dtype));
    }
  }
}

// Images in blocks of 8 channels, as convolutions give them.
Array blocked(const Array& x) { return convert(in_blocks_of_8(wide(x)), x.dtype()); }

TEST(HalfBlocks, ConversionsKeepTheOrderAndTheValues) {
  for (const DType dtype : kHalves) {
    const Array x = random({2, 16, 3, 5}, 12, dtype);
    const Array blocks = blocked(x);
    ASSERT_FALSE(blocks.is_strided());
    EXPECT_EQ(blocks.format()->size_bytes(), 2 * static_cast<std::size_t>(x.size()));
    EXPECT_EQ(values_of(blocks), values_of(x));
    const Array back = convert(blocks, DType::kF32);
    EXPECT_EQ(channel_block(back), 8);
    EXPECT_EQ(back.strided().to_vector<float>(), values_of(x));
    EXPECT_EQ(blocks.reshape({-1}).dtype(), dtype);
    // Another type has no such order.
    EXPECT_EQ(convert(blocks, DType::kF64).to_vector<double>()[7],
              static_cast<double>(values_of(x)[7]));
  }
}

TEST(HalfBlocks, CopiesOfAllSizesKeepTheValues) {
  for (const DType dtype : kHalves) {
    for (const Shape& shape : {Shape{1, 8, 1, 1}, Shape{3, 24, 3, 5}, Shape{2, 16, 8, 9},
                               Shape{1, 8, 4, 4}, Shape{0, 8, 2, 2}}) {
      const Array x = random(shape, 15, dtype);
      const Array blocks = in_blocks_of_8(x);
      EXPECT_EQ(channel_block(blocks), 8);
      EXPECT_EQ(blocks.dtype(), dtype);
      EXPECT_EQ(values_of(convert(blocks, DType::kF32)), values_of(x));
      EXPECT_EQ(values_of(blocks), values_of(x));
    }
  }
}

TEST(HalfBlocks, ReluAndSumsWorkInThem) {
  for (const DType dtype : kHalves) {
    const Array x = random({2, 16, 3, 5}, 13, dtype);
    const Array z = random({2, 16, 3, 5}, 14, dtype);
    for (const bool blocks : {false, true}) {
      const Array a = blocks ? blocked(x) : x;
      EXPECT_EQ(values_of(relu_forward(a)), rounded(relu_forward(wide(x)), dtype));
      // The gradient comes in either order.
      for (const Array& dy : {z, blocked(z)}) {
        EXPECT_EQ(values_of(relu_backward(dy, a)), rounded(relu_backward(wide(z), wide(x)), dtype));
      }
      for (const bool relu : {false, true}) {
        const Array want = add_in_order(wide(x), wide(z), relu);
        EXPECT_EQ(values_of(add_in_order(a, blocked(z), relu)), rounded(want, dtype));
        EXPECT_EQ(values_of(add_in_order(z, a, relu)), rounded(want, dtype));
      }
    }
  }
}

}  // namespace
}  // namespace weft::half_test
