// RunStart: when the first round may begin: with enough members, or after a while.
//
// Threads: as SwarmCore. Fails: never.
#pragma once

#include "weft/base/fields.h"
#include "weft/base/time.h"
#include "weft/collective/parts/swarm_core_part.h"
#include "weft/wire/ids.h"

namespace weft {

class RunStart : public SwarmCorePart {
 public:
  RunStart(SwarmParts& core, int members) : SwarmCorePart(core), state_{.members = members} {}

  void found(Round after);
  void join();
  bool founder() const { return state_.founder; }
  // How many members the first round waits for.
  int members() const { return state_.members; }
  void expect(int members) { state_.members = members; }
  // The first round comes after this one.
  void set_round(Round round) { state_.round = round; }
  // The wait for others begins anew.
  void wait_anew();
  // Others were waited for long enough.
  bool overdue() const;
  TimePoint ends() const;

  // The training side may begin a round.
  bool may_start() const;
  // While a turn is asked for: when time alone decides.
  TimePoint deadline() const;

  void fingerprint(Fingerprint& out) const;

 private:
  friend struct SwarmStateAccess;

  struct State {
    bool founder = false;
    int members = 1;
    Round round{};
    TimePoint since{};

    WEFT_FIELDS((founder, members, round), (since))
  };

  State state_;
};

}  // namespace weft
