// Adoption: the founder adopts the newest state that a newcomer has brought along.
//
// Threads: as SwarmCore. Fails: never; a holder that stops sending is dropped.
#pragma once

#include <cstdint>
#include <optional>

#include "weft/base/fields.h"
#include "weft/base/time.h"
#include "weft/collective/parts/swarm_core_part.h"
#include "weft/wire/ids.h"

namespace weft {

class Adoption : public SwarmCorePart {
 public:
  using SwarmCorePart::SwarmCorePart;

  void begin(const PeerId& holder);
  bool open() const { return state_.adopting.has_value(); }
  // True while the state is under way from its holder.
  bool settle();
  TimePoint until() const { return state_.until; }
  // The state is in place.
  void on_loaded(const Hash256& root);

  // The peer whose state was adopted last, and the state's name; empty and zeros before that.
  const std::optional<PeerId>& taken_from() const { return state_.taken_from; }
  const Hash256& taken_root() const { return state_.taken_root; }

  void fingerprint(Fingerprint& out) const;

 private:
  friend struct SwarmStateAccess;

  struct State {
    std::optional<PeerId> adopting;
    std::uint64_t bytes = 0;
    TimePoint until{};
    std::optional<PeerId> taken_from;
    Hash256 taken_root{};

    WEFT_FIELDS((adopting, taken_from, taken_root), (bytes, until))
  };

  State state_;
};

}  // namespace weft
