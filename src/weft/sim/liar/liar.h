// Liar: a virtual peer's lies: what it sends in place of its update, as an attack has it.
//
// IMPLEMENTATION: the attacks are those of weft/attack, each with its paper. A liar follows the
// protocol in all else: it takes part in every round, applies what the rounds come to, and its
// reports are true. It sees no other member's update, so that an attack by the honest members'
// mean takes its own for that. In gossip, whose members send parameters, a lie is in place of
// these, and the liar goes on with what its neighbours mix with them.
//
// A round that is run again counts again for attacks that remember.
//
// Where it stands: SwarmMember, GossipPeer -> here -> Attack. Threads: one owner.
// Fails: parse_liars() with kInvalidArgument for what is no attack, or a number of liars that
// leaves no honest peer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/attack/attack.h"
#include "weft/attack/data_attack.h"
#include "weft/base/status.h"

namespace weft::sim {

// Which peers of a world lie, and how.
struct LiarOptions {
  // The last ones of the peers of the beginning.
  int count = 0;
  std::optional<Attack> attack = {};
  // In place of `attack`: what they do to the samples that they train on.
  std::optional<DataAttack> data = {};

  // `peers`: those of the beginning; `index`: a peer, from 0.
  bool lies(int peers, std::size_t index) const {
    const auto first = static_cast<std::size_t>(peers - count);
    return index >= first && index < static_cast<std::size_t>(peers);
  }
};

// `attack`: an Attack's text, such as "sign_flip:scale=4", or a DataAttack's, such as "label_flip";
// or empty, where `count` is 0.
Result<LiarOptions> parse_liars(const std::string& attack, int count, int peers);

class Liar {
 public:
  // `seed`: other draws than those of other liars, in attacks that draw.
  Liar(Attack attack, std::uint64_t seed);

  // What goes out in place of `own`, of the same length; empty for empty. REQUIRES: as long in each
  // round.
  std::vector<float> forge(std::span<const float> own);

 private:
  Attack attack_;
  AttackMemory memory_;
  std::uint64_t seed_;
};

// The peer's lies; nothing where what it sends is what it computed.
std::optional<Liar> liar_of(const LiarOptions& options, int peers, std::size_t index,
                            std::uint64_t seed);

}  // namespace weft::sim
