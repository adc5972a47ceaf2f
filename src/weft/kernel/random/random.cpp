// Values are made in chunks that start at whole groups of words, so that threads may split them
// anywhere.
#include "weft/kernel/random/random.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "weft/array/dtype/half_rows.h"
#include "weft/array/launch.h"
#include "weft/base/check.h"
#include "weft/base/parallel.h"
#include "weft/kernel/core/rows.h"

namespace weft {
namespace {

// Words that come together: 16 blocks of 4.
constexpr std::int64_t kGroup = 64;
// Words made at a time; a multiple of kGroup.
constexpr std::int64_t kChunk = 1024;
constexpr std::uint64_t kDomain = std::uint64_t{0x72616e64} << 32U;  // apart from dropout

std::uint64_t bits_of(std::int64_t value) { return static_cast<std::uint64_t>(value); }

// Where a fill stands in the stream.
struct Stream {
  RandomStream words;
  std::uint64_t offset;
};

// The stream from `state` on, which moves behind `count` words.
Stream take(Array& state, std::int64_t count) {
  std::int64_t* const values = state.data<std::int64_t>();
  const std::uint64_t seed = bits_of(values[0]);
  const std::uint64_t offset = bits_of(values[1]);
  const std::int64_t groups = (count + kGroup - 1) / kGroup;
  values[1] = static_cast<std::int64_t>(offset + bits_of(groups * (kGroup / 4)));
  return {{kDomain, {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32U)}},
          offset};
}

// Calls body(first value, count, words) for chunks of values that need `words_each` words.
template <class Body>
void each_chunk(const Stream& stream, std::int64_t size, std::int64_t words_each,
                const Body& body) {
  const std::int64_t values = kChunk / words_each;
  parallel_for((size + values - 1) / values, 8, [&](std::int64_t begin, std::int64_t end) {
    std::array<std::uint32_t, kChunk> words;
    for (std::int64_t chunk = begin; chunk < end; ++chunk) {
      const std::int64_t first = chunk * values;
      const std::int64_t count = std::min(values, size - first);
      const std::int64_t needed = (count * words_each + kGroup - 1) / kGroup * kGroup;
      row_kernels().random_words(stream.words, stream.offset + bits_of(chunk * (kChunk / 4)),
                                 words.data(), needed);
      body(first, count, words.data());
    }
  });
}

std::uint64_t word_pair(const std::uint32_t* words, std::int64_t i) {
  return (std::uint64_t{words[2 * i]} << 32U) | words[2 * i + 1];
}

double to_unit_double(std::uint64_t word) {
  return static_cast<double>(word >> 11U) * (1.0 / 9007199254740992.0);
}

// `bits` of a word in [0, 1), exact in the type.
template <class T>
T to_unit(std::uint32_t word) {
  constexpr unsigned kBits = std::is_same_v<T, float> ? 24 : std::is_same_v<T, BFloat16> ? 8 : 11;
  const auto whole = static_cast<std::int32_t>(word >> (32U - kBits));
  return static_cast<T>(static_cast<float>(whole) *
                        (1.0F / static_cast<float>(std::uint32_t{1} << kBits)));
}

void check_fill(const char* name, const Array& out, bool type_fits) {
  WEFT_CHECK(out.is_contiguous());
  if (type_fits) return;
  throw std::invalid_argument(std::string("[") + name +
                              "] expected a type that the values have, got " +
                              std::string(to_string(out.dtype())));
}

void uniform_values(const Stream& stream, Array& out) {
  with_floating_dtype(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* const to = out.data<T>();
    constexpr std::int64_t kWords = std::is_same_v<T, double> ? 2 : 1;
    each_chunk(stream, out.size(), kWords,
               [&](std::int64_t first, std::int64_t count, const std::uint32_t* words) {
                 for (std::int64_t i = 0; i < count; ++i) {
                   if constexpr (std::is_same_v<T, double>) {
                     to[first + i] = to_unit_double(word_pair(words, i));
                   } else {
                     to[first + i] = to_unit<T>(words[i]);
                   }
                 }
               });
  });
}

void normal_doubles(const Stream& stream, Array& out) {
  double* const to = out.data<double>();
  each_chunk(stream, out.size(), 4,
             [&](std::int64_t first, std::int64_t count, const std::uint32_t* words) {
               for (std::int64_t i = 0; i < count; ++i) {
                 const double u = 1.0 - to_unit_double(word_pair(words, 2 * i));
                 const double angle = to_unit_double(word_pair(words, 2 * i + 1));
                 to[first + i] =
                     std::sqrt(-2.0 * std::log(u)) * std::cos(6.283185307179586 * angle);
               }
             });
}

void normal_values(const Stream& stream, Array& out) {
  with_floating_dtype(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, double>) {
      normal_doubles(stream, out);
    } else {
      T* const to = out.data<T>();
      each_chunk(stream, out.size(), 1,
                 [&](std::int64_t first, std::int64_t count, const std::uint32_t* words) {
                   std::array<float, kChunk> values;
                   const std::int64_t whole = (count + kGroup - 1) / kGroup * kGroup;
                   row_kernels().normal(words, values.data(), whole);
                   if constexpr (std::is_same_v<T, float>) {
                     std::copy_n(values.data(), count, to + first);
                   } else {
                     from_f32_row(values.data(), to + first, count);
                   }
                 });
    }
  });
}

// value(word) for each element, as 0 or 1 of the type of `out`.
template <class Test>
void bernoulli_values(const Stream& stream, Array& out, const Test& test) {
  with_dtype(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* const to = out.data<T>();
    each_chunk(stream, out.size(), 1,
               [&](std::int64_t first, std::int64_t count, const std::uint32_t* words) {
                 for (std::int64_t i = 0; i < count; ++i) {
                   to[first + i] = convert_value<T>(test(first + i, words[i]));
                 }
               });
  });
}

// From [0, 2^32]: a word below it is a hit.
std::uint64_t bernoulli_threshold(double probability) {
  return static_cast<std::uint64_t>(std::floor(probability * 4294967296.0 + 0.5));
}

void permutation_values(const Stream& stream, Array& out) {
  std::vector<std::uint64_t> keys(static_cast<std::size_t>(out.size()));
  each_chunk(stream, out.size(), 2,
             [&](std::int64_t first, std::int64_t count, const std::uint32_t* words) {
               for (std::int64_t i = 0; i < count; ++i) {
                 keys[static_cast<std::size_t>(first + i)] = word_pair(words, i);
               }
             });
  const std::span<std::int64_t> order = out.flat<std::int64_t>();
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::sort(order.begin(), order.end(), [&keys](std::int64_t a, std::int64_t b) {
    const std::uint64_t key_a = keys[static_cast<std::size_t>(a)];
    const std::uint64_t key_b = keys[static_cast<std::size_t>(b)];
    return key_a != key_b ? key_a < key_b : a < b;
  });
}

}  // namespace

Generator::Generator(std::uint64_t seed, std::uint64_t offset)
    : state_(Array::empty({2}, DType::kI64)) {
  set(seed, offset);
}

void Generator::set(std::uint64_t seed, std::uint64_t offset) {
  launch_host_read("Generator::set");
  state_.data<std::int64_t>()[0] = static_cast<std::int64_t>(seed);
  // Groups of blocks start at multiples of their size.
  state_.data<std::int64_t>()[1] = static_cast<std::int64_t>((offset + 15) / 16 * 16);
}

std::uint64_t Generator::seed() const { return bits_of(state_.data<std::int64_t>()[0]); }

std::uint64_t Generator::offset() const {
  launch_host_read("Generator::offset");
  return bits_of(state_.data<std::int64_t>()[1]);
}

void fill_uniform(Array& out, Generator& generator) {
  check_fill("rand", out, is_floating(out.dtype()));
  Array& state = generator.state();
  launch("rand", {&state}, {&out, &state}, [](LaunchArrays, LaunchArrays outputs) {
    const std::int64_t words = outputs[0].dtype() == DType::kF64 ? 2 : 1;
    uniform_values(take(outputs[1], words * outputs[0].size()), outputs[0]);
  });
}

void fill_normal(Array& out, Generator& generator) {
  check_fill("randn", out, is_floating(out.dtype()));
  Array& state = generator.state();
  launch("randn", {&state}, {&out, &state}, [](LaunchArrays, LaunchArrays outputs) {
    const std::int64_t words = outputs[0].dtype() == DType::kF64 ? 4 : 1;
    normal_values(take(outputs[1], words * outputs[0].size()), outputs[0]);
  });
}

void fill_integers(Array& out, std::int64_t low, std::int64_t high, Generator& generator) {
  WEFT_CHECK(low < high);
  check_fill("randint", out, out.dtype() != DType::kBool);
  Array& state = generator.state();
  launch("randint", {&state}, {&out, &state}, [low, high](LaunchArrays, LaunchArrays outputs) {
    __extension__ using Wide = unsigned __int128;
    const Stream stream = take(outputs[1], 2 * outputs[0].size());
    const std::uint64_t range = bits_of(high) - bits_of(low);
    with_dtype(outputs[0].dtype(), [&](auto zero) {
      using T = decltype(zero);
      T* const to = outputs[0].data<T>();
      each_chunk(stream, outputs[0].size(), 2,
                 [&](std::int64_t first, std::int64_t count, const std::uint32_t* words) {
                   for (std::int64_t i = 0; i < count; ++i) {
                     const Wide product = Wide{word_pair(words, i)} * range;
                     const auto above = static_cast<std::uint64_t>(product >> 64U);
                     to[first + i] =
                         convert_value<T>(static_cast<std::int64_t>(bits_of(low) + above));
                   }
                 });
    });
  });
}

void fill_bernoulli(Array& out, double probability, Generator& generator) {
  check_fill("bernoulli", out, true);
  Array& state = generator.state();
  const std::uint64_t threshold = bernoulli_threshold(probability);
  launch("bernoulli", {&state}, {&out, &state}, [threshold](LaunchArrays, LaunchArrays outputs) {
    const Stream stream = take(outputs[1], outputs[0].size());
    bernoulli_values(stream, outputs[0],
                     [threshold](std::int64_t, std::uint32_t word) { return word < threshold; });
  });
}

void fill_bernoulli(Array& out, const Array& probabilities, Generator& generator) {
  check_fill("bernoulli", out, is_floating(probabilities.dtype()));
  WEFT_CHECK(probabilities.shape() == out.shape());
  const Array source = probabilities.strided();
  Array& state = generator.state();
  launch("bernoulli", {&source, &state}, {&out, &state}, [](LaunchArrays in, LaunchArrays outputs) {
    const Stream stream = take(outputs[1], outputs[0].size());
    const Array wide = in[0].to(DType::kF64).contiguous();
    const double* const p = wide.data<double>();
    bernoulli_values(stream, outputs[0], [p](std::int64_t i, std::uint32_t word) {
      return static_cast<double>(word) < p[i] * 4294967296.0;
    });
  });
}

void fill_permutation(Array& out, Generator& generator) {
  check_fill("randperm", out, out.dtype() == DType::kI64 && out.ndim() == 1);
  Array& state = generator.state();
  launch("randperm", {&state}, {&out, &state}, [](LaunchArrays, LaunchArrays outputs) {
    permutation_values(take(outputs[1], 2 * outputs[0].size()), outputs[0]);
  });
}

}  // namespace weft
