#include "weft/train/run/checkpoints.h"

#include <filesystem>
#include <fstream>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "weft/base/file.h"
#include "weft/io/checkpoint.h"
#include "weft/train/model/checkpoint_model.h"
#include "weft/train/recipe/test_recipe.h"

namespace weft::checkpoints_test {
namespace {

using testing::HasSubstr;

class CheckpointsTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "weft_checkpoints_test_" + std::to_string(::getpid());
    std::filesystem::remove_all(folder_);
    trainer_ = std::move(Trainer::make(small_recipe(), {}, clock_)).value();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string save(std::int64_t step) {
    trainer_->optimizer().set_steps(step);
    return Checkpoints(folder_, 5, "r").save(*trainer_)->path;
  }

  SystemClock clock_;
  std::string folder_;
  std::unique_ptr<Trainer> trainer_;
};

TEST_F(CheckpointsTest, AnAlteredByteAnywhereIsRefusedWithPathAndRemedy) {
  const std::string path = save(3);
  const Bytes whole = *read_file(path, kCheckpointBytesMax);
  const std::string before = trainer_->digest();
  int tried = 0;
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  const auto put = [&](std::size_t at, unsigned byte) {
    file.seekp(static_cast<std::streamoff>(at)).put(static_cast<char>(byte)).flush();
  };
  for (std::size_t at = 0; at < whole.size(); at += 97, ++tried) {
    put(at, whole[at] ^ 0x40U);
    std::vector<Status> all = {Checkpoints(folder_, 5, "r").load_newest(*trainer_).status()};
    if (tried % 16 == 0) {
      all.push_back(load_checkpoint_into(path, *trainer_));
      all.push_back(open_checkpoint_model(path, {}).status());
    }
    for (const Status& status : all) {
      ASSERT_EQ(status.code(), Code::kCorrupt) << "byte " << at;
      ASSERT_THAT(status.message(), testing::StartsWith(path + ": ")) << at;
      ASSERT_THAT(status.message(), HasSubstr("the file is damaged: take an older")) << at;
    }
    put(at, whole[at]);
  }
  EXPECT_GT(tried, 500);
  EXPECT_EQ(trainer_->digest(), before);
  EXPECT_TRUE(load_checkpoint_into(path, *trainer_).ok());
}

TEST_F(CheckpointsTest, ValuesThatAreNoNumbersMayBeMeasuredButNotTrainedOn) {
  save(3);
  trainer_->arena().parameters()[5] = std::numeric_limits<float>::quiet_NaN();
  const std::string path = save(4);
  const auto loaded = Checkpoints(folder_, 5, "r").load_newest(*trainer_);
  EXPECT_EQ(loaded.status().code(), Code::kCorrupt);
  EXPECT_THAT(loaded.status().message(),
              testing::AllOf(HasSubstr(path), HasSubstr("expected finite numbers")));
  EXPECT_TRUE(load_checkpoint_into(path, *trainer_).ok());
}

TEST_F(CheckpointsTest, TheNewestIsSetAsideForTheOneBeforeIt) {
  const std::string older = save(3);
  const std::string newer = save(4);
  const Checkpoints checkpoints(folder_, 5, "r");
  EXPECT_EQ(*checkpoints.set_newest_aside(), newer + ".damaged");
  EXPECT_THAT(checkpoints.paths(), testing::ElementsAre(older));
  const auto loaded = checkpoints.load_newest(*trainer_);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ((*loaded)->step, 3);
  EXPECT_EQ((*loaded)->run_id, "r");
}

}  // namespace
}  // namespace weft::checkpoints_test
