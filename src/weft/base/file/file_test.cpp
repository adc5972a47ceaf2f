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

TEST(File, AMissingFolderIsNamedAndNoTemporaryFileIs) {
  const std::string folder = fresh_folder("missing");
  const Status refused = write_output_file(folder + "/no/such.npy", as_bytes("x"));
  EXPECT_EQ(refused.message(),
            folder + "/no/such.npy: the folder " + folder + "/no/ is not there; make it first");
  std::filesystem::remove_all(folder);
}

TEST(File, WhatIsThereIsOnlyReplacedWhereThatIsAllowed) {
  const std::string folder = fresh_folder("allowed");
  ASSERT_TRUE(write_output_file(folder + "/a", as_bytes("x")).ok());
  const Status refused = check_output_file(folder + "/a", false);
  EXPECT_EQ(refused.code(), Code::kInvalidArgument);
  EXPECT_EQ(refused.message(), folder + "/a: is there already; --force replaces it");
  EXPECT_TRUE(check_output_file(folder + "/a", true).ok());
  EXPECT_TRUE(check_output_file(folder + "/b", false).ok());
  EXPECT_TRUE(check_output_file("b", false).ok());
  EXPECT_TRUE(check_output_file("/dev/null", false).ok());
  EXPECT_TRUE(check_output_file("/dev/stdout", false).ok());
  EXPECT_EQ(check_output_file(folder + "/no/b", true).code(), Code::kUnavailable);
  EXPECT_EQ(check_output_file(folder, true).code(), Code::kUnavailable);
  std::filesystem::remove_all(folder);
}

TEST(File, ADeviceIsWrittenToAndNotReplaced) {
  const Status full = write_output_file("/dev/full", as_bytes("x"));
  EXPECT_EQ(full.code(), Code::kUnavailable);
  EXPECT_EQ(full.message(), "/dev/full: cannot write: No space left on device");
  EXPECT_TRUE(write_output_file("/dev/null", as_bytes("x")).ok());
  struct stat state {};
  ASSERT_EQ(::stat("/dev/full", &state), 0);
  EXPECT_TRUE(S_ISCHR(state.st_mode));
}

TEST(File, AnOpenDescriptorIsWrittenTo) {
  int ends[2] = {};
  ASSERT_EQ(::pipe(ends), 0);
  const std::string path = "/dev/fd/" + std::to_string(ends[1]);
  ASSERT_TRUE(write_output_file(path, as_bytes("text")).ok());
  char got[8] = {};
  EXPECT_EQ(::read(ends[0], got, sizeof got), 4);
  EXPECT_STREQ(got, "text");
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(File, AnOutputFollowsLinksAndIsReplacedWhole) {
  const std::string folder = fresh_folder("linked");
  ASSERT_TRUE(write_output_file(folder + "/real", as_bytes("old text")).ok());
  std::filesystem::create_symlink("real", folder + "/link");
  EXPECT_TRUE(is_same_file(folder + "/real", folder + "/link"));
  EXPECT_FALSE(is_same_file(folder + "/real", folder + "/none"));
  ASSERT_TRUE(write_output_file(folder + "/link", as_bytes("new")).ok());
  EXPECT_TRUE(std::filesystem::is_symlink(folder + "/link"));
  EXPECT_EQ(to_text(*read_file(folder + "/real", 10)), "new");
  EXPECT_EQ(write_output_file(folder, as_bytes("x")).message(),
            folder + ": is a folder; expected the name of a file");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace weft::file_test
