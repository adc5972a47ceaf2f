#include "weft/train/bench/bench_forward.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/testing/test_folder.h"
#include "weft/data/npy.h"
#include "weft/io/onnx_import.h"

namespace weft::bench_forward_test {
namespace {

ForwardBenchOptions brief(const std::string& model) {
  ForwardBenchOptions options;
  options.model = model;
  options.batch = 2;
  options.duration = from_milliseconds(1);
  return options;
}

TEST(BenchForward, WritesAModelThatGivesTheWrittenOutputs) {
  const SystemClock clock;
  for (const char* const model : {"mlp", "lenet", "lstm2x256"}) {
    const TestFolder folder;
    ForwardBenchOptions options = brief(model);
    options.folder = folder.path("");
    const Result<ForwardBenchResult> result = bench_forward(options, clock);
    ASSERT_TRUE(result.ok()) << result.status().to_string();
    EXPECT_GE(result->times.runs, 10);
    EXPECT_GT(result->times.median_ms, 0);
    auto onnx = read_onnx(folder.path("model.onnx"));
    ASSERT_TRUE(onnx.ok()) << onnx.status().to_string();
    auto program = OnnxProgram::make(std::move(*onnx));
    ASSERT_TRUE(program.ok()) << program.status().to_string();
    const auto input = read_npy(folder.path("input.npy"));
    const auto output = read_npy(folder.path("output.npy"));
    ASSERT_TRUE(input.ok() && output.ok());
    const auto found = program->run({*input});
    ASSERT_TRUE(found.ok()) << found.status().to_string();
    const auto got = (*found)[0].to_vector<float>();
    const auto want = output->to_vector<float>();
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_NEAR(static_cast<double>(got[i]), static_cast<double>(want[i]), 1e-4) << model;
    }
  }
}

TEST(BenchForward, ContinuesTextsBeyondTheContext) {
  const SystemClock clock;
  ForwardBenchOptions options = brief("llama4x128");
  options.cached = true;
  options.duration = from_milliseconds(400);
  const Result<ForwardBenchResult> result = bench_forward(options, clock);
  ASSERT_TRUE(result.ok()) << result.status().to_string();
  EXPECT_GT(result->tokens_per_second, 0);
}

TEST(BenchForward, MeasuresWeightsOf8Bits) {
  const SystemClock clock;
  for (const char* const model : {"mlp", "llama4x128"}) {
    ForwardBenchOptions options = brief(model);
    options.weights = "int8";
    options.cached = options.model != "mlp";
    const Result<ForwardBenchResult> result = bench_forward(options, clock);
    ASSERT_TRUE(result.ok()) << result.status().to_string();
    EXPECT_THAT(to_json(*result), testing::HasSubstr("\"weights\":\"int8\""));
  }
}

TEST(BenchForward, RefusesWhatItCannotMeasure) {
  const SystemClock clock;
  EXPECT_FALSE(bench_forward(brief("no_such_model"), clock).ok());
  EXPECT_FALSE(bench_forward(brief("no/such/file.safetensors"), clock).ok());
  ForwardBenchOptions images = brief("mlp");
  images.cached = true;
  EXPECT_EQ(bench_forward(images, clock).status().code(), Code::kInvalidArgument);
  ForwardBenchOptions weights = brief("mlp");
  weights.weights = "int4";
  EXPECT_EQ(bench_forward(weights, clock).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace weft::bench_forward_test
