#include "weft/collective/swarm/record_file.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "weft/base/file.h"

namespace weft::record_file_test {
namespace {

using ::testing::HasSubstr;

class RecordFileTest : public ::testing::Test {
 public:
  RecordFileTest()
      : folder_(std::filesystem::temp_directory_path() /
                ("weft-record-file-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
    record_.self = PeerId{Hash256{7}};
    record_.incarnation = 5;
  }
  ~RecordFileTest() override { std::filesystem::remove_all(folder_); }
  std::string path() const { return (folder_ / "membership.record").string(); }

  std::filesystem::path folder_;
  VoterRecord record_;
};

TEST_F(RecordFileTest, WhatWasKeptIsThereForTheNextProcessAlone) {
  EXPECT_FALSE(RecordFile::load(path(), record_.self)->has_value());
  RecordFile file(path());
  EXPECT_TRUE(file.keep(record_.encode(), true));
  record_.incarnation = 6;
  EXPECT_TRUE(file.keep(record_.encode(), false));
  const auto loaded = RecordFile::load(path(), record_.self);
  ASSERT_TRUE(loaded.ok()) << loaded.status().to_string();
  EXPECT_EQ((*loaded)->incarnation, 6U);
  struct stat status = {};
  ASSERT_EQ(::stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  EXPECT_THAT(RecordFile::load(path(), PeerId{Hash256{8}}).status().message(),
              HasSubstr("of another peer"));
}

TEST_F(RecordFileTest, EveryAlteredByteIsNoticed) {
  ASSERT_TRUE(RecordFile(path()).keep(record_.encode(), true));
  const Bytes good = *read_file(path(), 1 << 20);
  for (std::size_t at = 0; at < good.size(); ++at) {
    Bytes bad = good;
    bad[at] ^= 0x40U;
    ASSERT_TRUE(write_file_atomically(path(), bad, {.mode = 0600, .durable = false}).ok());
    EXPECT_EQ(RecordFile::load(path(), record_.self).status().code(), Code::kCorrupt) << at;
  }
  ASSERT_TRUE(write_file_atomically(path(), ByteSpan(good).first(30), {.durable = false}).ok());
  EXPECT_THAT(RecordFile::load(path(), record_.self).status().message(), HasSubstr("newcomer"));
}

TEST_F(RecordFileTest, ACopyInAnotherFolderDoesNotCount) {
  ASSERT_TRUE(RecordFile(path()).keep(record_.encode(), true));
  const std::filesystem::path other = folder_ / "copy";
  std::filesystem::create_directories(other);
  const std::string copy = (other / "membership.record").string();
  std::filesystem::copy_file(path(), copy);
  EXPECT_THAT(RecordFile::load(copy, record_.self).status().message(), HasSubstr("was copied"));
}

TEST_F(RecordFileTest, AnOldRecordIsRemovedWhereANewOneCannotBeWritten) {
  RecordFile file(path());
  ASSERT_TRUE(file.keep(record_.encode(), true));
  // The temporary file beside it finds no room for its name.
  RecordFile longer((folder_ / std::string(250, 'x')).string());
  EXPECT_TRUE(longer.keep(record_.encode(), true)) << "nothing was there";
  EXPECT_TRUE(is_file(path()));
  // Whoever removes the folder leaves nothing behind either.
  std::filesystem::remove_all(folder_);
  EXPECT_TRUE(file.keep(record_.encode(), true));
  EXPECT_FALSE(is_file(path()));
}

}  // namespace
}  // namespace weft::record_file_test
