// DialPlan: which peers to dial when, and which ones are presumed gone because they do not answer.
//
// A peer that is wanted and not linked is dialled, again after `interval`. One that does not answer
// twice is *doubted* for `doubt_for`: the topology is computed without it, so that a ring closes
// around it long before its record expires. A link from it ends the doubt.
//
// Where it stands: GossipCore owns one. Threads: one owner.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "weft/base/time.h"
#include "weft/wire/codec.h"
#include "weft/wire/ids.h"

namespace weft {

class DialPlan {
 public:
  DialPlan(Duration interval, Duration doubt_for) : interval_(interval), doubt_for_(doubt_for) {}

  // Wants links to `peers`, which may be dialled at once where they are not linked; forgets all
  // others.
  void want(const std::vector<PeerId>& peers);
  // Which of them to dial now; each is dialled again after the interval at the earliest.
  std::vector<PeerId> take_due(TimePoint now);

  void link_up(const PeerId& peer);
  void link_down(const PeerId& peer, TimePoint now);
  // After link_down(): whether dials have failed more than once since the last link.
  bool failed_again(const PeerId& peer) const;
  // Presumes `peer` gone; true if it was not doubted before.
  bool doubt(const PeerId& peer, TimePoint now);
  bool is_doubted(const PeerId& peer) const { return doubted_.contains(peer); }
  // Ends doubts that are old; true if there was one.
  bool end_doubts(TimePoint now);

  std::optional<TimePoint> next_deadline() const;
  void write_fingerprint(Writer& out) const;

 private:
  struct Wanted {
    bool linked = false;
    int failures = 0;
    TimePoint next{};
  };
  const Duration interval_;
  const Duration doubt_for_;
  std::map<PeerId, Wanted> wanted_;
  std::map<PeerId, TimePoint> doubted_;  // and until when
};

}  // namespace weft
