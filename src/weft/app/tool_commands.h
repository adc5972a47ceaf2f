// The other commands: eval, bench, data, version and the lists for the documentation.
//
// Threads: the main thread. Fails: the reason goes to standard error, the code is exit_code.h's.
#pragma once

#include <cstdint>
#include <string>

#include "weft/app/terminal/environment.h"
#include "weft/app/terminal/exit_code.h"
#include "weft/collective/engine/bench_all_reduce.h"
#include "weft/train/bench/bench_profile.h"

namespace weft {

struct EvalRequest {
  std::string checkpoint;
  DataChoice data;
  int threads = 1;
  std::string weights = "f32";
  bool json = false;
};
ExitCode eval_command(const EvalRequest& request);

struct BenchTrainRequest {
  std::string model = "cnn";
  std::int64_t batch = 0;
  int threads = 1;
  double seconds = 5.0;
  bool checkpoint_blocks = false;
  std::string precision = "f32";
  bool eager = false;
  BenchProfileOptions profile;
  bool json = false;
};
ExitCode bench_train_command(const BenchTrainRequest& request);

struct BenchForwardRequest {
  std::string model = "cnn";
  std::int64_t batch = 0;
  int threads = 1;
  double seconds = 5.0;
  bool cached = false;
  std::string weights = "f32";
  std::string write;  // folder
  BenchProfileOptions profile;
  bool json = false;
};
ExitCode bench_forward_command(const BenchForwardRequest& request);

struct BenchAllReduceRequest {
  AllReduceBenchOptions options;
  bool json = false;
};
ExitCode bench_all_reduce_command(const BenchAllReduceRequest& request);

// A command that lists something.
struct ListRequest {
  std::string dataset;  // of data get and data check
  bool json = false;
};
ExitCode data_list_command(const ListRequest& request);
ExitCode data_get_command(const ListRequest& request);
ExitCode data_check_command(const ListRequest& request);

// "weft 1.2.3".
std::string version_text();
ExitCode version_command(const ListRequest& request);
// The methods of every family, or those of one key or name.
struct MethodsRequest {
  std::string name;  // empty: all
  bool json = false;
};
ExitCode methods_command(const MethodsRequest& request);
// Every recipe key, and every kind of event, as Markdown or JSON.
ExitCode recipe_keys_command(const ListRequest& request);
ExitCode events_command(const ListRequest& request);

}  // namespace weft
