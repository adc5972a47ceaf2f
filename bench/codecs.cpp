// Codecs on one thread: bytes and rates for values of a normal distribution.
//
// usage: codecs CODEC...
// Prints a table in Markdown: payload bits for each value, how many times fewer bytes that is than
// in f32, and MB of f32 per second of the thread's processor time, the best of five.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <numbers>
#include <string>
#include <vector>

#include "weft/base/rng.h"
#include "weft/codec/codec.h"

namespace {

constexpr std::size_t kValues = std::size_t{1} << 22U;
constexpr int kTries = 5;

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::vector<float> normal_values() {
  weft::Rng rng(1);
  std::vector<float> values(kValues);
  for (float& value : values) {
    const double radius = std::sqrt(-2 * std::log(1 - rng.uniform()));
    value = static_cast<float>(radius * std::cos(2 * std::numbers::pi * rng.uniform()));
  }
  return values;
}

int measure(const std::string& text, const std::vector<float>& values) {
  const auto codec = weft::Codec::parse(text);
  if (!codec.ok()) {
    std::fprintf(stderr, "%s\n", std::string(codec.status().message()).c_str());
    return 2;
  }
  std::vector<float> out(values.size());
  double encode = 1e9;
  double decode = 1e9;
  weft::Bytes bytes;
  for (int i = 0; i < kTries; ++i) {
    const double begin = thread_seconds();
    bytes = codec->encode(values, 1);
    const double middle = thread_seconds();
    if (!codec->decode(bytes, out).ok()) return 1;
    encode = std::min(encode, middle - begin);
    decode = std::min(decode, thread_seconds() - middle);
  }
  const double bits = 8 * static_cast<double>(bytes.size()) / kValues;
  const double mb = 4e-6 * kValues;
  std::printf("| `%s` | %.3f | %.1f | %.0f | %.0f |\n", text.c_str(), bits, 32 / bits, mb / encode,
              mb / decode);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<float> values = normal_values();
  std::puts("| codec | bits a value | times fewer | encode, MB/s | decode, MB/s |");
  std::puts("|---|---|---|---|---|");
  for (int i = 1; i < argc; ++i) {
    if (const int failed = measure(argv[i], values); failed != 0) return failed;
  }
  return 0;
}
