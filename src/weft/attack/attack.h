// Attack: what a member that lies sends in place of its update.
//
// A text names one with its options: "sign_flip:scale=4", "alie", "ipm:scale=0.5". Each file
// NAME_attack.cpp is one (or several of one small kind); see docs/HACKING.md to add one.
//
// Attackers are as strong as the analyses of robust rules have them: they see what all honest
// members send before they choose, and act together. An attack is a pure function: the same view,
// seed and memory give the same vector. What some keep from round to round is in an AttackMemory,
// one for each attacker.
//
// Attacks on the data, such as false labels, are no attacks of this kind: their updates are honest
// ones of other data. For tests and simulations: of what is installed, `weft sim` alone has them.
// Where it stands: LyingMember, virtual peers that lie and experiments with rules.
// Threads: immutable once parsed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/status.h"

namespace weft {

struct AttackDef;  // attack_def.h

// What an attacker knows of a round. All vectors have one length.
struct AttackView {
  // What honest members send, by rank; at least one. An attacker that sees nobody else's updates
  // has its own here.
  std::span<const std::span<const float>> honest;
  // What the attacker would send if it were honest.
  std::span<const float> own;
  // The members of the round that lie, this one included.
  int liars = 1;
  // For what is drawn; another one in each round.
  std::uint64_t seed = 0;
};

// What an attacker keeps of the rounds before; each attack that needs it says what that is.
struct AttackMemory {
  std::uint64_t rounds = 0;
  std::vector<std::vector<float>> vectors;
  // An honest member, by its place in AttackView::honest.
  std::size_t member = 0;
};

class Attack {
 public:
  // kInvalidArgument for an unknown name (says the nearest), or an option that the attack lacks or
  // that is out of its range.
  static Result<Attack> parse(std::string_view text);

  // As it was parsed, without options that have their default.
  std::string text() const;
  // Whether what it sends depends on the rounds before.
  bool remembers() const;
  // Fills `out` with what the attacker sends, and counts the round in `memory`. REQUIRES: `out`
  // overlaps none of the view's vectors; the same number and length of vectors in each round of
  // one memory.
  void forge(const AttackView& view, AttackMemory& memory, std::span<float> out) const;

 private:
  explicit Attack(const AttackDef& def) : def_(&def) {}

  const AttackDef* def_;
  // In the order of the attack's options.
  std::vector<double> options_;
};

// All attacks, by name.
std::span<const AttackDef* const> attacks();

}  // namespace weft
