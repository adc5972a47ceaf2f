// bench_all_reduce(): measures the all-reduce of one f32 vector among processes on this machine, or
// among processes that find each other in a folder.
//
// It implements `weft bench allreduce`. Each peer is a process with its own transport and loop, as
// in training; a repetition lasts from the signal of rank 0 until the slowest member holds the
// result, and the first result is checked against its closed form.
// Threads: the caller's; it must be the process's only one, as the other peers are forked from it.
// Fails: kInvalidArgument for options out of bounds, kTimeout or kUnavailable if a peer is lost.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/collective/reduce/swarm_defaults.h"

namespace weft {

struct AllReduceBenchOptions {
  int peers = 4;
  // Size of the vector; a multiple of 4.
  std::int64_t bytes = 64'000'000;
  // "tls", "tls+shm" (peers of one machine by memory, as in training), "tcp" or "shm".
  std::string transport = "tls";
  // Measured repetitions, after two others. 0: as many as take a few seconds.
  int repetitions = 0;
  std::int64_t segment_bytes = swarm_defaults::kSegmentBytes;
  // See collective.h.
  std::string wire = "f32";
  std::string algorithm = "auto";
  // By rank, a number for the host: the ranks of a host sum among themselves first.
  std::vector<int> hosts;

  // Set: run this rank only, here; the others are started elsewhere with the same options and meet
  // this one in `meeting_folder`, which was empty before.
  std::optional<int> rank;
  std::string meeting_folder;
  // Where a rank listens (tls, tcp).
  std::string listen = "127.0.0.1:0";
  // Limit of the whole benchmark.
  Duration limit = std::chrono::seconds(300);
};

struct AllReduceBenchResult {
  int peers = 0;
  std::int64_t bytes = 0;
  std::string transport;
  std::string wire;
  std::string algorithm;
  int repetitions = 0;
  double median_seconds = 0;
  double min_seconds = 0;
  // 2 (n-1)/n bytes / median: what each link must carry as f32 with any algorithm.
  double bus_bandwidth_gb_per_s = 0;
};

Result<AllReduceBenchResult> bench_all_reduce(const AllReduceBenchOptions& options);

// One JSON object in one line.
std::string to_json(const AllReduceBenchResult& result);

}  // namespace weft
