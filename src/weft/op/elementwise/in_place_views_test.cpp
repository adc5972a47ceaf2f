// Writes in place through views and what they are views of: docs/autograd.md has the rules.
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/autograd/backward.h"
#include "weft/autograd/function/checkpoint.h"
#include "weft/autograd/function/custom_function.h"
#include "weft/autograd/test_tensor.h"
#include "weft/op/ops.h"

namespace weft::in_place_views_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(InPlaceViews, AWriteThroughAViewReachesItsBase) {
  const Tensor x = leaf({1, 2, 3, 4});
  Tensor y = x * 2.0;
  Tensor part = slice(y, 0, 1, 3);
  mul_(part, 10.0);
  EXPECT_THAT(values_of(y), ElementsAre(2, 40, 60, 8));
  backward(sum(y * y));
  EXPECT_THAT(gradient(x), ElementsAre(8, 1600, 2400, 32));
}

TEST(InPlaceViews, AWriteToTheBaseReachesItsViews) {
  const Tensor x = leaf({1, 2, 3, 4});
  Tensor y = x * 1.0;
  const Tensor row = slice(reshape(y, {2, 2}), 0, 1, 2);
  const Tensor repeated = expand(slice(y, 0, 0, 1), {3});
  mul_(y, y);  // keeps the factor as it was
  backward(sum(row * 5.0) + sum(repeated));
  EXPECT_THAT(gradient(x), ElementsAre(6, 0, 30, 40));
}

TEST(InPlaceViews, SiblingsAndViewsOfViewsSeeEachOther) {
  const Tensor x = leaf({1, 2, 3, 4});
  const Tensor w = leaf({5, 6});
  Tensor square = reshape(x * 1.0, {2, 2});
  Tensor turned = transpose(square, 0, 1);
  Tensor column = slice(turned, 0, 0, 1);  // of `square` the first column
  copy_(column, reshape(w, {1, 2}));
  add_(square, 1.0);
  EXPECT_THAT(values_of(turned), ElementsAre(6, 7, 3, 5));
  backward(sum(turned * square));
  EXPECT_THAT(gradient(x), ElementsAre(0, 14, 0, 10));
  EXPECT_THAT(gradient(w), ElementsAre(12, 6));
}

TEST(InPlaceViews, AFillEndsTheGradientWhereItWrites) {
  const Tensor x = leaf({1, 2, 3});
  Tensor y = x * x;
  Tensor first = slice(y, 0, 0, 1);
  fill_(first, 7.0);
  mul_(first, 3.0);
  EXPECT_TRUE(first.requires_grad());
  EXPECT_THAT(values_of(y), ElementsAre(21, 4, 9));
  backward(sum(y));
  EXPECT_THAT(gradient(x), ElementsAre(0, 4, 6));
}

TEST(InPlaceViews, AViewThatWasNotWrittenKeepsItsHistory) {
  const Tensor x = leaf({1, 2, 3, 4});
  Tensor y = x * 1.0;
  const Tensor last = slice(y, 0, 2, 4);
  Tensor first = slice(y, 0, 0, 2);
  mul_(first, 2.0);
  backward(sum(last * last));
  EXPECT_THAT(gradient(x), ElementsAre(0, 0, 6, 8));
}

TEST(InPlaceViews, OverlappingViewsFollow) {
  const Tensor x = leaf({1, 2, 3, 4});
  Tensor y = x * 1.0;
  const Tensor windows = unfold(y, 0, 2, 1);
  add_(y, 1.0);
  EXPECT_THAT(values_of(windows), ElementsAre(2, 3, 3, 4, 4, 5));
  backward(sum(windows * windows));
  EXPECT_THAT(gradient(x), ElementsAre(4, 12, 16, 10));
}

TEST(InPlaceViews, CopiesOfAHandleFollow) {
  const Tensor x = leaf({1, 2});
  Tensor y = x * 1.0;
  const Tensor copy = y;
  mul_(y, 3.0);
  backward(sum(copy));
  EXPECT_THAT(gradient(x), ElementsAre(3, 3));
}

TEST(InPlaceViews, WritesThatAreNotRecordedLeaveHistories) {
  const Tensor x = leaf({1, 2});
  Tensor y = x * 3.0;
  const Tensor part = slice(y, 0, 0, 1);
  {
    const NoGrad no_grad;
    fill_(y, 5.0);
  }
  Tensor alias = y.detach();
  add_(alias, 1.0);
  EXPECT_THAT(values_of(part), ElementsAre(6));
  backward(sum(y * 1.0) + sum(part * 1.0));
  EXPECT_THAT(gradient(x), ElementsAre(6, 3));
}

TEST(InPlaceViews, PartsAreWrittenIntoWhatHasNoHistory) {
  const Tensor x = leaf({1, 2});
  Tensor buffer = tensor({0, 0, 0}, {3});
  write_part_(buffer, buffer.array().slice(0, 0, 2), x * 2.0);
  write_part_(buffer, buffer.array().slice(0, 1, 3), x);
  EXPECT_THAT(values_of(buffer), ElementsAre(2, 1, 2));
  const Tensor kept = slice(buffer, 0, 2, 3);
  write_part_(buffer, buffer.array().slice(0, 2, 3), kept * kept);
  EXPECT_THAT(refusal([&] { backward(sum(buffer)); }), HasSubstr("written in place by"));

  Tensor other = tensor({0, 0}, {2});
  const Tensor alias = slice(other, 0, 0, 1);
  EXPECT_THAT(refusal([&] { write_part_(other, other.array(), x); }),
              HasSubstr("[setitem] expected memory that no other tensor shows"));
  EXPECT_THAT(values_of(alias), ElementsAre(0));
}

TEST(InPlaceViews, HaveSecondGradients) {
  const Tensor x = leaf({1, 2, 3, 4});
  Tensor y = x * x;
  const Tensor all = transpose(reshape(y, {2, 2}), 0, 1);
  Tensor part = slice(y, 0, 1, 3);
  mul_(part, slice(x, 0, 0, 2));  // y = [x0^2, x1^2 x0, x2^2 x1, x3^2]
  const Tensor first = grad(sum(all), x, {.create_graph = true});
  EXPECT_THAT(values_of(first), ElementsAre(6, 13, 12, 8));
  EXPECT_THAT(values_of(grad(sum(first * first), x)), ElementsAre(128, 244, 252, 32));
}

TEST(InPlaceViews, WhatIsNotJustAViewIsNotWritten) {
  const Tensor x = leaf({1, 2});
  Tensor y = x * 1.0;
  const auto reversed = [](const Tensor& of) {
    return custom_function(
        "reversed", {of}, [](std::span<const Tensor> in) { return in[0]; },
        [](const CustomBackward&, const Tensor& dy) { return std::vector<Tensor>{neg(dy)}; });
  };
  Tensor result = reversed(y);
  EXPECT_THAT(refusal([&] { add_(result, 1.0); }), HasSubstr("clone it first"));
  add_(y, 1.0);
  EXPECT_THAT(refusal([&] { static_cast<void>(result * 2.0); }),
              HasSubstr("cannot follow since it is not just a view"));
  backward(sum(reversed(y)));
  EXPECT_THAT(gradient(x), ElementsAre(-1, -1));
}

// Histories hold memory, and members of a family its history.
TEST(InPlaceViews, NothingIsKeptWhenTheLastHandleHasGone) {
  std::weak_ptr<Storage> written;
  std::weak_ptr<Storage> saved;
  {
    const Tensor x = leaf({1, 2, 3, 4});
    Tensor y = x * 1.0;
    Tensor part = slice(y, 0, 0, 2);
    const Tensor rest = slice(y, 0, 2, 4);
    const Tensor factor = exp(slice(x, 0, 0, 2));
    mul_(part, factor);
    add_(y, 1.0);
    const Tensor loss = sum(part) + sum(rest);
    written = y.array().storage();
    saved = factor.array().storage();
  }
  EXPECT_TRUE(written.expired());
  EXPECT_TRUE(saved.expired());
}

}  // namespace
}  // namespace weft::in_place_views_test
