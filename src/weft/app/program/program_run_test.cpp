// A program as a contender: its command, the key of its result, and what becomes of its run.
#include "weft/app/program/program_run.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/testing/test_folder.h"

namespace weft::program_run_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ProgramRun run_of(std::vector<std::string> command) {
  ProgramRun run;
  run.recipe.command = std::move(command);
  run.recipe.timeout_s = 60;
  run.recipe_path = "/r/p.toml";
  run.seed = 5;
  run.peers = 6;
  return run;
}

// A run of this shell script, which has {seed} as $1 and {out} as $2.
ProgramRun script(const std::string& text) {
  return run_of({"sh", "-c", text, "sh", "{seed}", "{out}"});
}

ComparedRun result_of(const ProgramRun& run, const std::string& out) {
  ComparedRun planned;
  planned.contender = "p";
  planned.seed = run.seed;
  const Result<ComparedRun> result = run_program_contender(run, out, nullptr, planned);
  EXPECT_TRUE(result.ok()) << result.status().message();
  return *result;
}

std::string out_of(TestFolder& folder) {
  return std::filesystem::path(folder.put("out/other.txt", "")).parent_path().string();
}

constexpr const char* kLine =
    R"(echo "{{\"round\": 4, \"seconds\": 2.5, \"bytes_sent\": 70, \"samples\": 9, )"
    R"(\"accuracy\": 0.$1}}" >> $2/results.jsonl)";

TEST(ProgramRun, NamesInBracesAreFilledIn) {
  ProgramRun run = run_of({"{python}", "{recipe}/a", "--x={rate},{seed},{peers},{rounds}", "{out}",
                           "{results}", "{{seed}}"});
  run.recipe.options = {{"rate", 0.5}};
  run.recipe.rounds = 8;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody reads it meanwhile.
  ::setenv("WEFT_PYTHON", "/opt/python", 1);
  EXPECT_THAT(*program_arguments(run, "/o"), ElementsAre("/opt/python", "/r/a", "--x=0.5,5,6,8",
                                                         "/o", "/o/results.jsonl", "{seed}"));
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody reads it meanwhile.
  ::unsetenv("WEFT_PYTHON");
  EXPECT_EQ(program_arguments(run, "/o")->front(), "python3");
}

TEST(ProgramRun, ACommandThatCannotBeFilledInIsRefused) {
  const auto refusal = [](std::vector<std::string> command) {
    const Status status = program_arguments(run_of(std::move(command)), "/o").status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    return status.message();
  };
  EXPECT_THAT(refusal({"a", "{sed}"}), HasSubstr("/r/p.toml: program.command[1]: nothing is "
                                                 "called {sed}"));
  EXPECT_THAT(refusal({"a", "{sed}"}), HasSubstr("{out}, {peers}, {python}"));
  EXPECT_THAT(refusal({"a", "{rounds}"}), HasSubstr("set program.rounds or --rounds"));
  EXPECT_THAT(refusal({"a", "{results}"}), HasSubstr("expected {seed}"));
  EXPECT_THAT(refusal({"a", "{seed}"}), HasSubstr("expected {results}"));
}

TEST(ProgramRun, SettingsAndRoundsChangeTheRecipe) {
  ProgramRecipe recipe;
  recipe.options = {{"rate", 0.5}};
  const auto changed =
      configured_program(recipe, {"program.options.rate=2", "program.rounds=3"}, 9);
  EXPECT_EQ(changed->options[0].second, ProgramOption(2.0));
  EXPECT_EQ(changed->rounds, 9);
  EXPECT_FALSE(configured_program(recipe, {"run.steps=3"}, std::nullopt).ok());
  EXPECT_FALSE(configured_program(recipe, {"program.rounds"}, std::nullopt).ok());
}

TEST(ProgramRun, TheKeyHasTheCommandAndItsFilesAndNoLimit) {
  TestFolder folder;
  const std::string file = folder.put("train.py", "1");
  ProgramRun run = run_of({"sh", file, "{seed}", "{results}"});
  const std::string key = *program_key(run);
  EXPECT_EQ(key.size(), 64U);
  run.recipe.timeout_s = 61;
  run.peers = 7;  // the command has no {peers}
  EXPECT_EQ(*program_key(run), key);
  run.seed = 6;
  EXPECT_NE(*program_key(run), key);
  run.seed = 5;
  folder.put("train.py", "2");
  EXPECT_NE(*program_key(run), key);
}

TEST(ProgramRun, ItsResultIsWhatItHasWritten) {
  TestFolder folder;
  const std::string out = out_of(folder);
  const ComparedRun result = result_of(script(std::string(kLine) + "; echo said"), out);
  EXPECT_EQ(result.fault, "");
  EXPECT_EQ(result.rounds, 4);
  EXPECT_EQ(result.virtual_seconds, 2.5);
  EXPECT_EQ(result.bytes_sent, 70);
  EXPECT_EQ(result.samples, 9);
  EXPECT_EQ(result.last().accuracy, 0.5);
  EXPECT_GT(result.seconds, 0);
  EXPECT_EQ(result.contender, "p");
  std::string said;
  std::getline(std::ifstream(out + "/output.txt"), said);
  EXPECT_EQ(said, "said");
}

TEST(ProgramRun, AFailureIsAFaultBesideWhatWasMeasured) {
  TestFolder folder;
  const std::string out = out_of(folder);
  ComparedRun result =
      result_of(script(std::string(kLine) + "; echo ValueError: rate >&2; exit 3"), out);
  EXPECT_THAT(result.fault, HasSubstr("ended with exit code 3; its last line was \"ValueError: "
                                      "rate\" (" +
                                      out + "/output.txt)"));
  EXPECT_EQ(result.measured.size(), 1U);
  result = result_of(script("kill -TERM $$"), out);
  EXPECT_THAT(result.fault, HasSubstr("was ended by signal 15; it has printed nothing"));
}

TEST(ProgramRun, ResultsThatAreNoFileAreNotReadOrWaitedFor) {
  TestFolder folder;
  const std::string out = out_of(folder);
  EXPECT_THAT(result_of(script("true"), out).fault,
              HasSubstr("results.jsonl: the program has not written it"));
  EXPECT_THAT(result_of(script("mkfifo $2/results.jsonl"), out).fault,
              HasSubstr("is no regular file"));
  EXPECT_THAT(
      result_of(script("rm $2/results.jsonl; ln -s /etc/passwd $2/results.jsonl"), out).fault,
      HasSubstr("is no regular file"));
}

TEST(ProgramRun, ADeadlineAndAPersonEndIt) {
  TestFolder folder;
  const std::string out = out_of(folder);
  ProgramRun slow = script("sleep 1000");
  slow.recipe.timeout_s = 1;
  EXPECT_THAT(result_of(slow, out).fault, HasSubstr("took longer than program.timeout_s = 1"));
  slow.recipe.timeout_s = 60;
  const Result<ComparedRun> stopped = run_program_contender(slow, out, [] { return true; }, {});
  EXPECT_EQ(stopped.status().code(), Code::kAborted);
}

}  // namespace
}  // namespace weft::program_run_test
