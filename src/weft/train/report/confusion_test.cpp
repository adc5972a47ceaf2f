#include "weft/train/report/confusion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::confusion_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Samples of class `label`, `times` of them, that a model takes for `said`.
void add(Confusion& confusion, std::int64_t classes, std::int64_t label, std::int64_t said,
         std::int64_t times) {
  Array logits = Array::zeros({times, classes});
  for (std::int64_t row = 0; row < times; ++row) logits.data<float>()[row * classes + said] = 1;
  confusion.add(logits, Array::full({times}, static_cast<double>(label), DType::kI64));
}

TEST(Confusion, CountsWhatEachClassWasTakenFor) {
  Confusion confusion;
  EXPECT_EQ(confusion.classes(), 0);
  add(confusion, 3, 0, 0, 7);
  add(confusion, 3, 0, 2, 3);
  add(confusion, 3, 2, 2, 4);
  EXPECT_EQ(confusion.classes(), 3);
  EXPECT_EQ(confusion.samples(0), 10);
  EXPECT_EQ(confusion.correct(0), 7);
  EXPECT_EQ(confusion.count(0, 1), 0);
  EXPECT_EQ(confusion.count(0, 2), 3);
  EXPECT_EQ(confusion.samples(1), 0);
  EXPECT_EQ(confusion.correct(2), 4);
}

TEST(Confusion, OfEqualLogitsTheFirstCounts) {
  EXPECT_EQ(likeliest(std::vector<float>{1, 3, 3}), 1);
  EXPECT_EQ(likeliest(std::vector<float>{-2}), 0);
}

TEST(Confusion, FewClassesAreAMatrix) {
  Confusion confusion;
  add(confusion, 3, 0, 0, 7);
  add(confusion, 3, 0, 2, 3);
  EXPECT_EQ(confusion_text(confusion, {"ant", "bee\x1b[2J", "cat"}),
            "   class             right   0  1  2  taken for\n"
            " 0 ant              70.0 %   7  0  3\n"
            " 1 bee\\x1b[2J            -   0  0  0\n"
            " 2 cat                   -   0  0  0\n");
}

TEST(Confusion, ManyClassesAreTheWorstWithTheirMistakes) {
  Confusion confusion;
  for (std::int64_t label = 0; label < 30; ++label) add(confusion, 30, label, label, label + 1);
  add(confusion, 30, 29, 3, 5);
  add(confusion, 30, 29, 4, 6);
  const std::string text = confusion_text(confusion, {});
  EXPECT_THAT(text, AllOf(HasSubstr("class 29             41  73.2 %  class 4 (6), class 3 (5)\n"),
                          HasSubstr("the 20 worst of 30 classes"), Not(HasSubstr("class 28"))));
}

}  // namespace
}  // namespace weft::confusion_test
