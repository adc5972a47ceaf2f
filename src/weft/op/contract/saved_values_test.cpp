// What graphs need and somebody writes to, and what operations in place may and may not do.
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/autograd/backward.h"
#include "weft/autograd/check/anomaly.h"
#include "weft/autograd/function/custom_function.h"
#include "weft/autograd/node.h"
#include "weft/autograd/test_tensor.h"
#include "weft/op/ops.h"

namespace weft::saved_values_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// What the backward says when `loss` is made, `write` is called, and the gradient is asked for.
template <class Write>
std::string after(const Tensor& loss, const Write& write) {
  write();
  return refusal([&] { backward(loss); });
}

TEST(SavedValues, WritesToTheirArraysAreNoticed) {
  const Tensor x = leaf({1, 2});
  const Tensor y = exp(x);
  Array values = y.array();
  EXPECT_THAT(after(sum(y), [&] { values.fill(0); }), HasSubstr("written in place by \"fill\""));
  const Tensor z = exp(leaf({1, 2, 3, 4}));
  Array half = z.array().slice(0, 0, 2);
  EXPECT_THAT(after(sum(z), [&] { half.copy_from(Array::zeros({2}, DType::kF64)); }),
              HasSubstr("needs for its gradient, got its output written in place by"));
}

TEST(SavedValues, WritesElsewhereDoNotMatter) {
  const Tensor x = leaf({1, 2, 3, 4});
  const Tensor y = x * 1.0;
  const Tensor part = slice(y, 0, 0, 2);
  const Tensor loss = sum(part * part);
  Array rest = y.array().slice(0, 2, 4);
  rest.fill(7);
  backward(loss);
  EXPECT_THAT(gradient(x), ElementsAre(2, 4, 0, 0));
}

// Beside handles a capture holds numbers and padding, which may have the bits of an address.
TEST(SavedValues, AnAddressThatIsNoHandleIsNotAmongThem) {
  const Tensor x = leaf({1, 2});
  Array values = Array::full({2}, 1.0, DType::kF64);
  const auto address = reinterpret_cast<std::uintptr_t>(values.storage().get());
  const Tensor y =
      record("probe", values, {&x}, [address](const Array& dy, const InputGradients& dx) {
        if (address != 0) dx.add(0, dy);
      });
  EXPECT_EQ(after(sum(y), [&] { values.fill(0); }), "not refused");
  EXPECT_THAT(gradient(x), ElementsAre(1, 1));
}

TEST(SavedValues, NoWriteIsForgottenAmongMany) {
  const Tensor x = leaf({1, 2, 3, 4});
  const Tensor y = x * 1.0;
  const Tensor part = slice(y, 0, 0, 2);
  const Tensor loss = sum(part * part);
  Array first = y.array().slice(0, 0, 1);
  Array last = y.array().slice(0, 3, 4);
  first.fill(7);
  for (int i = 0; i < 200; ++i) last.fill(i);
  EXPECT_THAT(refusal([&] { backward(loss); }), HasSubstr("written in place"));
}

TEST(SavedValues, PositionsMasksAndLabelsAreAmongThem) {
  const Tensor x = leaf({1, 2});
  const Tensor table = tensor({1, 2, 3, 4}, {2, 2}, true);
  const auto expect_noticed = [](const char* op, Array read, const Tensor& result) {
    EXPECT_THAT(after(sum(result), [&] { read.fill(1); }),
                HasSubstr(std::string("\"") + op + "\" needs for its gradient"));
  };
  const auto zeros = [] { return numbers({0, 0}); };
  Array at = zeros();
  expect_noticed("gather", at, gather(x, 0, at));
  at = zeros();
  expect_noticed("index_select", at, index_select(x, 0, at));
  at = zeros();
  expect_noticed("scatter", at, scatter(x, 0, at, leaf({5, 6})));
  at = zeros();
  expect_noticed("scatter_add", at, scatter_add(x, 0, at, leaf({5, 6})));
  at = zeros();
  expect_noticed("index_add", at, index_add(x, 0, at, leaf({5, 6})));
  at = zeros();
  expect_noticed("index_copy", at, index_copy(x, 0, at, leaf({5, 6})));
  at = zeros();
  expect_noticed("embedding", at, embedding(table, at));
  at = zeros();
  expect_noticed("cross_entropy", at, cross_entropy(table, at));
  Array mask = Array::from(std::vector<bool>{true, false}, {2});
  expect_noticed("masked_fill", mask, masked_fill(x, mask, 0));
  mask = Array::from(std::vector<bool>{true, false}, {2});
  expect_noticed("where", mask, where(Tensor(mask), x, x * 2.0));
}

TEST(InPlace, RefusesAViewOfALeaf) {
  const Tensor x = leaf({1, 2, 3, 4});
  Tensor part = slice(reshape(x, {2, 2}), 0, 0, 1);
  EXPECT_THAT(refusal([&] { add_(part, 1.0); }), HasSubstr("got a view of such a leaf"));
  Tensor piece = split(x, 2)[1];
  EXPECT_THAT(refusal([&] { zero_(piece); }), HasSubstr("got a view of such a leaf"));
  const NoGrad no_grad;
  add_(part, 1.0);
  EXPECT_THAT(values_of(x), ElementsAre(2, 3, 3, 4));
}

// What is written has a history, and other handles of the memory would show its values without.
TEST(InPlace, RefusesAHistoryThatOthersWouldNotKnowOf) {
  const Tensor w = tensor({1, 2, 3, 4}, {2, 2}, true);
  const auto zeros = [] { return tensor({0, 0, 0, 0}, {2, 2}); };
  Tensor base = zeros();
  Tensor flat = reshape(base, {4});
  Tensor turned = transpose(base, 0, 1);
  Tensor row = slice(base, 0, 0, 1);
  EXPECT_THAT(refusal([&] { add_(flat, reshape(w, {4})); }), HasSubstr("[add_] expected memory"));
  EXPECT_THAT(refusal([&] { mul_(turned, w); }), HasSubstr("[mul_] expected memory that no other"));
  EXPECT_THAT(refusal([&] { copy_(row, slice(w, 0, 0, 1)); }),
              HasSubstr("[copy_] expected memory"));
  EXPECT_THAT(refusal([&] { add_(base, w); }), HasSubstr("views"));
  EXPECT_THAT(values_of(base), ElementsAre(0, 0, 0, 0));
  // A detached handle shows what its owner has a history for.
  Tensor owner = w * 1.0;
  Tensor apart = owner.detach();
  EXPECT_THAT(refusal([&] { add_(apart, w); }), HasSubstr("[add_] expected memory"));
  // Values without a gradient go anywhere, and whoever is alone takes a history.
  add_(flat, 1.0);
  EXPECT_THAT(values_of(base), ElementsAre(1, 1, 1, 1));
  Tensor sole = zeros();
  add_(sole, w);
  mul_(sole, w);
  backward(sum(sole));
  EXPECT_THAT(gradient(w), ElementsAre(2, 4, 6, 8));
}

TEST(InPlace, RefusesElementsThatShareMemory) {
  Tensor windows(Array::zeros({5}).unfold(0, 3, 1));
  EXPECT_THAT(refusal([&] { add_(windows, 1.0); }), HasSubstr("memory of their own"));
  Tensor apart(Array::zeros({6}).unfold(0, 3, 3));
  add_(apart, 1.0);
  Tensor backwards(Array::zeros({2, 3}).flip({0, 1}).transpose(0, 1));
  add_(backwards, 1.0);
  EXPECT_THAT(values_of(backwards), ElementsAre(1, 1, 1, 1, 1, 1));
}

TEST(InPlace, KeepsTheTypeOfWhatIsWritten) {
  Tensor whole(numbers({4, 2}));
  EXPECT_THAT(refusal([&] { add_(whole, 0.5); }), HasSubstr("a number that fits into i64"));
  EXPECT_THAT(refusal([&] { mul_(whole, 0.5); }), HasSubstr("a number that fits into i64"));
  EXPECT_THAT(refusal([&] {
                add_(whole, leaf({1, 2}, false));
              }),
              HasSubstr("an operand that fits into i64, got f64"));
  add_(whole, Tensor(Array::full({}, 3, DType::kU8)));
  EXPECT_THAT(values_of(whole), ElementsAre(7, 5));
  copy_(whole, leaf({1.9, -1.9}, false));
  EXPECT_THAT(values_of(whole), ElementsAre(1, -1));
  Tensor bytes(Array::from(std::vector<std::uint8_t>{1, 0}, {2}));
  add_(bytes, -1);
  EXPECT_THAT(values_of(bytes), ElementsAre(0, 255));
  Tensor single(Array::full({2}, 1.0));
  const Tensor factor = leaf({2, 3});
  mul_(single, factor);
  EXPECT_EQ(single.dtype(), DType::kF32);
  backward(sum(single));
  EXPECT_EQ(factor.grad().dtype(), DType::kF64);
  EXPECT_THAT(gradient(factor), ElementsAre(1, 1));
}

TEST(Anomaly, SeesWhatIsWrittenInPlace) {
  const AnomalyMode find;
  Tensor y = leaf({1, 0}) * 1.0;
  try {
    mul_(y, leaf({kNan, 1}, false));
    FAIL();
  } catch (const AnomalyError& error) {
    EXPECT_THAT(error.what(), HasSubstr("\"mul_\" gave"));
  }
}

TEST(CustomFunction, OfIntegersHasNoHistory) {
  const Tensor y = custom_function(
      "whole", {leaf({1.5, 2})},
      [](std::span<const Tensor> in) { return cast(in[0], DType::kI64); },
      [](const CustomBackward&, const Tensor& dy) { return std::vector<Tensor>{dy}; });
  EXPECT_FALSE(y.requires_grad());
}

TEST(Hooks, ThatGiveAnotherTypeAreRefusedByIt) {
  const Tensor x = leaf({1, 2});
  x.register_hook([](const Tensor& dy) { return cast(dy, DType::kF32); });
  EXPECT_THAT(refusal([&] { backward(sum(x)); }),
              HasSubstr("type f64, got one of shape [2] and type f32"));
}

}  // namespace
}  // namespace weft::saved_values_test
