// StateComparison: do all members have the same state after each round? If not, which member and
// tensor differ?
//
// After a round every member sends the others the hash of its whole state; if two differ, each
// sends the other the hashes of all tensors, so that the first that differs can be named. A member
// that disagrees with more than half of the view is wrong; if no state has a majority, all must
// stop.
//
// Where it stands: SwarmCore owns one. Threads: one owner. Fails: never.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "weft/collective/parts/swarm_types.h"
#include "weft/peer/view.h"
#include "weft/wire/collective_message.h"

namespace weft {

struct StateDifference {
  PeerId peer;
  Round round;
  // More than half of the view agrees with this member: the other one is wrong.
  bool peer_is_wrong = false;
  // More than half disagree with this member, or no state can have a majority.
  bool self_is_wrong = false;
  // Names the tensor and the peer.
  std::string text;
};

struct StateHashOut {
  PeerId to;
  StateHashMessage message;
};

class StateComparison {
 public:
  explicit StateComparison(const PeerId& self) : self_(self) {}

  // Forgets the messages of members that left.
  void on_view(const View& view);
  // This member's state after `round`.
  void own(Round round, StateHash hash);
  void theirs(const PeerId& from, const StateHashMessage& message);

  // The messages to send, and the findings; each once.
  std::vector<StateHashOut> take_messages();
  std::vector<StateDifference> take_differences();

 private:
  struct Theirs {
    Hash128 total{};
    std::vector<Hash128> tensors;
    bool details_sent = false;
    bool reported = false;
  };
  struct Entry {
    std::optional<StateHash> own;
    std::map<PeerId, Theirs> theirs;
  };

  void compare(Round round, Entry& entry);
  void report(Round round, const Entry& entry, const PeerId& peer, const Theirs& theirs);
  std::string describe(const StateHash& own, const Theirs& theirs) const;

  PeerId self_;
  View view_;
  Round last_own_;
  std::map<Round, Entry> rounds_;
  std::vector<StateHashOut> messages_;
  std::vector<StateDifference> differences_;
};

}  // namespace weft
