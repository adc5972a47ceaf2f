#include "weft/collective/state/state_file.h"

#include <algorithm>
#include <filesystem>
#include <functional>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "weft/base/file.h"
#include "weft/base/thread.h"
#include "weft/collective/swarm/background_keep.h"

namespace weft::state_file_test {
namespace {

class StateFileTest : public ::testing::Test {
 public:
  StateFileTest()
      : path_(std::filesystem::temp_directory_path() /
              ("weft-state-file-" + std::to_string(::getpid()))) {}
  ~StateFileTest() override { std::filesystem::remove(path_); }

  static BlockHead head(std::uint32_t index) { return {Hash256{9}, index, {Hash256{1}}}; }
  static Bytes body(std::uint32_t index) {
    return Bytes(1000 + index, static_cast<std::uint8_t>(index));
  }
  // The indexes of the blocks that a new start finds, in order; each is checked.
  std::vector<std::uint32_t> found() {
    StateFile file(path_.string());
    std::vector<std::uint32_t> indexes;
    if (!file.name()) return indexes;
    while (const auto block = file.next()) {
      indexes.push_back(block->head.index);
      EXPECT_EQ(block->head.path, head(0).path);
      EXPECT_EQ(block->body, body(block->head.index));
    }
    return indexes;
  }

  std::filesystem::path path_;
  const SnapshotName name_{Round(7), 5 * kStateBlockBytes, Hash256{9}};
};

TEST_F(StateFileTest, WhatWasKeptIsThereForTheNextStart) {
  EXPECT_FALSE(StateFile(path_.string()).name().has_value());
  {
    StateFile file(path_.string());
    file.begin(name_);
    file.keep(head(3), body(3));
    file.keep(head(1), body(1));
  }
  struct stat status = {};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  EXPECT_EQ(StateFile(path_.string()).name(), name_);
  EXPECT_EQ(found(), (std::vector<std::uint32_t>{3, 1}));
  // A later start adds to it.
  {
    StateFile file(path_.string());
    ASSERT_TRUE(file.name().has_value());
    while (file.next()) {
    }
    file.keep(head(4), body(4));
  }
  EXPECT_EQ(found(), (std::vector<std::uint32_t>{3, 1, 4}));
  StateFile(path_.string()).forget();
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(StateFileTest, ACutFileEndsWithItsLastWholeBlock) {
  {
    StateFile file(path_.string());
    file.begin(name_);
    for (std::uint32_t i = 0; i < 3; ++i) file.keep(head(i), body(i));
  }
  const std::uintmax_t whole = std::filesystem::file_size(path_);
  for (const std::uintmax_t cut : {std::uintmax_t{1}, std::uintmax_t{500}, std::uintmax_t{1001}}) {
    std::filesystem::resize_file(path_, whole - cut);
    EXPECT_EQ(found(), (std::vector<std::uint32_t>{0, 1}));
  }
  StateFile file(path_.string());
  ASSERT_TRUE(file.name().has_value());
  while (file.next()) {
  }
  file.keep(head(2), body(2));
  EXPECT_EQ(found(), (std::vector<std::uint32_t>{0, 1, 2}));
}

TEST_F(StateFileTest, OtherFilesCountAsEmpty) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{20}, std::size_t{300}}) {
    ASSERT_TRUE(write_file_atomically(path_.string(), Bytes(size, 0xff)).ok());
    EXPECT_TRUE(found().empty());
  }
  Bytes huge;
  for (const char c : std::string_view("WEFTBLK1")) huge.push_back(static_cast<std::uint8_t>(c));
  huge.resize(56 + 8, 0);
  std::fill(huge.end() - 8, huge.end(), 0xff);  // lengths of a record
  ASSERT_TRUE(write_file_atomically(path_.string(), huge).ok());
  EXPECT_TRUE(StateFile(path_.string()).name().has_value());
  EXPECT_TRUE(found().empty());
}

TEST_F(StateFileTest, WhereNothingCanBeWrittenNothingIsKept) {
  StateFile file("/proc/weft/state");
  EXPECT_FALSE(file.name().has_value());
  file.begin(name_);
  file.keep(head(1), body(1));
  EXPECT_FALSE(file.name().has_value());
}

// Writes as slowly as it is told to.
struct SlowKeep final : StateKeep {
  std::optional<SnapshotName> name() override { return std::nullopt; }
  void begin(const SnapshotName& /*name*/) override { ++begun; }
  void keep(const BlockHead& head, ByteSpan /*body*/) override {
    ASSERT_TRUE(may_write.wait_until(SystemClock().now() + std::chrono::minutes(1),
                                     [](bool may) { return may; }));
    written.push_back(head.index);
  }
  std::optional<Block> next() override {
    read_after = written.size();
    return std::nullopt;
  }
  void forget() override { forgotten = written.size(); }

  Guarded<bool> may_write{false};
  int begun = 0;
  std::vector<std::uint32_t> written;
  std::size_t read_after = 0;
  std::size_t forgotten = 0;
};

TEST_F(StateFileTest, ASlowDiskHoldsUpNobodyAndKeepsWhatItCan) {
  SlowKeep slow;
  {
    BackgroundKeep keep(slow);
    keep.begin(name_);
    // Far more than it takes in; none of these waits.
    for (std::uint32_t i = 0; i < 1500; ++i) keep.keep(head(i), Bytes(kStateBlockBytes));
    slow.may_write.with([](bool& may) { may = true; });
  }
  EXPECT_EQ(slow.begun, 1);
  ASSERT_GE(slow.written.size(), 1000U);
  EXPECT_LT(slow.written.size(), 1100U);
  // Blocks are left out where there is no room, and taken again when the thread has taken one.
  for (std::uint32_t i = 0; i < 1000; ++i) EXPECT_EQ(slow.written[i], i);
  EXPECT_EQ(std::adjacent_find(slow.written.begin(), slow.written.end(), std::greater_equal<>()),
            slow.written.end());
}

TEST_F(StateFileTest, NobodyReadsWhileTheThreadInsideWrites) {
  SlowKeep slow;
  BackgroundKeep keep(slow);
  for (std::uint32_t i = 0; i < 10; ++i) keep.keep(head(i), body(i));
  slow.may_write.with([](bool& may) { may = true; });
  keep.next();
  EXPECT_EQ(slow.read_after, 10U);
}

TEST_F(StateFileTest, WhatIsWholeIsForgottenWithoutBeingWritten) {
  SlowKeep slow;
  slow.may_write.with([](bool& may) { may = true; });
  BackgroundKeep keep(slow);
  for (std::uint32_t i = 0; i < 10; ++i) keep.keep(head(i), body(i));
  keep.forget();
  EXPECT_EQ(slow.forgotten, slow.written.size());
}

}  // namespace
}  // namespace weft::state_file_test
