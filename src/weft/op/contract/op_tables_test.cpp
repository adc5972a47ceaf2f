// That no operation escapes the tables: whatever records itself in this folder is run by a sample
// of the op table, and so by the tests over it (contract, second gradients, captured graphs).
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "weft/autograd/backward.h"
#include "weft/autograd/op_trace.h"
#include "weft/op/contract/test_exceptions.h"
#include "weft/op/core/op_def.h"
#include "weft/op/ops.h"

namespace weft::op_tables_test {
namespace {

// What records itself and no sample runs, with the test that looks at it instead.
const std::map<std::string, std::string>& without_sample() {
  static const std::map<std::string, std::string> reasons = {
      {"add_", "writes its input: saved_values_test.cpp, graph/function_capture_test.cpp"},
      {"copy_", "as add_"},
      {"mul_", "as add_"},
      {"div_", "as add_"},
  };
  return reasons;
}

std::string source_without_comments(const std::filesystem::path& path) {
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return std::regex_replace(text, std::regex("//[^\n]*"), "");
}

// The names that the sources of this folder give to record(), where they are literals.
std::set<std::string> recorded_names() {
  std::set<std::string> names;
  const std::regex call("\\brecord(?:_many)?\\(\\s*\"(\\w+)\"");
  const std::filesystem::path folder = std::filesystem::path(WEFT_SOURCE_DIR) / "src/weft/op";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string file = entry.path().filename().string();
    if (!file.ends_with(".cpp") || file.ends_with("_test.cpp")) continue;
    const std::string text = source_without_comments(entry.path());
    for (std::sregex_iterator at(text.begin(), text.end(), call), end; at != end; ++at) {
      names.insert((*at)[1]);
    }
  }
  return names;
}

// What the samples record: values, gradients and, where there are any, second ones.
std::set<std::string> names_of_samples() {
  std::set<std::string> names;
  for (const OpDef* op : op_table()) {
    for (const OpSample& sample : op->samples()) {
      const OpTrace trace;
      std::vector<Tensor> leaves;
      std::vector<Tensor> wanted;
      for (const Array& x : sample.inputs) {
        leaves.emplace_back(x, x.defined() && is_floating(x.dtype()));
        if (leaves.back().requires_grad()) wanted.push_back(leaves.back());
      }
      const Tensor y = sample.apply(leaves);
      const bool twice = !without_second_gradient().contains(op->name);
      if (y.requires_grad()) {
        grad({sum(y)}, wanted, {.create_graph = twice, .allow_unused = true});
      }
      for (const TracedOp& traced : trace.ops()) names.insert(traced.name);
    }
  }
  return names;
}

TEST(OpTables, WhateverRecordsItselfIsRunByASample) {
  const std::set<std::string> recorded = recorded_names();
  const std::set<std::string> run = names_of_samples();
  EXPECT_GE(recorded.size(), 60U);
  for (const std::string& name : recorded) {
    EXPECT_NE(run.contains(name), without_sample().contains(name)) << name;
  }
}

TEST(OpTables, ExceptionsAreOperationsOfTheTable) {
  for (const auto& [name, reason] : without_second_gradient()) {
    EXPECT_TRUE(std::any_of(op_table().begin(), op_table().end(),
                            [&excepted = name](const OpDef* op) { return excepted == op->name; }))
        << name;
  }
}

}  // namespace
}  // namespace weft::op_tables_test
