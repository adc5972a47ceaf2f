// Golden bytes: google.protobuf 4.21 with TensorFlow's field numbers, and the checksum bit by bit.
#include "weft/io/tensorboard.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/file.h"
#include "weft/io/tensorboard/crc32c.h"

namespace weft::tensorboard_test {
namespace {

std::string test_folder(const std::string& name) {
  std::string folder = testing::TempDir() + "weft_tensorboard_" + name;
  std::filesystem::remove_all(folder);
  return folder;
}

TEST(Crc32c, HasThePublishedValues) {
  EXPECT_EQ(crc32c(as_bytes(std::string_view("123456789"))), 0xE3069283U);
  // RFC 3720, B.4.
  EXPECT_EQ(crc32c(Bytes(32, 0x00)), 0x8A9136AAU);
  EXPECT_EQ(crc32c(Bytes(32, 0xFF)), 0x62A8AB43U);
  EXPECT_EQ(crc32c({}), 0U);
}

TEST(Tensorboard, WritesTheBytesOfTensorFlowsEvents) {
  const std::string folder = test_folder("bytes");
  const auto writer = TensorboardWriter::open(folder + "/deep", 1700000000).value();
  ASSERT_TRUE(writer->scalar("loss", 7, 0.5, 1700000001.5).ok());
  EXPECT_EQ(writer->path(), folder + "/deep/events.out.tfevents.1700000000.weft");
  const Bytes file = read_file(writer->path(), 4096).value();
  EXPECT_EQ(to_hex(file),
            "1800000000000000a37f4b220900000040fc54d9411a0d627261696e2e4576656e743a32eced8f9d"
            "1a00000000000000129bd82d0900006040fc54d94110072a0d0a0b0a046c6f7373150000003f8fa1e391");
}

TEST(Tensorboard, NeverWritesIntoAnOlderFile) {
  const std::string folder = test_folder("twice");
  const auto first = TensorboardWriter::open(folder, 5).value();
  const auto second = TensorboardWriter::open(folder, 5).value();
  EXPECT_EQ(second->path(), first->path() + ".1");
  EXPECT_THAT(first->path(), testing::EndsWith("events.out.tfevents.0000000005.weft"));
}

TEST(Tensorboard, SaysWhereItCannotWrite) {
  const std::string folder = test_folder("file");
  ASSERT_TRUE(write_file_atomically(folder, Bytes{1}).ok());
  const auto writer = TensorboardWriter::open(folder + "/below", 5);
  ASSERT_FALSE(writer.ok());
  EXPECT_EQ(writer.status().code(), Code::kUnavailable);
  EXPECT_THAT(writer.status().message(), testing::HasSubstr(folder));
}

}  // namespace
}  // namespace weft::tensorboard_test
