#include "weft/attack/attack.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "weft/attack/attack_def.h"
#include "weft/base/check.h"
#include "weft/base/nearest_name.h"
#include "weft/base/text/option_text.h"

namespace weft {

#define WEFT_PLUGIN(name) extern const AttackDef name##_attack;
#include "attack_table.inc"
#undef WEFT_PLUGIN

static constexpr const AttackDef* kAttacks[] = {
#define WEFT_PLUGIN(name) &name##_attack,
#include "attack_table.inc"
#undef WEFT_PLUGIN
};

static constexpr std::size_t kAttackTextMax = 200;

std::span<const AttackDef* const> attacks() { return kAttacks; }

Result<Attack> Attack::parse(std::string_view text) {
  const std::vector<std::string_view> parts =
      split_words(text.substr(0, std::min(text.size(), kAttackTextMax + 1)), ':');
  const std::string_view name = parts.empty() ? text : parts.front();
  const auto* const def = std::ranges::find(kAttacks, name, &AttackDef::name);
  if (def == std::end(kAttacks) || text.size() > kAttackTextMax) {
    std::vector<std::string_view> names;
    for (const AttackDef* each : kAttacks) names.push_back(each->name);
    return invalid_argument(fmt::format("attack: expected one of {}, got \"{}\"{}",
                                        fmt::join(names, ", "), name, did_you_mean(name, names)));
  }
  Attack attack(**def);
  WEFT_TRY_ASSIGN(attack.options_,
                  parse_options((*def)->name, (*def)->options, std::span(parts).subspan(1)));
  return attack;
}

std::string Attack::text() const {
  return std::string(def_->name) + format_options(def_->options, options_);
}

bool Attack::remembers() const { return def_->remembers; }

void Attack::forge(const AttackView& view, AttackMemory& memory, std::span<float> out) const {
  WEFT_CHECK(!view.honest.empty() && view.own.size() == out.size());
  for (const std::span<const float> vector : view.honest) WEFT_CHECK(vector.size() == out.size());
  def_->forge(view, options_, memory, out);
  ++memory.rounds;
}

}  // namespace weft
