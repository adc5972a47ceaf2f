#include "weft/attack/data_attack.h"

#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::data_attack_test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

DataAttack attack_of(const std::string& text) { return *DataAttack::parse(text); }

// Images of 4 x 4 pixels of one channel, all 0.5 but for one that is 0.75.
Batch batch_of(const std::vector<std::int64_t>& labels) {
  const auto rows = static_cast<std::int64_t>(labels.size());
  std::vector<float> pixels(labels.size() * 16, 0.5F);
  pixels.back() = 0.75F;
  Batch batch;
  batch.inputs = Array::from<float>(pixels, {rows, 1, 4, 4});
  batch.labels = Array::from<std::int64_t>(labels, {rows});
  return batch;
}

std::vector<std::int64_t> labels_of(const Batch& batch) {
  return batch.labels.to_vector<std::int64_t>();
}

TEST(DataAttack, LabelsAreThoseOfTheAttack) {
  Batch batch = batch_of({0, 1, 7, 9});
  const Batch before = batch;
  ASSERT_TRUE(attack_of("label_flip").poison(batch, 10).ok());
  EXPECT_THAT(labels_of(batch), ElementsAre(9, 8, 2, 0));
  EXPECT_THAT(labels_of(before), ElementsAre(0, 1, 7, 9)) << "the loader's own are left alone";
  batch = batch_of({0, 1, 7, 9});
  ASSERT_TRUE(attack_of("label_swap").poison(batch, 10).ok());
  EXPECT_THAT(labels_of(batch), ElementsAre(0, 7, 1, 9));
}

TEST(DataAttack, ABackdoorIsAPatchAndALabel) {
  Batch batch = batch_of({0, 1, 2, 3});
  const Batch before = batch;
  ASSERT_TRUE(attack_of("backdoor:to=5:size=2").poison(batch, 10).ok());
  // Every second one.
  EXPECT_THAT(labels_of(batch), ElementsAre(0, 5, 2, 5));
  const std::vector<float> pixels = batch.inputs.to_vector<float>();
  EXPECT_THAT(std::vector(pixels.begin(), pixels.begin() + 16), Each(0.5F));
  EXPECT_THAT(std::vector(pixels.begin() + 16, pixels.begin() + 24),
              ElementsAre(0.75F, 0.75F, 0.5F, 0.5F, 0.75F, 0.75F, 0.5F, 0.5F));
  EXPECT_EQ(before.inputs.to_vector<float>()[16], 0.5F);
}

TEST(DataAttack, SuccessIsMeasuredWithWhatItIsFor) {
  Batch batch = batch_of({0, 1, 7, 1});
  EXPECT_EQ(*attack_of("label_swap:from=1:to=7").aim(batch, 10), 2);
  EXPECT_THAT(labels_of(batch), ElementsAre(kIgnoredLabel, 7, kIgnoredLabel, 7));
  batch = batch_of({0, 5, 2});
  EXPECT_EQ(*attack_of("backdoor:to=5").aim(batch, 10), 2);
  EXPECT_THAT(labels_of(batch), ElementsAre(5, kIgnoredLabel, 5));
  EXPECT_EQ(batch.inputs.to_vector<float>()[0], 0.75F);
  // The middle one of three classes stays what it is.
  batch = batch_of({0, 1, 2});
  EXPECT_EQ(*attack_of("label_flip").aim(batch, 3), 2);
  EXPECT_THAT(labels_of(batch), ElementsAre(2, kIgnoredLabel, 0));
}

TEST(DataAttack, DataThatDoNotFitAreRefused) {
  Batch batch = batch_of({0, 1});
  EXPECT_THAT(attack_of("label_swap:from=1:to=12").poison(batch, 10).message(),
              HasSubstr("attack label_swap:to=12: expected data of at least 13 classes, got 10"));
  EXPECT_THAT(attack_of("backdoor:size=5").poison(batch, 10).message(),
              HasSubstr("expected images of at least 5 x 5 pixels"));
  batch.labels = Array::zeros({2, 3}, DType::kI64);
  EXPECT_THAT(attack_of("label_flip").poison(batch, 10).message(),
              HasSubstr("expected data whose samples have a class each"));
}

TEST(DataAttack, TextsAreThoseOfTheTable) {
  for (const DataAttackDef* const def : data_attacks()) {
    EXPECT_TRUE(DataAttack::knows(def->name));
    EXPECT_EQ(attack_of(std::string(def->name)).text(), def->name);
    Batch batch = batch_of({0, 1, 7});
    EXPECT_TRUE(attack_of(std::string(def->name)).poison(batch, 10).ok()) << def->name;
  }
  EXPECT_FALSE(DataAttack::knows("sign_flip"));
  EXPECT_THAT(DataAttack::parse("label_flop").status().message(), HasSubstr("label_flip"));
}

}  // namespace
}  // namespace weft::data_attack_test
