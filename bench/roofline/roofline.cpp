// How near the kernels come to what this processor can do: a table of kernels that compute, each
// with the floating point operations it stands for, those it executes, and their rates as shares of
// the measured peak of fused multiply-adds; and a table of kernels that wait for memory, with their
// rates as shares of a measured triad.
//
// usage: roofline [THREADS] [NAME_PART]
// A Winograd convolution executes fewer operations than the sum that it computes: its rate can
// exceed the peak. Each rate is the best of several repetitions, of the process's time with one
// thread and else by the clock.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "cases.h"
#include "weft/base/machine_peak.h"
#include "weft/base/parallel.h"

namespace {

double percent(double rate, double most) { return most > 0 ? 100 * rate / most : 0.0; }

void print_products(const std::string& name_part, double peak) {
  std::printf("%-48s %9s %9s %11s %8s\n", "", "ms", "GFLOP/s", "executed", "of peak");
  for (const weft::bench::ProductCase& one : weft::bench::product_cases()) {
    if (one.name.find(name_part) == std::string::npos) continue;
    const double time = weft::best_seconds(one.run);
    const double executed = one.executed / time / 1e9;
    std::printf("%-48s %9.3f %9.1f %11.1f %7.0f%%\n", one.name.c_str(), time * 1e3,
                one.flops / time / 1e9, executed, percent(executed, peak));
    std::fflush(stdout);
  }
}

// The triad is measured beside each kernel: other programs use the same memory, and more at one
// time than at another.
void print_memory(const std::string& name_part) {
  std::printf("\n%-48s %9s %9s %11s %8s\n", "", "ms", "GB/s", "triad", "of triad");
  weft::bench::for_each_memory_case(name_part, [](const weft::bench::MemoryCase& one) {
    const double triad = weft::measure_triad_bandwidth() / 1e9;
    const double rate = one.bytes / weft::best_seconds(one.run) / 1e9;
    std::printf("%-48s %9.3f %9.1f %11.1f %7.0f%%\n", one.name.c_str(), one.bytes / rate / 1e6,
                rate, triad, percent(rate, triad));
    std::fflush(stdout);
  });
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::max(1, std::atoi(argv[1])) : 1;
  const std::string part = argc > 2 ? argv[2] : "";
  weft::set_thread_count(threads);
  const double peak = weft::measure_peak_flops() / 1e9;
  std::printf("%d thread%s, peak %.1f GFLOP/s of f32 fused multiply-adds\n", threads,
              threads == 1 ? "" : "s", peak);
  print_products(part, peak);
  print_memory(part);
  return 0;
}
