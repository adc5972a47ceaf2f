#include "weft/sim/liar/liar.h"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace weft::sim {
namespace {

// What keeps the draws of one liar's rounds apart from another's.
constexpr std::uint64_t kRoundsMax = std::uint64_t{1} << 32U;

}  // namespace

Result<LiarOptions> parse_liars(const std::string& attack, int count, int peers) {
  LiarOptions options;
  if (attack.empty() && count == 0) return options;
  if (attack.empty()) {
    return invalid_argument(fmt::format(
        "--byzantine: expected --attack with it, such as --attack sign_flip, got {} alone", count));
  }
  if (count < 1 || count >= peers) {
    return invalid_argument(
        fmt::format("--byzantine: expected 1 to {} liars of {} peers with --attack, got {}",
                    peers - 1, peers, count));
  }
  options.count = count;
  if (DataAttack::knows(attack)) {
    WEFT_TRY_ASSIGN(options.data, DataAttack::parse(attack));
    return options;
  }
  Result<Attack> parsed = Attack::parse(attack);
  if (!parsed.ok()) {
    std::vector<std::string_view> names;
    for (const DataAttackDef* const def : data_attacks()) names.push_back(def->name);
    return invalid_argument(
        fmt::format("{}, or one of {}", parsed.status().message(), fmt::join(names, ", ")));
  }
  options.attack = std::move(parsed).value();
  return options;
}

Liar::Liar(Attack attack, std::uint64_t seed) : attack_(std::move(attack)), seed_(seed) {}

std::vector<float> Liar::forge(std::span<const float> own) {
  std::vector<float> lies(own.size());
  // The round of the evaluation has reports alone.
  if (own.empty()) return lies;
  attack_.forge({.honest = {&own, 1}, .own = own, .seed = seed_ * kRoundsMax + memory_.rounds},
                memory_, lies);
  return lies;
}

std::optional<Liar> liar_of(const LiarOptions& options, int peers, std::size_t index,
                            std::uint64_t seed) {
  if (!options.attack || !options.lies(peers, index)) return std::nullopt;
  return Liar(*options.attack, seed + index);
}

}  // namespace weft::sim
