#include "weft/base/machine_peak.h"

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <memory>
#include <vector>

#include "weft/base/core/peak_loops.h"
#include "weft/base/parallel.h"
#include "weft/base/time.h"

namespace weft {
namespace {

double now_seconds() {
#if defined(__unix__)
  timespec time{};
  if (thread_count() == 1 && clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0) {
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }
#endif
  return to_seconds(SystemClock().now().time_since_epoch());
}

constexpr std::int64_t kPeakRounds = 2'000'000;

constexpr std::int64_t kTriadElements = std::int64_t{1} << 24U;
constexpr std::int64_t kTriadGrain = std::int64_t{1} << 16U;

// Begins at a line of the cache, so that no access needs two.
class TriadArray {
 public:
  explicit TriadArray(float value) : values_(kTriadElements + kLine, value) {
    void* at = values_.data();
    std::size_t room = values_.size() * sizeof(float);
    data_ = static_cast<float*>(std::align(kLine * sizeof(float), kTriadElements, at, room));
  }
  TriadArray(const TriadArray&) = delete;
  TriadArray& operator=(const TriadArray&) = delete;
  float* data() { return data_; }

 private:
  static constexpr std::size_t kLine = 16;
  std::vector<float> values_;
  float* data_;
};

}  // namespace

double best_seconds(const std::function<void()>& run, double duration_s) {
  run();
  double best = 1e30;
  const double start = now_seconds();
  for (int i = 0; i < 3 || now_seconds() - start < duration_s; ++i) {
    const double before = now_seconds();
    run();
    best = std::min(best, now_seconds() - before);
  }
  return best;
}

double measure_peak_flops() {
  const PeakLoops& loops = peak_loops();
  const int threads = thread_count();
  std::vector<float> values(static_cast<std::size_t>(threads), 2.0F);
  const double seconds = best_seconds([&] {
    parallel_for(threads, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        float& value = values[static_cast<std::size_t>(i)];
        value = loops.multiply_adds(value, kPeakRounds);
      }
    });
  });
  return static_cast<double>(loops.flops_a_round * kPeakRounds * threads) / seconds;
}

double measure_triad_bandwidth() {
  const PeakLoops& loops = peak_loops();
  TriadArray a(0.0F);
  TriadArray b(1.0F);
  TriadArray c(2.0F);
  const double seconds = best_seconds([&] {
    parallel_for(kTriadElements, kTriadGrain, [&](std::int64_t begin, std::int64_t end) {
      loops.triad(a.data() + begin, b.data() + begin, c.data() + begin, end - begin);
    });
  });
  return 3.0 * sizeof(float) * static_cast<double>(kTriadElements) / seconds;
}

}  // namespace weft
