// ServeMetrics: what the server counts, and its text for Prometheus (exposition format 0.0.4).
//
// Threads: one owner.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace weft {

// How many values were at most each bound, as Prometheus counts them.
template <std::size_t Bounds>
struct Histogram {
  std::array<double, Bounds> bounds;
  std::array<std::uint64_t, Bounds> counts = {};  // each of its own range
  std::uint64_t count = 0;
  double sum = 0;

  void add(double value) {
    ++count;
    sum += value;
    for (std::size_t i = 0; i < Bounds; ++i) {
      if (value > bounds[i]) continue;
      ++counts[i];
      return;
    }
  }
};

// The present values.
struct ServeGauges {
  std::size_t connections = 0;
  std::size_t jobs_waiting = 0;
  double uptime_s = 0;
};

class ServeMetrics {
 public:
  // `route` is one of ours, never a client's text.
  void count_request(std::string_view route, int status, double seconds);
  void count_batch(std::int64_t rows) { batch_rows_.add(static_cast<double>(rows)); }
  void count_rows(std::int64_t rows) { rows_ += static_cast<std::uint64_t>(rows); }
  void count_token() { ++tokens_; }
  void count_connection() { ++connections_; }

  std::string text(const ServeGauges& gauges) const;

 private:
  std::map<std::pair<std::string, int>, std::uint64_t, std::less<>> requests_;
  Histogram<12> seconds_{{0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5, 30}};
  Histogram<9> batch_rows_{{1, 2, 4, 8, 16, 32, 64, 128, 256}};
  std::uint64_t rows_ = 0;
  std::uint64_t tokens_ = 0;
  std::uint64_t connections_ = 0;
};

}  // namespace weft
