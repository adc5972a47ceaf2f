#include "weft/base/background_writer.h"

#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "weft/base/append_file.h"
#include "weft/base/file.h"
#include "weft/base/thread.h"

namespace weft::background_writer_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A sink that can be held shut; shared, since a writer that is closed may leave it behind.
struct Gate {
  Guarded<bool> open{true};
  Guarded<std::vector<std::string>> written;
  void write(std::string_view text) {
    open.wait_until(SystemClock().now() + seconds(60), [](bool is_open) { return is_open; });
    written.with([&](auto& lines) { lines.emplace_back(text); });
  }
  std::vector<std::string> lines() {
    return written.with([](auto& lines) { return lines; });
  }
};

BackgroundWriter::Sink into(const std::shared_ptr<Gate>& gate) {
  return [gate](std::string_view text) { gate->write(text); };
}

BackgroundWriter::Options small(std::size_t bytes_max) {
  BackgroundWriter::Options options;
  options.bytes_max = bytes_max;
  options.gap = [](std::uint64_t texts) { return std::to_string(texts) + " lost"; };
  options.close_limit = seconds(30);
  return options;
}

TEST(BackgroundWriter, AReaderThatReadsGetsEverythingInOrder) {
  const auto gate = std::make_shared<Gate>();
  std::vector<std::string> pushed;
  {
    BackgroundWriter writer(into(gate), small(1 << 20));
    for (int i = 0; i < 10000; ++i) {
      pushed.push_back(std::to_string(i));
      ASSERT_TRUE(writer.push(pushed.back()));
    }
  }
  EXPECT_EQ(gate->lines(), pushed);
}

TEST(BackgroundWriter, WhatFindsNoRoomIsCountedAndSaidWhereItIsMissing) {
  const auto gate = std::make_shared<Gate>();
  gate->open.with([](bool& open) { open = false; });
  BackgroundWriter writer(into(gate), small(40));
  int taken = 0;
  for (int i = 0; i < 20; ++i) taken += writer.push("0123456789") ? 1 : 0;
  EXPECT_EQ(taken, 4);
  EXPECT_EQ(writer.dropped(), 16U);
  EXPECT_FALSE(writer.drain(milliseconds(20)));
  gate->open.with([](bool& open) { open = true; });
  ASSERT_TRUE(writer.drain(seconds(30)));
  EXPECT_TRUE(writer.push("after"));
  ASSERT_TRUE(writer.drain(seconds(30)));
  const std::vector<std::string> lines = gate->lines();
  ASSERT_EQ(lines.size(), 6U);
  EXPECT_EQ(lines[4], "16 lost");
  EXPECT_EQ(lines[5], "after");
}

TEST(BackgroundWriter, OneTextThatIsLargerThanTheQueueIsTakenIfNoneWaits) {
  const auto gate = std::make_shared<Gate>();
  BackgroundWriter writer(into(gate), small(10));
  EXPECT_TRUE(writer.push(std::string(100, 'x')));
  ASSERT_TRUE(writer.drain(seconds(30)));
  EXPECT_TRUE(writer.push(std::string(100, 'y')));
  EXPECT_TRUE(writer.close(seconds(30)));
  EXPECT_FALSE(writer.push("too late"));
  EXPECT_EQ(gate->lines().size(), 2U);
}

TEST(BackgroundWriter, ASinkThatBlocksDoesNotHinderTheEnd) {
  const auto gate = std::make_shared<Gate>();
  gate->open.with([](bool& open) { open = false; });
  BackgroundWriter writer(into(gate), small(1000));
  writer.push("never read");
  const TimePoint begun = SystemClock().now();
  EXPECT_FALSE(writer.close(milliseconds(50)));
  EXPECT_FALSE(writer.close(seconds(30))) << "and says so again, at once";
  EXPECT_LT(SystemClock().now() - begun, seconds(20));
  gate->open.with([](bool& open) { open = true; });
}

TEST(BackgroundWriter, AFullPipeHoldsUpNobodyButTheWriter) {
  int ends[2] = {};
  ASSERT_EQ(::pipe(ends), 0);
  // Full from the beginning, so that nothing is written before it is read.
  std::string expected;
  ASSERT_EQ(::fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
  while (::write(ends[1], "x", 1) == 1) expected += "x";
  ASSERT_EQ(::fcntl(ends[1], F_SETFL, 0), 0);
  BackgroundWriter writer([out = ends[1]](std::string_view text) { write_fully(out, text); },
                          small(64 << 10));
  const std::string line = std::string(99, 'a') + "\n";
  for (int i = 0; i < 3000; ++i) {
    if (writer.push(line)) expected += line;
  }
  EXPECT_GT(writer.dropped(), 0U);
  expected += std::to_string(writer.dropped()) + " lost";
  std::string read(expected.size(), '\0');
  for (std::size_t done = 0; done < read.size();) {
    const ssize_t got = ::read(ends[0], read.data() + done, read.size() - done);
    ASSERT_GT(got, 0);
    done += static_cast<std::size_t>(got);
  }
  EXPECT_EQ(read, expected);
  EXPECT_TRUE(writer.close(seconds(30)));
  ::close(ends[0]);
  ::close(ends[1]);
}

struct Scratch {
  Scratch() : path(testing::TempDir() + "weft_append_" + std::to_string(::getpid())) {}
  ~Scratch() { ::unlink(path.c_str()); }
  std::string text() const {
    const Result<Bytes> bytes = read_file(path, 1 << 20);
    return bytes.ok() ? std::string(bytes->begin(), bytes->end()) : "unreadable";
  }
  std::string path;
};

TEST(AppendFile, MendsAnUnfinishedLastLineBeforeTheFirstRecord) {
  const Scratch scratch;
  const std::string torn = "whole\nhal";
  ASSERT_TRUE(write_file_atomically(scratch.path, as_bytes(torn)).ok());
  const auto file = AppendFile::open(scratch.path, {.mode = 0600, .separator = "\n"});
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE((*file)->append("next\n").ok());
  EXPECT_TRUE((*file)->append("last\n").ok());
  EXPECT_EQ(scratch.text(), "whole\nhal\nnext\nlast\n");
  struct stat about = {};
  ASSERT_EQ(::stat(scratch.path.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777U, 0600U);
}

// The limit on the size of a file stands for a disk that has room for a part of a record.
TEST(AppendFile, CutsARecordBackThatFindsNoRoom) {
  const Scratch scratch;
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {25, 1 << 20};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const auto file = AppendFile::open(scratch.path, {.separator = "\n"});
    const bool first = file.ok() && (*file)->append("0123456789\n").ok();
    const bool second = (*file)->append("0123456789\n").ok();
    const bool third = (*file)->append("0123456789\n").ok();
    const bool fits = (*file)->append("ab\n").ok();
    ::_exit(first && second && !third && fits ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(scratch.text(), "0123456789\n0123456789\nab\n");
}

TEST(AppendFile, SaysWhyItCannotBeOpened) {
  const Scratch scratch;
  EXPECT_EQ(AppendFile::open("/nonexistent/file", {}).status().code(), Code::kUnavailable);
  ASSERT_TRUE(AppendFile::open(scratch.path, {}).ok());
  EXPECT_FALSE(AppendFile::open(scratch.path, {.must_be_new = true}).ok());
  EXPECT_FALSE((*AppendFile::open("/dev/full", {.separator = "\n"}))->append("x\n").ok());
}

}  // namespace
}  // namespace weft::background_writer_test
