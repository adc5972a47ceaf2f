// Losses: edges that the samples do not reach, other types, memory, second gradients; einsum's
// refusals.
#include <cmath>
#include <limits>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/autograd/backward.h"
#include "weft/autograd/test_tensor.h"
#include "weft/op/core/sample.h"
#include "weft/op/ops.h"

namespace weft::loss_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(CrossEntropy, TakesLogitsOfEveryFloatingType) {
  const Array logits = sample_values({6, 5}, 1, -3, 3);
  const Array targets = numbers({0, 1, 2, 3, 4, 2});
  const double exact = cross_entropy(Tensor(logits), targets).item();
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
    SCOPED_TRACE(to_string(dtype));
    const Tensor x(logits.to(dtype), true);
    const Tensor loss = cross_entropy(x, targets);
    EXPECT_EQ(loss.dtype(), dtype);
    EXPECT_NEAR(loss.item(), exact, dtype == DType::kF32 ? 1e-6 : 0.02);
    backward(loss);
    EXPECT_EQ(x.grad().dtype(), dtype);
    double total = 0;
    for (const double value : values_of(x.grad())) total += value;
    EXPECT_NEAR(total, 0, 1e-2);
  }
}

TEST(CrossEntropy, TakesTargetsOfAnyIntegerType) {
  const Tensor logits(sample_values({3, 5}, 1));
  const double want = cross_entropy(logits, numbers({4, 0, 2})).item();
  for (const DType dtype : {DType::kI32, DType::kU8, DType::kI8}) {
    EXPECT_EQ(cross_entropy(logits, numbers({4, 0, 2}).to(dtype)).item(), want);
  }
}

TEST(CrossEntropy, OfOnlyIgnoredRowsIsNaNAndTheirSumZero) {
  const Tensor logits(sample_values({2, 3}, 1), true);
  CrossEntropyOptions options;
  options.ignore_index = 1;
  EXPECT_TRUE(std::isnan(cross_entropy(logits, numbers({1, 1}), options).item()));
  options.reduction = Reduction::kSum;
  const Tensor sum = cross_entropy(logits, numbers({1, 1}), options);
  EXPECT_EQ(sum.item(), 0);
  backward(sum);
  for (const double value : values_of(logits.grad())) EXPECT_EQ(value, 0);
}

TEST(CrossEntropy, FindsTheAxisOfTheClasses) {
  const Tensor logits(sample_values({2, 3, 4}, 1));
  const Array by_token = Array::zeros({2, 3}, DType::kI64);
  const Array by_pixel = Array::zeros({2, 4}, DType::kI64);
  EXPECT_NEAR(cross_entropy(logits, by_token).item(),
              cross_entropy(reshape(logits, {6, 4}), by_token.reshape({6})).item(), 1e-12);
  EXPECT_NEAR(cross_entropy(logits, by_pixel).item(),
              cross_entropy(reshape(transpose(logits, 1, 2), {8, 3}), by_pixel.reshape({8})).item(),
              1e-12);
  EXPECT_THAT(refusal([&] {
                cross_entropy(logits, numbers({0, 0}));
              }),
              HasSubstr("[cross_entropy] expected targets of shape [2, 3], got [2]"));
  CrossEntropyOptions options;
  options.label_smoothing = 1.5;
  EXPECT_THAT(refusal([&] { cross_entropy(logits, by_token, options); }),
              HasSubstr("label_smoothing in [0, 1]"));
  options = {};
  options.class_weights = Array::zeros({3});
  EXPECT_THAT(refusal([&] { cross_entropy(logits, by_token, options); }),
              HasSubstr("class weights of shape [4]"));
}

TEST(CrossEntropy, OfProbabilitiesIsThatOfTheirClass) {
  const Tensor logits(sample_values({4, 3}, 1));
  const Array targets = numbers({0, 2, 1, 1});
  const Tensor soft = one_hot(targets, 3, DType::kF64);
  EXPECT_NEAR(soft_cross_entropy(logits, soft).item(), cross_entropy(logits, targets).item(),
              1e-12);
}

TEST(CrossEntropy, AgreesWithNllOfLogSoftmaxInSecondGradients) {
  const Array x = sample_values({3, 4}, 5, -2, 2);
  const Array targets = numbers({1, 0, 3});
  const auto second = [&](bool fused) {
    const Tensor leaf(x, true);
    const Tensor loss =
        fused ? cross_entropy(leaf, targets) : nll_loss(log_softmax(leaf, 1), targets);
    const Tensor first = grad({loss}, {leaf}, {.create_graph = true})[0];
    return values_of(grad({sum(first * first)}, {leaf})[0].array());
  };
  const std::vector<double> fused = second(true);
  const std::vector<double> parts = second(false);
  for (std::size_t i = 0; i < fused.size(); ++i) EXPECT_NEAR(fused[i], parts[i], 1e-12);
}

// A batch of nothing but padding.
TEST(NllLoss, OfNoRowsHasNoValueAndNoGradient) {
  const Tensor x(sample_values({2, 3}, 9, -3, 0), true);
  const Tensor loss = nll_loss(x, numbers({-100, -100}));
  EXPECT_TRUE(std::isnan(loss.item()));
  backward(loss);
  EXPECT_THAT(gradient(x), ElementsAre(0, 0, 0, 0, 0, 0));
}

TEST(BceWithLogits, IsStableAndRightAtZero) {
  const Tensor x = tensor({0, 800, -800, 800}, {4}, true);
  const Tensor target = tensor({1, 1, 0, 0}, {4});
  const Tensor loss = bce_with_logits(x, target, {.reduction = Reduction::kNone});
  EXPECT_THAT(values_of(loss.array()), ElementsAre(std::log(2.0), 0, 0, 800));
  backward(sum(loss));
  EXPECT_THAT(values_of(x.grad()), ElementsAre(-0.5, 0, 0, 1));
}

TEST(BceLoss, HoldsItsLogarithms) {
  const Tensor p = tensor({0, 1}, {2}, true);
  const Tensor loss = bce_loss(p, tensor({1, 0}, {2}), {.reduction = Reduction::kNone});
  EXPECT_THAT(values_of(loss.array()), ElementsAre(100, 100));
  backward(sum(loss));
  for (const double value : values_of(p.grad())) EXPECT_TRUE(std::isfinite(value));
}

TEST(KlDiv, CountsNothingWhereTheTargetIsZero) {
  const Tensor x = tensor({-1, -2}, {2}, true);
  const Tensor loss = kl_div(x, tensor({0, 1}, {2}), {.reduction = Reduction::kSum});
  EXPECT_EQ(loss.item(), 2);
  backward(loss);
  EXPECT_THAT(values_of(x.grad()), ElementsAre(0, -1));
}

TEST(CtcLoss, OfAnImpossibleTargetIsInfiniteOrZero) {
  const Tensor x(log_softmax(Tensor(sample_values({2, 1, 3}, 1)), 2).array(), true);
  const Array targets = numbers({1, 1}).reshape({1, 2});  // needs a blank between: three frames
  const auto loss = [&](bool zero_infinity) {
    return ctc_loss(x, targets, numbers({2}), numbers({2}),
                    {.reduction = Reduction::kSum, .zero_infinity = zero_infinity});
  };
  EXPECT_EQ(loss(false).item(), std::numeric_limits<double>::infinity());
  const Tensor zero = loss(true);
  EXPECT_EQ(zero.item(), 0);
  backward(zero);
  for (const double value : values_of(x.grad())) EXPECT_EQ(value, 0);
}

TEST(CtcLoss, RefusesWrongLabelsAndLengths) {
  const Tensor x(sample_values({4, 1, 3}, 1, -2, 0));
  const auto with = [&](std::int64_t label, std::int64_t frames, std::int64_t length) {
    return refusal([&] {
      ctc_loss(x, numbers({label}).reshape({1, 1}), numbers({frames}), numbers({length}));
    });
  };
  EXPECT_THAT(with(3, 4, 1), HasSubstr("[ctc_loss] expected labels in [0, 3)"));
  EXPECT_THAT(with(0, 4, 1), HasSubstr("not blank"));
  EXPECT_THAT(with(1, 5, 1), HasSubstr("input lengths in [0, 4]"));
  EXPECT_THAT(with(1, 4, 2), HasSubstr("target lengths in [0, 1]"));
}

TEST(Losses, RefuseWhatDoesNotFit) {
  const Tensor x = tensor({1, 2, 3}, {3});
  EXPECT_THAT(refusal([&] {
                mse_loss(x, tensor({1, 2}, {2}));
              }),
              HasSubstr("[mse_loss] expected broadcastable shapes"));
  EXPECT_THAT(refusal([&] { huber_loss(x, x, 0); }), HasSubstr("delta above 0"));
  EXPECT_THAT(refusal([&] { bce_loss(x, x, {.positive_weight = Array::zeros({3})}); }),
              HasSubstr("[bce_loss] expected no positive_weight"));
}

TEST(Einsum, RefusesEquationsThatDoNotFit) {
  const Tensor a(sample_values({2, 3}, 1));
  const auto with = [](const char* equation, const std::vector<Tensor>& operands) {
    return refusal([&] { einsum(equation, operands); });
  };
  EXPECT_EQ(with("ij,jk->ik", {a}),
            "[einsum] expected a term for each of 1 operands, got \"ij,jk->ik\"");
  EXPECT_THAT(with("ijk->i", {a}), HasSubstr("as many letters as axes of [2, 3]"));
  EXPECT_THAT(with("i->i", {a}), HasSubstr("as many letters as axes of [2, 3]"));
  EXPECT_THAT(with("ij->k", {a}), HasSubstr("a result of letters of the operands"));
  EXPECT_THAT(with("ij->ii", {a}), HasSubstr("each once"));
  EXPECT_THAT(with("i1->i", {a}), HasSubstr("letters"));
  EXPECT_THAT(with("ii->i", {a}), HasSubstr("length"));
  EXPECT_THAT(with("ij,jk->ik", {a, a}), HasSubstr("length 3 of each axis"));
  EXPECT_THAT(with("ij->i...", {a}), HasSubstr("not refused"));
  EXPECT_THAT(refusal([] { einsum("", std::vector<Tensor>()); }), HasSubstr("1 to 8 operands"));
}

TEST(Matmul, OfIntegersAndMixedTypes) {
  const Array a = numbers({1, 2, 3, 4}).reshape({2, 2});
  for (const DType dtype : {DType::kI64, DType::kI32, DType::kU8, DType::kI8}) {
    const Tensor y = matmul(Tensor(a.to(dtype)), Tensor(a.to(dtype)));
    EXPECT_EQ(y.dtype(), dtype);
    EXPECT_THAT(values_of(y.array()), ElementsAre(7, 10, 15, 22));
  }
  for (const DType dtype : {DType::kBF16, DType::kF16, DType::kF32, DType::kF64}) {
    const Tensor x(a.to(dtype), true);
    const Tensor y = matmul(x, Tensor(a));
    EXPECT_EQ(y.dtype(), dtype);
    EXPECT_THAT(values_of(y.array()), ElementsAre(7, 10, 15, 22));
    backward(sum(y));
    EXPECT_THAT(values_of(x.grad()), ElementsAre(3, 7, 3, 7));
  }
  EXPECT_THAT(refusal([&] { matmul(Tensor(a.to(DType::kBool)), Tensor(a.to(DType::kBool))); }),
              HasSubstr("[matmul] expected numbers"));
}

}  // namespace
}  // namespace weft::loss_test
