// How programs end: by themselves, at the deadline, by a person, with children and much output.
#include "weft/app/program/program_process.h"

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include "weft/base/testing/test_folder.h"

namespace weft::program_process_test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

ProgramStart shell(const std::string& script) {
  ProgramStart start;
  start.arguments = {"sh", "-c", script};
  start.limit = std::chrono::seconds(60);
  return start;
}

// Whether the process whose number stands in `file` is gone, or a zombie, within ten seconds: a
// signal that was sent takes effect a little later.
bool ends(const std::string& file) {
  std::string number;
  std::ifstream(file) >> number;
  EXPECT_NE(number, "");
  for (int i = 0; i < 1000; ++i) {
    std::string state;
    std::ifstream stat("/proc/" + number + "/stat");
    std::getline(stat, state);
    const std::size_t after = state.rfind(") ");
    if (after == std::string::npos || state.compare(after + 2, 1, "Z") == 0) return true;
    ::poll(nullptr, 0, 10);
  }
  return false;
}

TEST(ProgramProcess, GivesExitCodeOutputAndErrors) {
  ProgramStart start = shell("read x || echo no input; echo $WEFT_MARK; echo bad >&2; exit 3");
  start.environment = {"WEFT_MARK=mark"};
  const Result<ProgramEnd> end = run_program(start);
  EXPECT_EQ(end->exit_code, 3);
  EXPECT_EQ(end->tail, "no input\nmark\nbad\n");
  EXPECT_FALSE(end->timed_out || end->stopped);
}

TEST(ProgramProcess, AVariableOfThisProcessStaysAndOneIsReplaced) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody reads it meanwhile.
  ::setenv("WEFT_STAYS", "1", 1);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody reads it meanwhile.
  ::setenv("WEFT_MARK", "old", 1);
  ProgramStart start = shell("echo $WEFT_STAYS $WEFT_MARK");
  start.environment = {"WEFT_MARK=new"};
  EXPECT_EQ(run_program(start)->tail, "1 new\n");
}

TEST(ProgramProcess, ASignalIsSaid) { EXPECT_EQ(run_program(shell("kill -9 $$"))->exit_code, 137); }

TEST(ProgramProcess, MuchOutputIsBounded) {
  const Result<ProgramEnd> end =
      run_program(shell("head -c 20000000 /dev/zero | tr '\\0' 'x'; echo; echo the end"));
  EXPECT_EQ(end->exit_code, 0);
  EXPECT_EQ(end->tail.size(), kProgramTailBytes);
  EXPECT_THAT(end->tail, EndsWith("x\nthe end\n"));
}

TEST(ProgramProcess, AtTheDeadlineItIsEndedWithItsChildren) {
  const TestFolder folder;
  ProgramStart start =
      shell("trap '' TERM; (trap '' TERM; sleep 1000 & echo $! > " + folder.path("child") +
            "; wait) & echo $$ > " + folder.path("self") + "; while true; do sleep 0.1; done");
  start.limit = std::chrono::seconds(1);
  const Result<ProgramEnd> end = run_program(start);
  EXPECT_TRUE(end->timed_out);
  EXPECT_EQ(end->exit_code, 128 + SIGKILL);
  EXPECT_TRUE(ends(folder.path("child")));
  EXPECT_TRUE(ends(folder.path("self")));
}

TEST(ProgramProcess, ChildrenThatStayBehindAreEnded) {
  const TestFolder folder;
  const Result<ProgramEnd> end =
      run_program(shell("sleep 1000 & echo $! > " + folder.path("child") + "; exit 0"));
  EXPECT_EQ(end->exit_code, 0);
  EXPECT_TRUE(ends(folder.path("child")));
}

TEST(ProgramProcess, APersonCanStopIt) {
  ProgramStart start = shell("trap 'echo saved; exit 5' TERM; echo begun; sleep 1000 & wait");
  int asked = 0;
  start.stop_asked = [&] { return ++asked > 5; };
  const Result<ProgramEnd> end = run_program(start);
  EXPECT_TRUE(end->stopped);
  EXPECT_FALSE(end->timed_out);
  EXPECT_LT(end->seconds, 50);
}

TEST(ProgramProcess, WhatCannotBeStartedIsNamed) {
  ProgramStart start;
  start.limit = std::chrono::seconds(1);
  start.arguments = {"/nowhere/program"};
  const Status status = run_program(start).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("/nowhere/program: cannot be started: No such file"));
  start.arguments = {"/etc"};
  EXPECT_THAT(run_program(start).status().message(), HasSubstr("Permission denied"));
}

TEST(ProgramProcess, TheLastLineIsOneWithWords) {
  EXPECT_EQ(last_line("a\nb c \n\n \n"), "b c");
  EXPECT_EQ(last_line("50 %\r100 %"), "100 %");
  EXPECT_EQ(last_line(" \n"), "");
  EXPECT_EQ(last_line("one"), "one");
}

}  // namespace
}  // namespace weft::program_process_test
