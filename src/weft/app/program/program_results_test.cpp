// The file that a program writes: what is read, and the reason where it cannot be believed.
#include "weft/app/program/program_results.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::program_results_test {
namespace {

using testing::HasSubstr;

std::string line(int round, const std::string& more) {
  return R"({"round": )" + std::to_string(round) +
         R"(, "seconds": 1.5, "bytes_sent": 100, "samples": 20)" + more + "}\n";
}

const char* const kAccuracy = R"(, "accuracy": 0.5)";

TEST(ProgramResults, LinesAreMeasurementsOfTheTestSetOrOfTraining) {
  const ProgramResults read = parse_program_results(
      line(1, kAccuracy) + "\n" + line(1, R"(, "kind": "training", "loss": 2, "step": 30)") +
          R"({"samples":40,"bytes_sent":1e3,"seconds":2,"round":2,"accuracy":null,"loss":-1})",
      "r.jsonl");
  EXPECT_EQ(read.fault, "");
  ASSERT_EQ(read.measured.size(), 2U);
  EXPECT_EQ(read.measured[0].accuracy, 0.5);
  EXPECT_TRUE(std::isnan(read.measured[0].loss));
  EXPECT_EQ(read.measured[0].step, 1);
  EXPECT_EQ(read.measured[1].loss, -1);
  EXPECT_EQ(read.measured[1].virtual_seconds, 2);
  EXPECT_EQ(read.measured[1].bytes_sent, 1000);
  EXPECT_EQ(read.measured[1].samples, 40);
  ASSERT_EQ(read.training.size(), 1U);
  EXPECT_EQ(read.training[0].step, 30);
}

TEST(ProgramResults, WhatStandsBeforeAFaultIsKept) {
  const std::string good = line(1, kAccuracy);
  const std::pair<std::string, const char*> cases[] = {
      {R"({"round": 2, "sec)", "r.jsonl:2: expected a JSON object"},
      {"nonsense\n", "got nonsense"},
      {"[1, 2]\n", "expected a JSON object"},
      {std::string("\x00\xff\xfe\n", 4), "expected a JSON object"},
      {line(2, R"(, "loss": NaN)"), "write null"},
      {line(2, ""), R"(expected "accuracy", "loss" or both)"},
      {line(2, R"(, "loss": null)"), "got neither"},
      {line(2, R"(, "loss": 1e999)"), "JSON object"},
      {line(2, R"(, "loss": "low")"), R"(loss: expected a number or null, got "low")"},
      {line(2, R"(, "accuracy": 51.3)"), "accuracy: expected 0 to 1, got 51.3"},
      {line(2, R"(, "acuracy": 0.5)"), R"(did you mean "accuracy"?)"},
      {line(2, R"(, "kind": "train", "loss": 1)"), R"("test" or "training", got "train")"},
      {line(0, kAccuracy), "round: expected at least 1"},
      {line(-1, kAccuracy), "round: expected a number, 0 or more, got -1"},
      {R"({"round": 2, "accuracy": 0.5})", "seconds: expected a number, and the line has none"},
      {line(2, R"(, "step": true, "loss": 1)"), "step: expected a number"},
      {R"({"a": ")" + std::string(70'000, 'x') + "\"}", "expected a JSON object"},
  };
  for (const auto& [text, reason] : cases) {
    const ProgramResults read = parse_program_results(good + text, "r.jsonl");
    EXPECT_THAT(read.fault, HasSubstr(reason));
    EXPECT_LT(read.fault.size(), 400U);
    EXPECT_EQ(read.measured.size(), 1U) << text;
  }
}

TEST(ProgramResults, OneMeasurementOfTheTestSetIsTheLeast) {
  for (const std::string& text :
       {std::string(), std::string("\n\n"), line(1, R"(, "kind": "training", "loss": 2)")}) {
    EXPECT_THAT(parse_program_results(text, "r.jsonl").fault, HasSubstr("at least one line"));
  }
}

}  // namespace
}  // namespace weft::program_results_test
