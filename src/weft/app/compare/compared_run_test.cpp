#include "weft/app/compare/compared_run.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::compared_run_test {
namespace {

ComparedRun example() {
  ComparedRun out;
  out.key = "00ff";
  out.contender = "a \"quoted\" name";
  out.seed = 7;
  out.rounds = 2;
  out.virtual_seconds = 1.5;
  out.bytes_sent = 12345678901;
  out.samples = 64;
  out.state_hash = "abc";
  RunPoint point;
  point.round = 2;
  point.step = 4;
  point.virtual_seconds = 0.1;
  point.bytes_sent = 99;
  point.samples = 64;
  point.loss = 0.25;
  out.measured = {point};
  return out;
}

TEST(ComparedRun, ComesBackFromItsFile) {
  const Result<ComparedRun> read = parse_compared_run(compared_run_json(example()));
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  const ComparedRun& out = read.value();
  EXPECT_EQ(out.key, "00ff");
  EXPECT_EQ(out.contender, "a \"quoted\" name");
  EXPECT_EQ(out.seed, 7);
  EXPECT_EQ(out.rounds, 2);
  EXPECT_EQ(out.virtual_seconds, 1.5);
  EXPECT_EQ(out.bytes_sent, 12345678901.0);
  EXPECT_EQ(out.state_hash, "abc");
  EXPECT_TRUE(out.training.empty());
  ASSERT_EQ(out.measured.size(), 1U);
  EXPECT_EQ(out.measured[0].step, 4);
  EXPECT_EQ(out.measured[0].virtual_seconds, 0.1);
  EXPECT_EQ(out.measured[0].loss, 0.25);
  EXPECT_TRUE(std::isnan(out.measured[0].accuracy));
}

TEST(ComparedRun, ACutFileIsRefusedAtEveryByte) {
  const std::string text = compared_run_json(example());
  for (std::size_t size = 0; size + 2 < text.size(); ++size) {
    EXPECT_EQ(parse_compared_run(text.substr(0, size)).status().code(), Code::kCorrupt) << size;
  }
}

TEST(ComparedRun, WhatNoComparisonWritesIsRefused) {
  const std::string text = compared_run_json(example());
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string out = text;
    const std::size_t at = out.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return parse_compared_run(out.replace(at, from.size(), to)).status().code();
  };
  EXPECT_EQ(changed("\"format\":1", "\"format\":2"), Code::kCorrupt);
  EXPECT_EQ(changed("\"seed\":7", "\"seed\":\"7\""), Code::kCorrupt);
  EXPECT_EQ(changed("\"seed\":7", "\"seed\":7.5"), Code::kCorrupt);
  EXPECT_EQ(changed("\"key\":\"00ff\"", "\"key\":[]"), Code::kCorrupt);
  EXPECT_EQ(changed("\"training\":[]", "\"training\":[[1]]"), Code::kCorrupt);
  EXPECT_EQ(changed("\"training\":[]", "\"training\":{}"), Code::kCorrupt);
  EXPECT_EQ(changed("[[2.0", "[[\"2\""), Code::kCorrupt);
  EXPECT_EQ(changed("\"samples\",", ""), Code::kCorrupt);
  EXPECT_EQ(parse_compared_run("[]").status().code(), Code::kCorrupt);
  EXPECT_EQ(parse_compared_run(std::string(100'000, '[')).status().code(), Code::kCorrupt);
}

}  // namespace
}  // namespace weft::compared_run_test
