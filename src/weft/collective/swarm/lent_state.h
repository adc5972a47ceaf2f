// LentState: the training side's state, which another thread may read while a round is computed.
//
// Where it stands: Swarm owns one. The training thread lends it and takes it back; the loop thread
// lets a snapshot be made of it if a newcomer needs one. Threads: as stated at each method. Fails:
// never.
#pragma once

#include <functional>

#include "weft/base/thread.h"
#include "weft/base/time.h"
#include "weft/collective/parts/swarm_types.h"
#include "weft/collective/state/state_snapshot.h"

namespace weft {

class LentState {
 public:
  // --- The training thread.
  // REQUIRES: nothing is lent.
  void lend(StateReader read);
  // Waits while the state is being read; it may change once this returns. False where nothing was
  // lent.
  bool take_back();

  // --- The loop thread. Lets another thread read the state, once per loan, and make a snapshot of
  // the prefix in `order` and the state; `made` is called there. False if nothing is lent.
  bool make_snapshot(const Turn& order, std::function<void(StateSnapshot)> made);

 private:
  struct Loan {
    StateReader read;
    bool reading = false;
  };
  SystemClock clock_;
  bool lent_ = false;  // the training thread's
  Guarded<Loan> loan_;
  Thread reader_;  // the loop thread's
};

}  // namespace weft
