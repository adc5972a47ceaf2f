#include "weft/app/member/resume.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "weft/base/file.h"
#include "weft/train/recipe/test_recipe.h"

namespace weft::resume_test {
namespace {

using testing::HasSubstr;

// Checkpoints of steps 3, 4 and 5, of which some are damaged.
class ResumeTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "weft_resume_test_" + std::to_string(::getpid());
    std::filesystem::remove_all(folder_);
    trainer_ = std::move(Trainer::make(small_recipe(), {}, clock_)).value();
    for (const std::int64_t step : {3, 4, 5}) {
      trainer_->optimizer().set_steps(step);
      ASSERT_TRUE(Checkpoints(folder_, 5, "r").save(*trainer_).ok());
    }
    options_.note = [this](const std::string& text) { notes_.push_back(text); };
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(int step) const {
    return folder_ + "/checkpoint-" + std::to_string(step) + ".safetensors";
  }
  void damage(int step) {
    Bytes bytes = *read_file(path(step), std::size_t{1} << 30U);
    bytes[bytes.size() / 2] ^= 0x40U;
    ASSERT_TRUE(write_file_atomically(path(step), bytes).ok());
  }
  Result<std::optional<SavedCheckpoint>> load() {
    return load_to_resume(Checkpoints(folder_, 5, "r"), *trainer_, options_);
  }

  SystemClock clock_;
  std::string folder_;
  std::unique_ptr<Trainer> trainer_;
  ResumeOptions options_;
  std::vector<std::string> notes_;
};

TEST_F(ResumeTest, TheNewestIsTakenWhileItIsWhole) {
  options_.older_agreed = true;
  EXPECT_EQ((*load())->step, 5);
  EXPECT_TRUE(notes_.empty());
}

TEST_F(ResumeTest, ADamagedOneIsNamedWithBothWaysAndLeftWhereItIs) {
  damage(5);
  int asked = 0;
  for (const char* const answer : {"", "n", "no", "maybe"}) {
    options_.ask = [&](const std::string& question) {
      ++asked;
      EXPECT_THAT(question, HasSubstr("Go on from checkpoint-4.safetensors instead"));
      return std::optional<std::string>(answer);
    };
    const auto loaded = load();
    EXPECT_EQ(loaded.status().code(), Code::kCorrupt);
    EXPECT_THAT(loaded.status().message(),
                testing::AllOf(testing::StartsWith(path(5) + ": "), HasSubstr("a good copy"),
                               HasSubstr("--resume=older sets it aside and goes on from "
                                         "checkpoint-4.safetensors")));
  }
  EXPECT_EQ(asked, 4);
  options_.ask = {};
  EXPECT_EQ(load().status().code(), Code::kCorrupt);
  EXPECT_TRUE(is_file(path(5)));
}

TEST_F(ResumeTest, WhoAgreesGoesOnFromTheOneBeforeIt) {
  damage(5);
  options_.ask = [](const std::string&) { return std::optional<std::string>("y"); };
  EXPECT_EQ((*load())->step, 4);
  EXPECT_TRUE(is_file(path(5) + ".damaged"));
  ASSERT_EQ(notes_.size(), 1U);
  EXPECT_THAT(notes_[0], HasSubstr("it was renamed to " + path(5) + ".damaged"));
}

TEST_F(ResumeTest, SeveralDamagedOnesAreAllPassedOver) {
  damage(5);
  damage(4);
  options_.older_agreed = true;
  EXPECT_EQ((*load())->step, 3);
  EXPECT_EQ(notes_.size(), 2U);
  damage(3);
  const auto loaded = load();
  EXPECT_EQ(loaded.status().code(), Code::kCorrupt);
  EXPECT_THAT(loaded.status().message(), HasSubstr("there is no older one in the folder"));
  EXPECT_TRUE(is_file(path(3)));
}

TEST_F(ResumeTest, WhatCouldNotBeWrittenIsToldWithWhatIsThere) {
  const OutFolder empty = *OutFolder::open(folder_ + "/out");
  EXPECT_EQ(unsaved(unavailable("no room"), 9, empty).message(),
            "no checkpoint was written after step 9: no room; there is none of an earlier step");
}

}  // namespace
}  // namespace weft::resume_test
