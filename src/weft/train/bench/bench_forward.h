// bench_forward(): measures forward passes as `weft predict` and `weft serve` compute them.
//
// Behind `weft bench forward`. A pass is LoadedModel::compute() of a batch of prepared inputs or,
// with cached keys and values, one more token of each text, as TextGenerator (serve) computes it.
// With a folder it writes the model as ONNX, one batch of inputs and its outputs, so that another
// runtime can be measured and compared on the same values (bench/rivals/forward.py).
// Threads: the caller's and the compute threads, whose number it sets.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/train/bench/bench_profile.h"
#include "weft/train/bench/bench_workload.h"

namespace weft {

struct ForwardBenchOptions {
  // A workload, any model of the zoo with its default sizes, or the path of a checkpoint.
  std::string model = "cnn";
  std::int64_t batch = 0;  // samples or texts; 0: the workload's
  int threads = 1;
  // Texts are continued by one token per run; what earlier tokens left is in the cache.
  bool cached = false;
  std::string weights = "f32";  // their type in products: f32 or int8
  // Gets model.onnx, input.npy and output.npy; empty: nothing is written.
  std::string folder;
  // After a few runs that do not count. At least 10 runs are timed.
  Duration duration = from_milliseconds(5000);
  BenchProfileOptions profile;  // of these runs
};

struct ForwardBenchResult {
  std::string model;
  std::int64_t batch = 0;
  int threads = 0;
  std::string weights;
  BenchTimes times = {};  // of one pass
  // With a cache: over all runs, from one token to the whole context; otherwise 0.
  double tokens_per_second = 0;
  std::int64_t parameters = 0;
  std::int64_t peak_rss_bytes = 0;
  // If it was asked for.
  std::optional<ProfileReport> profile = {};
};

// Fails: kInvalidArgument for an unknown model or type of weights, a negative batch, no threads, a
// cache with a model that is not of text, or a folder with a cache or with a model of values; as
// load_model() for a path; kUnavailable if the folder cannot be written; as BenchProfile for a
// trace.
Result<ForwardBenchResult> bench_forward(const ForwardBenchOptions& options, const Clock& clock);

// One JSON object in one line.
std::string to_json(const ForwardBenchResult& result);

}  // namespace weft
