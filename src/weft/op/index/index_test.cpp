// Joining, indexing and sorting: refusals, other element types, order of equal values and NaN,
// sparse gradients, and what once went wrong elsewhere (a gradient that is a plain array, batches
// in a product).
#include <cmath>
#include <limits>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/autograd/backward.h"
#include "weft/autograd/test_tensor.h"
#include "weft/base/parallel.h"
#include "weft/op/core/sample.h"
#include "weft/op/ops.h"

namespace weft::index_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr DType kEveryType[] = {DType::kF32, DType::kF64, DType::kI64, DType::kU8,  DType::kBF16,
                                DType::kF16, DType::kI8,  DType::kI32, DType::kBool};

// 0, 1, 0, 1, ... or 0, 1, 2, ...: values that every type holds.
Tensor counted(const Shape& shape, DType dtype) {
  Array x = Array::empty(shape, DType::kI64);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    x.data<std::int64_t>()[i] = dtype == DType::kBool ? i % 2 : i;
  }
  return Tensor(x.to(dtype));
}

TEST(Indexing, MovesValuesOfEveryType) {
  for (const DType dtype : kEveryType) {
    SCOPED_TRACE(to_string(dtype));
    const Tensor x = counted({3, 4}, dtype);
    const auto same = [&](const Tensor& got, const Tensor& from_i64) {
      EXPECT_EQ(got.dtype(), dtype);
      EXPECT_EQ(values_of(got), values_of(Tensor(from_i64.array().to(dtype))));
    };
    const Tensor wide(x.array().to(DType::kI64));
    const Array rows = numbers({2, 0, 2});
    same(index_select(x, 0, rows), index_select(wide, 0, rows));
    same(gather(x, 0, rows.reshape({1, 3})), gather(wide, 0, rows.reshape({1, 3})));
    same(index(x, {{}, numbers({-1, 0})}), index(wide, {{}, numbers({-1, 0})}));
    same(triu(x), triu(wide));
    same(roll(x, {1}, {1}), roll(wide, {1}, {1}));
    same(flip(x, {0, 1}), flip(wide, {0, 1}));
    same(stack({x, x}, 1), stack({wide, wide}, 1));
    same(pad(x, {{1, 1}}), pad(wide, {{1, 1}}));
    same(sort(x, 1, true).values, sort(wide, 1, true).values);
    same(split(x, 2, 1)[1], split(wide, 2, 1)[1]);
    same(dilate(x, {1}, 1), dilate(wide, {1}, 1));
    same(diag_embed(x), diag_embed(wide));
    same(scatter(x, 0, rows.reshape({1, 3}), slice(slice(x, 0, 0, 1), 1, 0, 3)),
         scatter(wide, 0, rows.reshape({1, 3}), slice(slice(wide, 0, 0, 1), 1, 0, 3)));
    if (dtype == DType::kBool) continue;
    same(index_add(x, 0, rows, x), index_add(wide, 0, rows, wide));
    same(fold(unfold(x, 1, 3, 1), 1, 4, 1), fold(unfold(wide, 1, 3, 1), 1, 4, 1));
  }
}

TEST(Indexing, TakesIndexesOfAnyIntegerType) {
  const Tensor x = tensor({5, 6, 7}, {3});
  for (const DType dtype : {DType::kI64, DType::kI32, DType::kU8, DType::kI8}) {
    const Array at = numbers({2, 0}).to(dtype);
    EXPECT_THAT(values_of(index_select(x, 0, at)), ElementsAre(7, 5));
    EXPECT_THAT(values_of(gather(x, 0, Tensor(at))), ElementsAre(7, 5));
  }
  EXPECT_EQ(refusal([&] { gather(x, 0, numbers({1}).to(DType::kF32)); }),
            "[gather] expected i64 indexes, got f32");
}

TEST(Indexing, RefusesPositionsOutsideAndShapesThatDoNotFit) {
  const Tensor x = tensor({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_EQ(refusal([&] {
              index_select(x, 1, numbers({0, 3}));
            }),
            "[index_select] expected indexes in [0, 3), got 3");
  EXPECT_EQ(refusal([&] {
              gather(x, 0, numbers({-1}).reshape({1, 1}));
            }),
            "[gather] expected indexes in [0, 2), got -1");
  EXPECT_EQ(refusal([&] { index(x, {numbers({-3})}); }),
            "[index] expected indexes in [-2, 2), got -3");
  EXPECT_EQ(refusal([&] { embedding(x, numbers({2})); }),
            "[embedding] expected indexes in [0, 2), got 2");
  EXPECT_THAT(refusal([&] {
                index(x, {numbers({0}), numbers({0}), numbers({0})});
              }),
              HasSubstr("[index] expected at most 2 indexes"));
  EXPECT_THAT(refusal([&] { index(x, {{}, {}}); }), HasSubstr("at least one index array"));
  EXPECT_THAT(refusal([&] {
                index(x, {numbers({0, 1}), numbers({0, 1, 2})});
              }),
              HasSubstr("broadcast"));
  EXPECT_THAT(refusal([&] { gather(x, 0, numbers({0, 1})); }), HasSubstr("[gather] expected an"));
  EXPECT_THAT(refusal([&] {
                masked_fill(x, Array::zeros({2, 4}, DType::kBool), 0);
              }),
              HasSubstr("broadcast"));
  EXPECT_THAT(refusal([&] { masked_fill(x, Array::zeros({2, 3}), 0); }), HasSubstr("a bool mask"));
  EXPECT_THAT(refusal([&] { index_add(x, 0, numbers({0}), x); }), HasSubstr("[index_add]"));
  EXPECT_THAT(refusal([&] { topk(x, 4); }), HasSubstr("[topk] expected a count in [0, 3], got 4"));
  EXPECT_THAT(refusal([&] { kthvalue(x, 0); }), HasSubstr("[kthvalue] expected k in [1, 3]"));
  EXPECT_THAT(refusal([&] { median(tensor({}, {2, 0})); }), HasSubstr("[median]"));
}

TEST(Joining, RefusesWhatDoesNotFit) {
  const Tensor x = tensor({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_THAT(refusal([&] { stack({x, tensor({1}, {1})}); }), HasSubstr("[stack] expected parts"));
  EXPECT_THAT(refusal([&] { stack(std::vector<Tensor>(), 0); }), HasSubstr("at least one"));
  EXPECT_EQ(refusal([&] {
              split(x, std::vector<std::int64_t>{1, 1}, 1);
            }),
            "[split] expected lengths that sum to 3, got 2");
  EXPECT_THAT(refusal([&] { pad(x, {{3, 0}}, PadMode::kReflect); }), HasSubstr("[pad] expected"));
  EXPECT_THAT(refusal([&] { pad(x, {{-4, 0}}); }), HasSubstr("[pad] expected"));
  EXPECT_THAT(refusal([&] { pad(x, {{1, 0}, {0, 0}, {0, 0}}); }), HasSubstr("at most 2 axes"));
  EXPECT_THAT(refusal([&] { undilate(x, {1}, 1); }), HasSubstr("[undilate] expected lengths"));
  EXPECT_THAT(refusal([&] { unfold(x, 1, 4, 1); }), HasSubstr("[unfold] expected windows"));
  EXPECT_THAT(refusal([&] { fold(x, 0, 9, 1); }), HasSubstr("[fold] expected the windows"));
  EXPECT_THAT(refusal([&] { diagonal(x, 0, 1, -1); }), HasSubstr("[diagonal] expected two axes"));
  EXPECT_THAT(refusal([&] { movedim(x, {0, 0}, {0, 1}); }), HasSubstr("each axis once"));
  EXPECT_THAT(refusal([&] { repeat(x, {2}); }), HasSubstr("[repeat] expected a count"));
  EXPECT_THAT(refusal([&] { one_hot(numbers({3}), 3); }), HasSubstr("labels in [0, 3), got 3"));
  EXPECT_THAT(refusal([&] { arange(0, 1, 0); }), HasSubstr("[arange] expected a step"));
}

TEST(Creation, CountsAndGrids) {
  EXPECT_THAT(values_of(arange(1, 2, 0.25)), ElementsAre(1, 1.25, 1.5, 1.75));
  EXPECT_THAT(values_of(arange(5, 0, -2)), ElementsAre(5, 3, 1));
  EXPECT_EQ(arange(std::int64_t{3}).dtype(), DType::kI64);
  EXPECT_EQ(arange(0, 0).size(), 0);
  EXPECT_THAT(values_of(linspace(0, 1, 5)), ElementsAre(0, 0.25, 0.5, 0.75, 1));
  EXPECT_THAT(values_of(linspace(3, 9, 1)), ElementsAre(3));
  EXPECT_EQ(linspace(0, 0.1, 11, DType::kF64).array().to_vector<double>().back(), 0.1);
  EXPECT_THAT(values_of(eye(2, 3)), ElementsAre(1, 0, 0, 0, 1, 0));
  EXPECT_THAT(values_of(eye(0)), ElementsAre());
  EXPECT_THAT(values_of(one_hot(numbers({2, 0}), 3)), ElementsAre(0, 0, 1, 1, 0, 0));
  const std::vector<Tensor> grid = meshgrid({tensor({1, 2}, {2}), tensor({3, 4, 5}, {3})});
  EXPECT_THAT(values_of(grid[0]), ElementsAre(1, 1, 1, 2, 2, 2));
  EXPECT_THAT(values_of(grid[1]), ElementsAre(3, 4, 5, 3, 4, 5));
  const std::vector<Tensor> xy =
      meshgrid({tensor({1, 2}, {2}), tensor({3, 4, 5}, {3})}, GridOrder::kXy);
  EXPECT_THAT(values_of(xy[0]), ElementsAre(1, 2, 1, 2, 1, 2));
}

TEST(Sorting, IsStableAndPutsNaNLast) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor x = tensor({2, nan, 1, inf, 2, nan, -inf}, {7});
  EXPECT_THAT(values_of(argsort(x)), ElementsAre(6, 2, 0, 4, 3, 1, 5));
  EXPECT_THAT(values_of(argsort(x, 0, true)), ElementsAre(1, 5, 3, 0, 4, 2, 6));
  EXPECT_THAT(values_of(topk(x, 3).indices), ElementsAre(1, 5, 3));
  EXPECT_THAT(values_of(topk(x, 3, 0, false).indices), ElementsAre(6, 2, 0));
  EXPECT_EQ(values_of(kthvalue(x, 4).indices)[0], 4);
  EXPECT_TRUE(std::isnan(values_of(median(x).values)[0]));
  EXPECT_EQ(values_of(median(x).indices)[0], 1);
  EXPECT_EQ(median_of_all(tensor({4, 1, 3, 2}, {2, 2})).item(), 2);
}

TEST(Sorting, OfManyEqualValuesKeepsTheirOrder) {
  Array x = Array::empty({3, 5000}, DType::kU8);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    x.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i * 7 % 3);
  }
  const std::vector<std::int64_t> at = argsort(Tensor(x)).array().to_vector<std::int64_t>();
  for (std::size_t i = 1; i < at.size(); ++i) {
    if (i % 5000 == 0) continue;
    const auto row = static_cast<std::int64_t>(i / 5000) * 5000;
    const std::uint8_t before = x.data<std::uint8_t>()[row + at[i - 1]];
    const std::uint8_t now = x.data<std::uint8_t>()[row + at[i]];
    ASSERT_TRUE(before < now || (before == now && at[i - 1] < at[i])) << i;
  }
}

TEST(Searching, FindsCountsAndUniqueValues) {
  const Array sorted = Array::from(std::vector<double>{1, 2, 2, 5}, {4});
  const Array wanted = Array::from(std::vector<double>{0, 2, 3, 5, 9}, {5});
  EXPECT_THAT(values_of(searchsorted(sorted, wanted)), ElementsAre(0, 1, 3, 3, 4));
  EXPECT_THAT(values_of(searchsorted(sorted, wanted, true)), ElementsAre(0, 3, 3, 4, 4));
  EXPECT_THAT(values_of(bincount(numbers({1, 3, 1}))), ElementsAre(0, 2, 0, 1));
  EXPECT_THAT(values_of(bincount(numbers({1, 0}), 3, Array::from(std::vector<double>{.5, 2}, {2}))),
              ElementsAre(2, 0.5, 0));
  EXPECT_EQ(bincount(numbers({})).size(), 0);
  EXPECT_THAT(refusal([] { bincount(numbers({-1})); }), HasSubstr("values of 0 or more"));
  const Unique found = unique(Array::from(std::vector<double>{3, 1, 3, 2, 1, 3}, {2, 3}));
  EXPECT_THAT(values_of(found.values), ElementsAre(1, 2, 3));
  EXPECT_THAT(values_of(found.inverse), ElementsAre(2, 0, 2, 1, 0, 2));
  EXPECT_THAT(values_of(found.counts), ElementsAre(2, 1, 3));
  const Array mask = Array::from(std::vector<double>{0, 1, 1, 0, 0, 1}, {2, 3}).to(DType::kBool);
  EXPECT_THAT(values_of(nonzero(mask)), ElementsAre(0, 1, 0, 2, 1, 2));
}

TEST(Embedding, TheSparseGradientIsTheDenseOne) {
  const Array table = sample_values({9, 4}, 3).to(DType::kF32);
  const Array tokens = numbers({3, 1, 3, 8, 1, 3}).reshape({2, 3});
  const Tensor weights(sample_values({2, 3, 4}, 4).to(DType::kF32));
  const Tensor dense(table.clone(), true);
  backward(sum(embedding(dense, tokens, {.padding_index = 8}) * weights));
  const SparseEmbedding sparse = sparse_embedding(table, tokens);
  backward(sum(sparse.output * weights));
  const SparseRows rows = sparse_rows(sparse, {.padding_index = -1});
  EXPECT_THAT(values_of(rows.rows), ElementsAre(1, 3));
  EXPECT_EQ(values_of(to_dense(rows)), values_of(dense.grad()));
  EXPECT_EQ(to_dense(rows).shape(), (Shape{9, 4}));
}

TEST(Embedding, AddsToTheGradientThatIsThere) {
  const Tensor table(Array::full({3, 2}, 1.0), true);
  table.dim(0);
  Tensor leaf = table;
  leaf.set_grad_storage(Array::zeros({3, 2}));
  for (int i = 0; i < 2; ++i) {
    backward(sum(embedding(leaf, numbers({0, 2, 0, 1}), {.padding_index = 1})));
  }
  EXPECT_THAT(values_of(leaf.grad()), ElementsAre(4, 4, 0, 0, 2, 2));
}

TEST(ScatterAdd, IsTheSameForAnyThreadCount) {
  const Array tokens = Array::from(
      [] {
        std::vector<std::int64_t> at(4000);
        for (std::size_t i = 0; i < at.size(); ++i) at[i] = static_cast<std::int64_t>(i * i % 17);
        return at;
      }(),
      {4000});
  const Tensor source(sample_values({4000, 33}, 9).to(DType::kF32));
  const Tensor zero(Array::zeros({17, 33}));
  const std::vector<float> one = index_add(zero, 0, tokens, source).array().to_vector<float>();
  set_thread_count(3);
  const std::vector<float> three = index_add(zero, 0, tokens, source).array().to_vector<float>();
  set_thread_count(1);
  EXPECT_EQ(one, three);
}

// Once wrong: the gradient of flip was no node of the graph, a product took no batch, the maximum
// of all axes had no gradient, x[0] raised, an undilated array had no gradient.
TEST(Regression, FlipInsideALongerGraph) {
  const Tensor x = tensor({1, 2, 3, 4, 5, 6}, {2, 3}, true);
  const Tensor weights = tensor({1, 2, 3, 4, 5, 6}, {2, 3});
  backward(sum(exp(flip(x * x, {1}) * 0.1) * weights));
  for (int i = 0; i < 6; ++i) {
    const double v = i + 1;
    const double w = values_of(weights)[static_cast<std::size_t>(i / 3 * 3 + 2 - i % 3)];
    EXPECT_NEAR(values_of(x.grad())[static_cast<std::size_t>(i)],
                w * std::exp(0.1 * v * v) * 0.2 * v, 1e-12);
  }
}

TEST(Regression, ProductsOfBatches) {
  const Tensor a(sample_values({4, 2, 3, 5}, 1), true);
  const Tensor b(sample_values({2, 5, 6}, 2), true);
  const Tensor y = matmul(a, b);
  EXPECT_EQ(y.shape(), (Shape{4, 2, 3, 6}));
  backward(sum(y));
  EXPECT_EQ(a.grad().shape(), a.shape());
  EXPECT_EQ(b.grad().shape(), b.shape());
}

TEST(Regression, LogSumExpOfAllAxesAndOfTwo) {
  const Tensor x = tensor({1, 2, 3, 4, 5, 6, 7, 8}, {2, 2, 2}, true);
  backward(logsumexp(x));
  double total = 0;
  for (const double share : values_of(x.grad())) total += share;
  EXPECT_NEAR(total, 1.0, 1e-12);
  const Tensor y = tensor({1, 2, 3, 4, 5, 6, 7, 8}, {2, 2, 2}, true);
  const Tensor z = logsumexp(y, {0, 2});
  EXPECT_EQ(z.shape(), Shape{2});
  backward(sum(z));
  total = 0;
  for (const double share : values_of(y.grad())) total += share;
  EXPECT_NEAR(total, 2.0, 1e-12);
}

TEST(Regression, OneRowOfATensor) {
  const Tensor x = tensor({1, 2, 3, 4}, {2, 2}, true);
  const Tensor row = unbind(x)[1];
  EXPECT_THAT(values_of(row), ElementsAre(3, 4));
  backward(sum(row * row));
  EXPECT_THAT(values_of(x.grad()), ElementsAre(0, 0, 6, 8));
  EXPECT_THAT(values_of(slice(x, 0, -2, {})), ElementsAre(1, 2, 3, 4));
}

TEST(Regression, UndilateHasAGradient) {
  const Tensor x = tensor({1, 2, 3, 4}, {4}, true);
  const Tensor y = undilate(dilate(x, {0}, 2), {0}, 2);
  EXPECT_THAT(values_of(y), ElementsAre(1, 2, 3, 4));
  backward(sum(undilate(x * x, {0}, 1)));
  EXPECT_THAT(values_of(x.grad()), ElementsAre(2, 0, 6, 0));
}

TEST(Regression, AViewOfAViewKeepsItsOffset) {
  const Tensor x = tensor({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, {3, 4});
  const Tensor view = slice(slice(x, 0, 1, 3), 1, 1, {}, 2);
  EXPECT_THAT(values_of(sum(view, {1})), ElementsAre(12, 20));
  EXPECT_THAT(values_of(permute(view, {1, 0})), ElementsAre(5, 9, 7, 11));
  EXPECT_THAT(values_of(roll(view, {1}, {1})), ElementsAre(7, 5, 11, 9));
  EXPECT_THAT(values_of(diagonal(view)), ElementsAre(5, 11));
}

}  // namespace
}  // namespace weft::index_test
