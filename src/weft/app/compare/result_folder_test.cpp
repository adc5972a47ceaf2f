#include "weft/app/compare/result_folder.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace weft::result_folder_test {
namespace {

using testing::HasSubstr;

class ScratchFolder {
 public:
  explicit ScratchFolder(const std::string& name)
      : path_(std::filesystem::temp_directory_path() /
              ("weft-compare-" + name + "-" + std::to_string(::getpid()))) {
    std::filesystem::remove_all(path_);
  }
  ~ScratchFolder() { std::filesystem::remove_all(path_); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

ComparedRun wanted(const std::string& name, const std::string& key) {
  ComparedRun out;
  out.key = key;
  out.contender = name;
  out.seed = 3;
  return out;
}

TEST(ResultFolder, AResultIsFoundByItsKeyAlone) {
  const ScratchFolder scratch("kept");
  ComparedRun run = wanted("wire=TopK: 1/100", std::string(64, 'a'));
  run.bytes_sent = 77;
  {
    const Result<ResultFolder> folder = ResultFolder::open(scratch.path());
    ASSERT_TRUE(folder.ok()) << folder.status().to_string();
    EXPECT_EQ(folder.value().run_path(run),
              scratch.path() + "/runs/wire-topk-1-100-seed3-aaaaaaaaaaaaaaaa.json");
    ASSERT_TRUE(folder.value().save(run).ok());
  }
  const ResultFolder folder = ResultFolder::open(scratch.path()).value();
  std::string complaint;
  EXPECT_EQ(folder.load(run, &complaint).value().bytes_sent, 77);
  EXPECT_FALSE(folder.load(wanted(run.contender, std::string(64, 'b')), &complaint).has_value());
  EXPECT_EQ(complaint, "");
}

TEST(ResultFolder, ADamagedOrForeignResultIsRunAgain) {
  const ScratchFolder scratch("damaged");
  const ResultFolder folder = ResultFolder::open(scratch.path()).value();
  const ComparedRun run = wanted("a", std::string(64, 'a'));
  std::ofstream(folder.run_path(run)) << "{\"format\": 1";
  std::string complaint;
  EXPECT_FALSE(folder.load(run, &complaint).has_value());
  EXPECT_THAT(complaint, HasSubstr("it is run again"));
  // The first digits of both keys are the same.
  ASSERT_TRUE(folder.save(wanted("a", std::string(63, 'a') + "b")).ok());
  EXPECT_FALSE(folder.load(run, &complaint).has_value());
  EXPECT_THAT(complaint, HasSubstr("another run"));
}

TEST(ResultFolder, SomebodyElsesFilesStay) {
  const ScratchFolder scratch("foreign");
  std::filesystem::create_directories(scratch.path());
  std::ofstream(scratch.path() + "/thesis.txt") << "mine";
  const Status refused = ResultFolder::open(scratch.path()).status();
  EXPECT_EQ(refused.code(), Code::kUnavailable);
  EXPECT_THAT(refused.message(), HasSubstr("thesis.txt"));
  EXPECT_THAT(refused.message(), HasSubstr("choose another --out"));
  std::size_t entries = 0;
  for (const auto& entry : std::filesystem::directory_iterator(scratch.path())) {
    entries += entry.exists() ? 1 : 0;
  }
  EXPECT_EQ(entries, 1U);
}

TEST(ResultFolder, TwoComparisonsCannotUseIt) {
  const ScratchFolder scratch("locked");
  const Result<ResultFolder> first = ResultFolder::open(scratch.path());
  ASSERT_TRUE(first.ok());
  EXPECT_THAT(ResultFolder::open(scratch.path()).status().message(),
              HasSubstr("another comparison is using it"));
}

TEST(ResultFolder, AFileInItsPlaceIsNamed) {
  const ScratchFolder scratch("file");
  std::ofstream(scratch.path()) << "no folder";
  EXPECT_THAT(ResultFolder::open(scratch.path() + "/inner").status().message(),
              HasSubstr(scratch.path() + "/inner: cannot be made"));
  EXPECT_EQ(ResultFolder::open(scratch.path()).status().code(), Code::kUnavailable);
}

}  // namespace
}  // namespace weft::result_folder_test
