// Matrix products of layers beside oneDNN's, in turn, so that whatever else the machine does meets
// both alike.
//
// usage: products [THREADS] [ROUNDS]
// Prints a table in Markdown: the rate of each side's fastest tenth, also as a share of the
// measured peak, and the median of oneDNN's time by ours of the same round. Rounds begin with
// either side in turn.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <dnnl.h>

#include "weft/base/machine_peak.h"
#include "weft/base/parallel.h"
#include "weft/kernel/gemm/matmul.h"

namespace {

using weft::Array;

struct Product {
  const char* name;
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  weft::MatmulOptions options;
};

constexpr weft::MatmulOptions kForward{.transpose_b = true};
constexpr weft::MatmulOptions kWeightGradient{.transpose_a = true};

const Product kProducts[] = {
    {"x weight^T", 2048, 1152, 384, kForward},
    {"x weight^T", 2048, 384, 1536, kForward},
    {"dy weight", 2048, 384, 1152, {}},
    {"dy^T x", 1536, 384, 2048, kWeightGradient},
    {"x weight^T", 2048, 384, 128, kForward},
    {"dy^T x", 384, 128, 2048, kWeightGradient},
    {"x weight^T", 32, 1024, 256, kForward},
    {"x weight^T", 16, 1536, 384, kForward},
    {"a b", 1024, 1024, 1024, {}},
};

Array values(std::int64_t rows, std::int64_t columns) {
  Array array = Array::empty({rows, columns});
  std::int64_t i = 0;
  for (float& value : array.flat<float>()) value = static_cast<float>(++i % 17 - 8) / 8.0F;
  return array;
}

double seconds_of(const std::function<void()>& run) {
  const auto begin = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// The value below which `share` of all lie.
double quantile(std::vector<double> values, double share) {
  const auto place =
      values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size()));
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

void compare(const Product& p, int rounds, double peak) {
  const bool ta = p.options.transpose_a;
  const bool tb = p.options.transpose_b;
  const Array a = ta ? values(p.k, p.m) : values(p.m, p.k);
  const Array b = tb ? values(p.n, p.k) : values(p.k, p.n);
  Array c = Array::empty({p.m, p.n});
  const std::function<void()> ours = [&] { weft::matmul(a, b, c, p.options); };
  const std::function<void()> onednn = [&] {
    dnnl_sgemm(ta ? 'T' : 'N', tb ? 'T' : 'N', p.m, p.n, p.k, 1.0F, a.data<float>(), ta ? p.m : p.k,
               b.data<float>(), tb ? p.k : p.n, 0.0F, c.flat<float>().data(), p.n);
  };
  ours();
  onednn();
  std::vector<double> our_times;
  std::vector<double> their_times;
  std::vector<double> ratios;
  for (int round = 0; round < rounds; ++round) {
    const bool first = round % 2 == 0;
    const double one = seconds_of(first ? ours : onednn);
    const double other = seconds_of(first ? onednn : ours);
    our_times.push_back(first ? one : other);
    their_times.push_back(first ? other : one);
    ratios.push_back(their_times.back() / our_times.back());
  }
  const double flops = 2.0 * static_cast<double>(p.m * p.n * p.k);
  const double our_rate = flops / quantile(our_times, 0.1);
  const double their_rate = flops / quantile(their_times, 0.1);
  std::printf("| %s %lldx%lldx%lld | %.1f | %.0f %% | %.1f | %.0f %% | %.2f |\n", p.name,
              static_cast<long long>(p.m), static_cast<long long>(p.n), static_cast<long long>(p.k),
              our_rate / 1e9, 100 * our_rate / peak, their_rate / 1e9, 100 * their_rate / peak,
              quantile(ratios, 0.5));
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::max(1, std::atoi(argv[1])) : 1;
  const int rounds = argc > 2 ? std::max(1, std::atoi(argv[2])) : 101;
  weft::set_thread_count(threads);
  const double peak = weft::measure_peak_flops();
  std::printf("%d thread%s, peak %.1f GFLOP/s of f32 fused multiply-adds, %d rounds\n\n", threads,
              threads == 1 ? "" : "s", peak / 1e9, rounds);
  std::printf(
      "| product | Weft GFLOP/s | of peak | oneDNN GFLOP/s | of peak | oneDNN's time by Weft's "
      "|\n");
  std::printf("|---|---|---|---|---|---|\n");
  for (const Product& product : kProducts) compare(product, rounds, peak);
  return 0;
}
