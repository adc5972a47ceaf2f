// A bounded fuzzer for compilers without libFuzzer: each seed file, then mutations of the seeds.
//
//   NAME_fuzz [--runs N] [--seed S] [--seconds T] [FILE or FOLDER]...
//
// The mutations are a function of (seed, run number) alone, so a failure repeats; the input under
// test is written to fuzz_last_input.bin beside the working folder when the program dies by a
// signal. --seconds ends a slow run early (checked every 64 inputs); it never fails one.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "weft/base/file.h"
#include "weft/base/rng.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace weft {
namespace {

constexpr std::size_t kInputBytesMax = 1U << 16U;

struct Flags {
  std::uint64_t runs = 20000;
  std::uint64_t seed = 1;
  double seconds = 60;
  std::vector<std::string> paths;
};

// What a crash handler needs to save the input at hand.
const Bytes* input_at_hand = nullptr;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

void save_input(int signal_number) {
  if (input_at_hand != nullptr) {
    if (std::FILE* file = std::fopen("fuzz_last_input.bin", "wb"); file != nullptr) {
      std::fwrite(input_at_hand->data(), 1, input_at_hand->size(), file);
      std::fclose(file);
    }
  }
  std::signal(signal_number, SIG_DFL);
  std::raise(signal_number);
}

Flags parse_flags(int argc, char** argv) {
  Flags flags;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    const bool has_value = i + 1 < argc;
    if (flag == "--runs" && has_value) {
      flags.runs = std::strtoull(argv[++i], nullptr, 10);
    } else if (flag == "--seed" && has_value) {
      flags.seed = std::strtoull(argv[++i], nullptr, 10);
    } else if (flag == "--seconds" && has_value) {
      flags.seconds = std::strtod(argv[++i], nullptr);
    } else {
      flags.paths.push_back(flag);
    }
  }
  return flags;
}

// The seed files in order of their names; the empty input is always a seed.
std::vector<Bytes> load_seeds(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    if (std::filesystem::is_directory(path)) {
      for (const auto& entry : std::filesystem::directory_iterator(path)) {
        files.push_back(entry.path().string());
      }
    } else {
      files.push_back(path);
    }
  }
  std::sort(files.begin(), files.end());
  std::vector<Bytes> seeds{Bytes()};
  for (const std::string& file : files) {
    Result<Bytes> bytes = read_file(file, kInputBytesMax);
    if (bytes.ok()) seeds.push_back(std::move(*bytes));
  }
  return seeds;
}

// Values at which length and count fields tend to break.
constexpr std::uint8_t kEdgeBytes[] = {0x00, 0x01, 0x7F, 0x80, 0xFE, 0xFF, '{', '}', '"', '-'};

std::size_t position(Rng& rng, std::size_t size) {
  return static_cast<std::size_t>(rng.below(size));
}

void flip_or_set(Bytes& input, Rng& rng) {
  std::uint8_t& byte = input[position(rng, input.size())];
  switch (rng.below(3)) {
    case 0:
      byte = static_cast<std::uint8_t>(byte ^ (1U << rng.below(8)));
      break;
    case 1:
      byte = kEdgeBytes[rng.below(std::size(kEdgeBytes))];
      break;
    default:
      byte = static_cast<std::uint8_t>(rng.next_u32());
  }
}

// Overwrites 2, 4 or 8 bytes with all ones, zero or a small number in either byte order.
void set_word(Bytes& input, Rng& rng) {
  const std::size_t width = std::size_t{2} << rng.below(3);
  if (input.size() < width) return;
  const std::size_t at = position(rng, input.size() - width + 1);
  const auto fill = static_cast<std::uint8_t>(rng.chance(0.5) ? 0xFF : 0x00);
  std::fill_n(input.begin() + static_cast<std::ptrdiff_t>(at), width, fill);
  input[at + (rng.chance(0.5) ? 0 : width - 1)] = static_cast<std::uint8_t>(rng.next_u32());
}

void cut_or_repeat(Bytes& input, Rng& rng) {
  const std::size_t begin = position(rng, input.size());
  const std::size_t length = 1 + position(rng, std::min<std::size_t>(input.size() - begin, 64));
  const auto from = input.begin() + static_cast<std::ptrdiff_t>(begin);
  const auto to = from + static_cast<std::ptrdiff_t>(length);
  if (rng.chance(0.5)) {
    input.erase(from, to);
  } else {
    const Bytes piece(from, to);
    const std::size_t at = position(rng, input.size() + 1);
    input.insert(input.begin() + static_cast<std::ptrdiff_t>(at), piece.begin(), piece.end());
  }
}

// The tail of another seed after a head of this one.
void splice(Bytes& input, const Bytes& other, Rng& rng) {
  if (other.empty()) return;
  input.resize(position(rng, input.size() + 1));
  const std::size_t from = position(rng, other.size());
  input.insert(input.end(), other.begin() + static_cast<std::ptrdiff_t>(from), other.end());
}

Bytes mutate(const std::vector<Bytes>& seeds, Rng& rng) {
  Bytes input = seeds[position(rng, seeds.size())];
  const std::uint64_t changes = 1 + rng.below(6);
  for (std::uint64_t change = 0; change < changes; ++change) {
    if (input.empty()) {
      input.push_back(static_cast<std::uint8_t>(rng.next_u32()));
      continue;
    }
    switch (rng.below(8)) {
      case 0:
        input.resize(position(rng, input.size()));
        break;
      case 1:
        cut_or_repeat(input, rng);
        break;
      case 2:
        splice(input, seeds[position(rng, seeds.size())], rng);
        break;
      case 3:
      case 4:
        set_word(input, rng);
        break;
      default:
        flip_or_set(input, rng);
    }
  }
  if (input.size() > kInputBytesMax) input.resize(kInputBytesMax);
  return input;
}

// A copy of exactly the input's size, so that AddressSanitizer sees a read past its end.
void run_one(const Bytes& input) {
  input_at_hand = &input;
  Bytes exact(input);
  exact.shrink_to_fit();
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
  input_at_hand = nullptr;
}

int run(const Flags& flags) {
  for (const int signal_number : {SIGABRT, SIGSEGV, SIGFPE, SIGILL, SIGBUS}) {
    std::signal(signal_number, save_input);
  }
  const std::vector<Bytes> seeds = load_seeds(flags.paths);
  for (const Bytes& seed : seeds) run_one(seed);
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(flags.seconds);
  std::uint64_t done = 0;
  while (done < flags.runs) {
    if (done % 64 == 0 && std::chrono::steady_clock::now() >= end) break;
    Rng rng(flags.seed, done);
    run_one(mutate(seeds, rng));
    ++done;
  }
  std::printf("%zu seeds and %llu mutations, seed %llu: none broke it\n", seeds.size(),
              static_cast<unsigned long long>(done), static_cast<unsigned long long>(flags.seed));
  return 0;
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) { return weft::run(weft::parse_flags(argc, argv)); }
