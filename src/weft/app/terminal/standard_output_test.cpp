#include "weft/app/terminal/standard_output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace weft::standard_output_test {
namespace {

// A process has one standard output: a child loses it here, and ends as the command would.
void end_with_output_to(int descriptor, const char* goes_on, ExitCode code) {
  guard_standard_streams();
  ::dup2(descriptor, STDOUT_FILENO);
  if (goes_on != nullptr) go_on_without_output(goes_on);
  const bool first = print_text("text");
  const bool second = print_text("more");
  // One thread. NOLINTNEXTLINE(concurrency-mt-unsafe)
  std::exit(first || second ? 99 : static_cast<int>(checked_output(code)));
}

TEST(StandardOutputDeathTest, AFullDiskIsSaidAndIsNoSuccess) {
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  EXPECT_EXIT(end_with_output_to(full, nullptr, ExitCode::kOk), testing::ExitedWithCode(3),
              "weft: standard output: No space left on device");
  EXPECT_EXIT(end_with_output_to(full, nullptr, ExitCode::kCorrupt), testing::ExitedWithCode(4),
              "standard output");
  EXPECT_EXIT(end_with_output_to(full, "the run goes on", ExitCode::kOk),
              testing::ExitedWithCode(3), "No space left on device; the run goes on");
  ::close(full);
}

TEST(StandardOutputDeathTest, AReaderThatLeftIsNoFailureOfARun) {
  int ends[2] = {};
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  EXPECT_EXIT(end_with_output_to(ends[1], nullptr, ExitCode::kOk), testing::ExitedWithCode(3),
              "^$");
  EXPECT_EXIT(end_with_output_to(ends[1], "the run goes on", ExitCode::kOk),
              testing::ExitedWithCode(0), "Broken pipe; the run goes on");
  ::close(ends[1]);
}

}  // namespace
}  // namespace weft::standard_output_test
