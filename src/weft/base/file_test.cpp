#include "weft/base/file.h"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace weft::file_test {
namespace {

std::string fresh_folder(const std::string& name) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("weft_file_" + name + "_" + std::to_string(::getpid()));
  std::filesystem::remove_all(path);
  std::filesystem::create_directories(path);
  return path.string();
}

TEST(File, WhatIsWrittenIsReadBackAndNoTemporaryStays) {
  const std::string folder = fresh_folder("round");
  const std::string path = folder + "/a";
  ASSERT_TRUE(write_file_atomically(path, as_bytes("old")).ok());
  const ByteSpan parts[] = {as_bytes("new "), as_bytes("text")};
  ASSERT_TRUE(write_file_atomically(path, parts).ok());
  const Result<Bytes> read = read_file(path, 8);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(to_text(*read), "new text");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
  std::filesystem::remove_all(folder);
}

TEST(File, ALinkInThePlaceOfATemporaryFileIsNotFollowed) {
  const std::string folder = fresh_folder("links");
  ASSERT_TRUE(write_file_atomically(folder + "/victim", as_bytes("untouched")).ok());
  // The names that come next, as somebody who can write here would guess them.
  const std::string begin = folder + "/a.tmp" + std::to_string(::getpid()) + "-";
  for (int next = 0; next < 60; ++next) {
    std::filesystem::create_symlink("victim", begin + std::to_string(next));
  }
  ASSERT_TRUE(write_file_atomically(folder + "/a", as_bytes("text")).ok());
  EXPECT_EQ(to_text(*read_file(folder + "/a", 10)), "text");
  EXPECT_EQ(to_text(*read_file(folder + "/victim", 10)), "untouched");
  std::filesystem::remove_all(folder);
}

TEST(File, AQueueIsNoFileAndKeepsNobodyWaiting) {
  const std::string folder = fresh_folder("queue");
  ASSERT_EQ(::mkfifo((folder + "/queue").c_str(), 0600), 0);
  EXPECT_NE(read_file(folder + "/queue", 10).status().message().find("expected a regular file"),
            std::string::npos);
  std::filesystem::remove_all(folder);
}

TEST(File, ModeIsKept) {
  const std::string folder = fresh_folder("mode");
  ASSERT_TRUE(write_file_atomically(folder + "/key", as_bytes("secret"), {.mode = 0600}).ok());
  struct stat state {};
  ASSERT_EQ(::stat((folder + "/key").c_str(), &state), 0);
  EXPECT_EQ(state.st_mode & 0777U, 0600U);
  std::filesystem::remove_all(folder);
}

TEST(File, RefusalsNameThePathAndTheReason) {
  const std::string folder = fresh_folder("refusal");
  const Result<Bytes> missing = read_file(folder + "/none", 10);
  EXPECT_EQ(missing.status().code(), Code::kUnavailable);
  EXPECT_NE(missing.status().message().find("/none: cannot open: No such file"), std::string::npos);
  EXPECT_EQ(read_file(folder, 10).status().code(), Code::kUnavailable);
  ASSERT_TRUE(write_file_atomically(folder + "/big", as_bytes("12345")).ok());
  EXPECT_EQ(read_file(folder + "/big", 4).status().code(), Code::kCorrupt);
  EXPECT_EQ(write_file_atomically(folder + "/no/such", as_bytes("x")).code(), Code::kUnavailable);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace weft::file_test
