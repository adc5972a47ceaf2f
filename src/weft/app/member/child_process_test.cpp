// The child is this test program itself, told to run one of the disabled tests below.
#include "weft/app/member/child_process.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "weft/app/folder/out_folder.h"

namespace weft::child_process_test {
namespace {

using testing::HasSubstr;

constexpr Duration kLimit = std::chrono::seconds(30);

TEST(AsChild, DISABLED_TellsAnEvent) {
  std::printf("no event\n%s\n", to_json(Event("note").with("text", std::string("hi"))).c_str());
}

TEST(AsChild, DISABLED_WaitsForASignal) {
  std::printf("%s\n", to_json(Event("note").with("text", std::string("ready"))).c_str());
  std::fflush(stdout);
  ::pause();
}

TEST(AsChild, DISABLED_TellsItsTicket) {
  // Nothing here writes the environment. NOLINTNEXTLINE(concurrency-mt-unsafe)
  const char* const ticket = std::getenv("WEFT_TICKET");
  std::printf(
      "%s\n",
      to_json(Event("note").with("text", std::string(ticket == nullptr ? "" : ticket))).c_str());
  std::fflush(stdout);
}

ChildOptions child_options(const std::string& test) {
  ChildOptions options;
  options.arguments = {"--gtest_also_run_disabled_tests",
                       "--gtest_filter=AsChild.DISABLED_" + test};
  options.errors_path = "/dev/null";
  return options;
}

// Reads until the child has closed its output.
std::vector<Event> read_all(ChildProcess& child) {
  const SystemClock clock;
  const TimePoint deadline = deadline_after(clock, kLimit);
  std::vector<Event> events;
  while (child.output() >= 0 && clock.now() < deadline) {
    wait_for_output({&child}, std::chrono::milliseconds(100));
    for (Event& event : child.take_events()) events.push_back(std::move(event));
  }
  return events;
}

bool wait_for_end(ChildProcess& child) {
  const SystemClock clock;
  const TimePoint deadline = deadline_after(clock, kLimit);
  while (!child.has_ended() && clock.now() < deadline) {
    wait_for_output({}, std::chrono::milliseconds(5));
  }
  return child.has_ended();
}

TEST(ChildProcess, ATicketIsHandedOverWhereOtherUsersCannotReadIt) {
  ChildOptions options = child_options("TellsItsTicket");
  options.ticket = "weft2-abc";
  ChildProcess child = std::move(ChildProcess::start(options)).value();
  const std::vector<Event> events = read_all(child);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].text("text"), "weft2-abc");
  EXPECT_TRUE(wait_for_end(child));
}

TEST(ChildProcess, ItsEventsAndExitCodeArrive) {
  auto child = ChildProcess::start(child_options("TellsAnEvent"));
  ASSERT_TRUE(child.ok()) << child.status().message();
  const std::vector<Event> events = read_all(*child);
  ASSERT_EQ(events.size(), 1U);  // lines that are no events are left out
  EXPECT_EQ(events[0].text("text"), "hi");
  ASSERT_TRUE(wait_for_end(*child));
  EXPECT_EQ(child->exit_code(), 0);
}

TEST(ChildProcess, ASignalShowsInTheExitCode) {
  auto child = ChildProcess::start(child_options("WaitsForASignal"));
  ASSERT_TRUE(child.ok());
  wait_for_output({&*child}, kLimit);
  EXPECT_FALSE(child->has_ended());
  child->signal(SIGKILL);
  ASSERT_TRUE(wait_for_end(*child));
  EXPECT_EQ(child->exit_code(), 128 + SIGKILL);
}

TEST(ChildProcess, EndsWithItsOwner) {
  pid_t pid = -1;
  {
    auto child = ChildProcess::start(child_options("WaitsForASignal"));
    ASSERT_TRUE(child.ok());
    pid = child->pid();
  }
  EXPECT_EQ(::kill(pid, 0), -1);  // nobody there
}

TEST(OutFolder, IsLockedWhileInUse) {
  const std::string path = testing::TempDir() + "weft_out_" + std::to_string(::getpid());
  {
    const auto first = OutFolder::open(path);
    ASSERT_TRUE(first.ok());
    EXPECT_THAT(OutFolder::open(path).status().message(), HasSubstr("another peer is using it"));
    // Nobody else of this machine may hold it.
    EXPECT_EQ(std::filesystem::status(path + "/.lock").permissions(), std::filesystem::perms(0600));
    const auto second = OutFolder::open_free(path);
    ASSERT_TRUE(second.ok());
    EXPECT_EQ(second->path(), path + "-2");
  }
  const auto again = OutFolder::open(path);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again->set_checkpoints_aside(), "");
  std::filesystem::create_directories(again->checkpoints_path());
  std::ofstream(again->checkpoints_path() + "/x") << "x";
  EXPECT_EQ(*again->set_checkpoints_aside(), again->checkpoints_path() + "-1");
  EXPECT_FALSE(std::filesystem::exists(again->checkpoints_path()));
  EXPECT_EQ(OutFolder::open("/proc/nothing/here").status().code(), Code::kUnavailable);
  std::filesystem::remove_all(path);
  std::filesystem::remove_all(path + "-2");
}

}  // namespace
}  // namespace weft::child_process_test
