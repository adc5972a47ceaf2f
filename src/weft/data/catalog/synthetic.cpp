#include "weft/data/synthetic.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "weft/base/rng.h"

namespace weft {
namespace {

constexpr double kSigma = 40.0;
constexpr double kMiddleGrey = 127.5;
constexpr std::int64_t kBytesMax = std::int64_t{1} << 30U;
constexpr std::int64_t kStatesMax = 65536;

enum class SyntheticStream : std::uint64_t { kChain = 11, kTrain = 12, kTest = 13 };

Rng split_rng(std::uint64_t seed, Split split) {
  return Rng(seed, static_cast<std::uint64_t>(split == Split::kTrain ? SyntheticStream::kTrain
                                                                     : SyntheticStream::kTest));
}

// The pairs of frequencies (u, v) >= (1, 1), low ones first, one a class.
std::vector<std::pair<int, int>> frequencies(std::int64_t classes) {
  std::vector<std::pair<int, int>> all;
  for (int sum = 2; static_cast<std::int64_t>(all.size()) < classes; ++sum) {
    for (int u = 1; u < sum && static_cast<std::int64_t>(all.size()) < classes; ++u) {
      all.emplace_back(u, sum - u);
    }
  }
  return all;
}

// [classes, channels, height, width], each of length separation * sigma.
std::vector<double> make_gaussian_patterns(const GaussianImageOptions& options) {
  std::vector<double> patterns;
  for (const auto& [u, v] : frequencies(options.classes)) {
    const std::size_t begin = patterns.size();
    double squares = 0;
    for (std::int64_t c = 0; c < options.channels; ++c) {
      for (std::int64_t y = 0; y < options.height; ++y) {
        for (std::int64_t x = 0; x < options.width; ++x) {
          const auto wave = [](std::int64_t at, int frequency, std::int64_t length) {
            return std::cos(std::numbers::pi * (static_cast<double>(at) + 0.5) * frequency /
                            static_cast<double>(length));
          };
          patterns.push_back(wave(y, u, options.height) * wave(x, v, options.width));
          squares += patterns.back() * patterns.back();
        }
      }
    }
    const double scale = options.separation * kSigma / std::sqrt(squares);
    for (std::size_t i = begin; i < patterns.size(); ++i) patterns[i] *= scale;
  }
  return patterns;
}

Status check_gaussian(const GaussianImageOptions& options) {
  const auto side_fits = [](std::int64_t side) { return side >= 16 && side <= 1024; };
  const bool good = (options.channels == 1 || options.channels == 3) && side_fits(options.height) &&
                    side_fits(options.width) && options.size >= 1 && options.classes >= 2 &&
                    options.classes <= 64 && options.separation > 0 && options.separation <= 16 &&
                    options.label_noise >= 0 && options.label_noise <= 1;
  if (!good) {
    return invalid_argument(
        "Gaussian images: expected 1 or 3 channels, sides of 16 to 1024, 2 to 64 classes, a "
        "separation in (0, 16] and a label noise in [0, 1], got others");
  }
  if (options.size > kBytesMax / options.channels / options.height / options.width) {
    return invalid_argument(
        fmt::format("Gaussian images: expected at most {} bytes, got more", kBytesMax));
  }
  return {};
}

double normal_density(double z) { return std::exp(-0.5 * z * z) / std::sqrt(2 * std::numbers::pi); }

double normal_below(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

// p(t | s), [states, vocabulary].
std::vector<double> make_chain(const MarkovOptions& options, std::int64_t states) {
  Rng rng(options.seed, static_cast<std::uint64_t>(SyntheticStream::kChain));
  std::vector<double> chain(static_cast<std::size_t>(states * options.vocabulary));
  const auto width = static_cast<std::size_t>(options.vocabulary);
  for (std::size_t row = 0; row < chain.size(); row += width) {
    double sum = 0;
    for (std::size_t t = 0; t < width; ++t) {
      chain[row + t] = std::exp(options.sharpness * rng.uniform());
      sum += chain[row + t];
    }
    for (std::size_t t = 0; t < width; ++t) chain[row + t] /= sum;
  }
  return chain;
}

// The state after token `next`: the last `order` tokens as the digits of a number.
std::int64_t next_state(std::int64_t state, std::int64_t next, std::int64_t vocabulary,
                        std::int64_t states) {
  return (state * vocabulary + next) % states;
}

// How often each state is met in the long run, by iteration: all p are above 0, so it converges.
std::vector<double> stationary(const std::vector<double>& chain, std::int64_t vocabulary) {
  const std::int64_t states = static_cast<std::int64_t>(chain.size()) / vocabulary;
  std::vector<double> now(static_cast<std::size_t>(states), 1.0 / static_cast<double>(states));
  for (int iteration = 0; iteration < 1000; ++iteration) {
    std::vector<double> after(now.size());
    for (std::int64_t s = 0; s < states; ++s) {
      for (std::int64_t t = 0; t < vocabulary; ++t) {
        after[static_cast<std::size_t>(next_state(s, t, vocabulary, states))] +=
            now[static_cast<std::size_t>(s)] * chain[static_cast<std::size_t>(s * vocabulary + t)];
      }
    }
    double change = 0;
    for (std::size_t i = 0; i < now.size(); ++i) change += std::fabs(after[i] - now[i]);
    now = std::move(after);
    if (change < 1e-13) break;
  }
  return now;
}

double entropy_of(const std::vector<double>& chain, std::int64_t vocabulary) {
  const std::vector<double> weight = stationary(chain, vocabulary);
  double bits = 0;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    bits -= weight[i / static_cast<std::size_t>(vocabulary)] * chain[i] * std::log2(chain[i]);
  }
  return bits;
}

}  // namespace

Result<Dataset> make_gaussian_images(const GaussianImageOptions& options, Split split) {
  WEFT_TRY(check_gaussian(options));
  const std::vector<double> patterns = make_gaussian_patterns(options);
  const auto pixels = static_cast<std::size_t>(options.channels * options.height * options.width);
  const auto classes = static_cast<std::uint64_t>(options.classes);
  Rng rng = split_rng(options.seed, split);
  Bytes images(static_cast<std::size_t>(options.size) * pixels);
  Bytes labels(static_cast<std::size_t>(options.size));
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::uint64_t label = rng.below(classes);
    const double* pattern = patterns.data() + label * pixels;
    for (std::size_t p = 0; p < pixels; ++p) {
      const double value = kMiddleGrey + pattern[p] + kSigma * rng.normal();
      images[i * pixels + p] =
          static_cast<std::uint8_t>(std::clamp(std::floor(value + 0.5), 0.0, 255.0));
    }
    const bool noisy = rng.chance(options.label_noise);
    labels[i] = static_cast<std::uint8_t>(noisy ? rng.below(classes) : label);
  }
  Dataset dataset;
  dataset.name = "gaussian";
  dataset.split = split;
  dataset.size = options.size;
  dataset.channels = options.channels;
  dataset.height = options.height;
  dataset.width = options.width;
  dataset.classes = options.classes;
  dataset.images = SharedBytes(std::move(images));
  dataset.labels = SharedBytes(std::move(labels));
  dataset.mean = {kMiddleGrey / 255.0};
  const double signal = options.separation * options.separation / static_cast<double>(pixels);
  dataset.deviation = {kSigma * std::sqrt(1 + signal) / 255.0};
  return dataset;
}

double bayes_accuracy(std::int64_t classes, double separation, double label_noise) {
  constexpr int kSteps = 20000;  // trapezoids; the integrand is smooth and vanishes at the ends
  constexpr double kEnd = 9.0;
  double right = 0;
  for (int i = 0; i <= kSteps; ++i) {
    const double z = -kEnd + 2 * kEnd * i / kSteps;
    right += normal_density(z) *
             std::pow(normal_below(z + separation), static_cast<double>(classes - 1)) * 2 * kEnd /
             kSteps;
  }
  return (1 - label_noise) * right + label_noise / static_cast<double>(classes);
}

Result<MarkovText> make_markov_text(const MarkovOptions& options, Split split) {
  std::int64_t states = 1;
  bool good = options.vocabulary >= 2 && options.vocabulary <= 256 && options.order >= 1 &&
              options.order <= 4 && options.size >= 2 && options.size <= kBytesMax &&
              options.sharpness >= 0 && options.sharpness <= 100;
  for (std::int64_t i = 0; good && i < options.order; ++i) {
    states *= options.vocabulary;
    good = states <= kStatesMax;
  }
  if (!good) {
    return invalid_argument(fmt::format(
        "Markov text: expected a vocabulary of 2 to 256, an order of 1 to 4, at most {} states, a "
        "sharpness of 0 to 100 and 2 to {} tokens, got others",
        kStatesMax, kBytesMax));
  }
  const std::vector<double> chain = make_chain(options, states);
  const auto width = static_cast<std::size_t>(options.vocabulary);
  Rng rng = split_rng(options.seed, split);
  auto state = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(states)));
  Bytes tokens(static_cast<std::size_t>(options.size));
  for (std::uint8_t& token : tokens) {
    const double* row = chain.data() + static_cast<std::size_t>(state) * width;
    double rest = rng.uniform();
    std::size_t next = 0;
    while (next + 1 < width && rest >= row[next]) rest -= row[next++];
    token = static_cast<std::uint8_t>(next);
    state = next_state(state, token, options.vocabulary, states);
  }
  MarkovText text;
  WEFT_TRY_ASSIGN(text.dataset,
                  make_token_dataset("markov", TokenSpan{SharedBytes(std::move(tokens)), 1},
                                     options.vocabulary, options.context));
  text.dataset.split = split;
  text.entropy_bits = entropy_of(chain, options.vocabulary);
  return text;
}

}  // namespace weft
