// spsa: two losses for each direction, drawn from the run's seed by all alike; what is returned is
// one byte for each.
//
// IMPLEMENTATION: Spall, "Multivariate stochastic approximation using a simultaneous perturbation
// gradient approximation", IEEE Transactions on Automatic Control 37, 1992; one byte, and
// directions that are drawn again instead of sent: E. Zelikman, Huang, Liang, Haber and Goodman,
// "Just one byte (per gradient): a note on low-bandwidth decentralized language model finetuning
// using shared randomness", 2023. We differ:
//   * A byte has a sign and one of 127 magnitudes, an eighth of a power of two apart. The authors'
//     sign and 255 magnitudes are more than a byte.
//   * The delta is the mean over the directions of number x direction; theirs is the sum over the
//     square root of their count. The outer step's rate is the learning rate.
//   * Both losses are at copies of the model, so that nothing drifts and nothing is replayed from
//     backups.
//
// The numbers of one piece of work are all at the model that was given: local steps are further
// batches, not further models. Directions are the same bits on every machine; losses need not be,
// since a member uses its own numbers as it sends them.
// Cost: two passes forward and one vector for each direction, and at every member the vectors of
// all members' directions once more.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "weft/base/rng.h"
#include "weft/mix/local/mix_local_def.h"

namespace weft {
namespace {

constexpr Option kSpsaOptions[] = {
    {.name = "directions",
     .fallback = 1,
     .min = 1,
     .max = 4096,
     .whole = true,
     .help = "For each local step; one byte each."},
    {.name = "epsilon",
     .fallback = 0.001,
     .min = 1e-9,
     .max = 1e3,
     .help = "How far the two losses are from the model, in directions."},
};

// 2^(i / 8) and 2^((i + 1/2) / 8), between which a number goes to the nearer.
constexpr std::array<double, 8> kEighths = {1.0,
                                            1.0905077326652577,
                                            1.189207115002721,
                                            1.2968395546510096,
                                            1.4142135623730951,
                                            1.5422108254079407,
                                            1.681792830507429,
                                            1.8340080864093424};
constexpr std::array<double, 8> kBetweenEighths = {
    1.0442737824274138, 1.1387886347566916, 1.241857812073484,  1.3542555469368927,
    1.4768261459394993, 1.6104903319492543, 1.7562521603732995, 1.9152065613971474};
// The magnitude of code 1 is 2^-8; that of 127 is 2^7.75.
constexpr int kLeastPower = -8;
constexpr int kCodeMax = 127;
constexpr std::uint8_t kSignBit = 0x80;

double magnitude(int code) {
  return std::ldexp(kEighths[static_cast<std::size_t>((code - 1) % 8)],
                    kLeastPower + (code - 1) / 8);
}

std::uint8_t pack_number(float number) {
  const double size = std::abs(static_cast<double>(number));
  // Also what is no number. Half of the least magnitude is nearer to it than to zero.
  if (!(size >= magnitude(1) / 2)) return 0;
  int code = kCodeMax;
  if (size < magnitude(kCodeMax)) {
    int power = 0;
    const double mantissa = 2 * std::frexp(size, &power);
    const auto eighth = std::ranges::count_if(
        kBetweenEighths, [mantissa](double limit) { return mantissa >= limit; });
    code = std::clamp(8 * (power - 1 - kLeastPower) + static_cast<int>(eighth) + 1, 1, kCodeMax);
  }
  return static_cast<std::uint8_t>(code | (number < 0 ? kSignBit : 0));
}

bool unpack_number(std::uint8_t byte, float& number) {
  const int code = byte & kCodeMax;
  if (code == 0 && byte != 0) return false;  // a zero with a sign
  const double size = code == 0 ? 0 : magnitude(code);
  number = static_cast<float>((byte & kSignBit) != 0 ? -size : size);
  return true;
}

// Different keys for different versions, as an odd factor keeps them apart.
Rng direction_draws(std::uint64_t seed, std::uint64_t version, std::uint32_t member,
                    std::uint64_t index) {
  constexpr std::uint64_t kOddFactor = 0x9E3779B97F4A7C15;
  return Rng(seed ^ ((version + 1) * kOddFactor), std::uint64_t{member} << 32U | index);
}

void replay_numbers(const MixDraw& draw, std::span<const float> numbers, std::span<float> delta) {
  std::vector<double> sum(delta.size());
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    if (numbers[k] == 0) continue;
    Rng draws = direction_draws(draw.seed, draw.version, draw.member, k);
    for (double& value : sum) {
      value += static_cast<double>(numbers[k]) * static_cast<float>(draws.normal());
    }
  }
  const auto count = static_cast<double>(numbers.size());
  std::ranges::transform(sum, delta.begin(),
                         [count](double value) { return static_cast<float>(value / count); });
}

double mean_loss(const MixLoss& loss) { return loss.loss / loss.labels; }

// The derivative of one batch's loss along one direction.
Result<float> derivative(const MixLocalInput& input, std::uint64_t index, std::uint64_t step,
                         MixLoss& sums) {
  const double epsilon = input.options[1];
  std::vector<float> above(input.given.size());
  std::vector<float> below(input.given.size());
  Rng draws = direction_draws(input.seed, input.version, input.member, index);
  for (std::size_t i = 0; i < above.size(); ++i) {
    const auto move = static_cast<float>(epsilon * static_cast<float>(draws.normal()));
    above[i] = input.given[i] + move;
    below[i] = input.given[i] - move;
  }
  WEFT_TRY_ASSIGN(const MixLoss high, input.learner.loss(input.member, step, above));
  WEFT_TRY_ASSIGN(const MixLoss low, input.learner.loss(input.member, step, below));
  const double slope = (mean_loss(high) - mean_loss(low)) / (2 * epsilon);
  if (!std::isfinite(slope)) {
    return invalid_argument(
        fmt::format("spsa: expected losses that are numbers, got {} and {} at step {}; a smaller "
                    "rate in mix.outer may help",
                    mean_loss(high), mean_loss(low), step));
  }
  sums.add(high);
  return static_cast<float>(slope);
}

Result<MixLoss> spsa_run(const MixLocalInput& input, std::uint32_t steps,
                         std::vector<float>& model) {
  if (input.learner.has_buffers()) {
    return invalid_argument(
        "spsa: expected a model without running statistics, which numbers do not carry; take one "
        "without batch normalisation");
  }
  const auto directions = static_cast<std::uint64_t>(input.options[0]);
  MixLoss sums;
  std::vector<float> numbers;
  for (std::uint64_t k = 0; k < steps * directions; ++k) {
    WEFT_TRY_ASSIGN(const float slope, derivative(input, k, input.step + k / directions, sums));
    float number = 0;
    unpack_number(pack_number(slope), number);
    numbers.push_back(number);
  }
  // A member without steps to take moves nothing.
  if (numbers.empty()) numbers.push_back(0);
  model = std::move(numbers);
  return sums;
}

constexpr MixNumbersDef kSpsaNumbers = {
    .each_step =
        [](std::span<const double> options) { return static_cast<std::size_t>(options[0]); },
    .pack = pack_number,
    .unpack = unpack_number,
    .replay = replay_numbers,
};

}  // namespace

extern const MixLocalDef spsa_local = {
    .name = "spsa",
    .summary =
        "Two losses for each drawn direction, and one byte on the way (E. Zelikman et al. "
        "2023, just one byte).",
    .options = kSpsaOptions,
    .run = spsa_run,
    .numbers = &kSpsaNumbers,
};

}  // namespace weft
