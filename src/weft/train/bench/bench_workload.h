// BenchWorkload: the models, sizes and batches that `weft bench` measures, and how it times them.
//
// Where it stands: bench_train() and bench_forward() share it; bench/rivals builds the same models.
// Threads: the caller's. Fails: never; make_model() rejects a model that the zoo does not have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "weft/array/array.h"
#include "weft/base/rng.h"
#include "weft/base/time.h"
#include "weft/nn/zoo.h"

namespace weft {

struct BenchWorkload {
  std::string name;
  std::string model;  // of the zoo
  ModelOptions options;
  std::int64_t batch = 64;
  bool adamw = false;  // the optimizer of a training step; otherwise SGD with momentum
};

// Names of the workloads, in the order of their size.
std::vector<std::string> bench_workload_names();
// A name that is not a workload's stands for the model of the zoo with its default sizes.
BenchWorkload bench_workload(const std::string& name);

// Inputs of `rows` samples: i64 tokens [rows, context] below the vocabulary, or normally
// distributed f32 [rows, channels, height, width].
Array draw_model_inputs(ModelInput kind, const ModelOptions& options, std::int64_t rows, Rng& rng);
// i64 values in [0, bound).
void draw_below(Array& values, Rng& rng, std::int64_t bound);

// Times of repeated runs.
struct BenchTimes {
  std::int64_t runs = 0;
  double median_ms = 0;
  double p10_ms = 0;
  double p90_ms = 0;
  double total_ms = 0;
};

struct BenchRuns {
  std::size_t runs_min = 30;
  std::size_t runs_max = 20000;
  Duration duration = {};
};

// Calls run(0), run(1), ... until `duration` has passed, within the bounds, and times each call.
// `added`, if given, is called after each with its times, and is no part of any.
BenchTimes time_runs(
    const BenchRuns& limits, const Clock& clock, const std::function<void(std::size_t index)>& run,
    const std::function<void(const TimePoint& before, const TimePoint& after)>& added = {});

// The most memory that the process has had in RAM; 0 if the system does not report it.
std::int64_t peak_rss_bytes();

}  // namespace weft
