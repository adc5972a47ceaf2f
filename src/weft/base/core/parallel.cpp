#include "weft/base/parallel.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include <omp.h>

namespace weft {
namespace {

int configured_threads = 1;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

}  // namespace

void set_thread_count(int count) {
  if (count < 1) {
    throw std::invalid_argument("[set_thread_count] expected at least 1 thread, got " +
                                std::to_string(count));
  }
#ifdef WEFT_TSAN
  count = 1;  // libgomp is not built for ThreadSanitizer: its barriers look like races
#endif
  configured_threads = count;
  omp_set_dynamic(0);
  omp_set_num_threads(count);
}

int thread_count() { return configured_threads; }

namespace internal {

void parallel_ranges(std::int64_t size, std::int64_t grain, RangeBody call, void* body) {
  if (size <= 0) return;
  const std::int64_t parts =
      std::clamp<std::int64_t>(size / std::max<std::int64_t>(grain, 1), 1, configured_threads);
  if (parts == 1) {
    call(body, 0, size);
    return;
  }
#pragma omp parallel for num_threads(static_cast <int>(parts)) schedule(static, 1)
  for (std::int64_t part = 0; part < parts; ++part) {
    call(body, size * part / parts, size * (part + 1) / parts);
  }
}

void parallel_team(std::int64_t threads, TeamBody call, void* body) {
  const std::int64_t parts = std::clamp<std::int64_t>(threads, 1, configured_threads);
  if (parts == 1) {
    call(body, 0, 1);
    return;
  }
#pragma omp parallel num_threads(static_cast <int>(parts))
  call(body, omp_get_thread_num(), omp_get_num_threads());
}

}  // namespace internal

void team_barrier() {
#pragma omp barrier
}

}  // namespace weft
