#include "weft/app/folder/out_folder.h"

#include <filesystem>
#include <fstream>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "weft/base/testing/test_process.h"

namespace weft::out_folder_test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(OutFolder, ItsLockIsNobodyElses) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("weft-out-folder-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  // An earlier release let others open it.
  const std::string lock = (folder / ".lock").string();
  ::close(::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  {
    const Result<OutFolder> out = OutFolder::open(folder.string());
    ASSERT_TRUE(out.ok()) << out.status().to_string();
    struct stat status = {};
    ASSERT_EQ(::stat(lock.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U);
    EXPECT_EQ(OutFolder::open(folder.string()).status().code(), Code::kUnavailable);
  }
  std::filesystem::remove_all(folder);
}

std::string fresh_folder(const std::string& name) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("weft-out-" + name + "-" + std::to_string(::getpid()));
  std::filesystem::remove_all(path);
  std::filesystem::create_directories(path);
  return path.string();
}

TEST(OutFolder, WhatHindersTheFirstNameIsToldOfThatName) {
  const std::string folder = fresh_folder("hindered");
  std::ofstream(folder + "/file") << "no folder";
  const Status refused = OutFolder::open_free(folder + "/file/run").status();
  EXPECT_THAT(refused.message(), HasSubstr("/file/run: cannot be made"));
  EXPECT_THAT(refused.message(), Not(HasSubstr("run-100")));
  std::filesystem::remove_all(folder);
}

TEST(OutFolder, ASecondPeerTakesTheNextName) {
  const std::string folder = fresh_folder("second");
  const Result<OutFolder> first = OutFolder::open_free(folder + "/run");
  const Result<OutFolder> second = OutFolder::open_free(folder + "/run");
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(second->path(), folder + "/run-2");
  std::filesystem::remove_all(folder);
}

TEST(OutFolder, FilesOfOthersAreNeitherReplacedNorAppendedTo) {
  const std::string folder = fresh_folder("foreign");
  std::ofstream(folder + "/summary.json") << "{}";
  const Status refused = OutFolder::open(folder).status();
  EXPECT_EQ(refused.code(), Code::kUnavailable);
  EXPECT_THAT(refused.message(), HasSubstr("/summary.json: is in a folder that no run"));
  EXPECT_FALSE(std::filesystem::exists(folder + "/.lock"));
  // With a peer's key it is the folder of a run, copied without its lock.
  std::ofstream(folder + "/identity") << "key";
  EXPECT_TRUE(OutFolder::open(folder).ok());
  std::filesystem::remove_all(folder);
}

TEST(OutFolder, WhatAKilledProcessWasWritingIsRemoved) {
  const std::string folder = fresh_folder("left");
  std::filesystem::create_directories(folder + "/checkpoints");
  const std::string mark = fmt::format(".tmp{}-3", ended_process());
  const std::vector<std::string> left = {"/summary.json", "/membership.record",
                                         "/checkpoints/checkpoint-5.safetensors",
                                         "/checkpoints/best.safetensors.candidate"};
  const auto path = [&](const std::string& name) {
    return fmt::format("{}{}{}", folder, name, mark);
  };
  for (const std::string& name : left) std::ofstream(path(name)) << "half";
  const std::string foreign = folder + "/checkpoints/notes" + mark;
  std::ofstream(foreign) << "of somebody else";
  ASSERT_TRUE(OutFolder::open(folder).ok());
  for (const std::string& name : left) {
    EXPECT_FALSE(std::filesystem::exists(path(name))) << name;
  }
  EXPECT_TRUE(std::filesystem::exists(foreign));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace weft::out_folder_test
