// RecordKeeper: the record of its memberships that a peer keeps beyond the end of its process.
//
// Threads: as Membership. Fails: as each method says.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/base/fields.h"
#include "weft/peer/membership.h"
#include "weft/peer/parts/membership_part.h"
#include "weft/peer/voter_record.h"

namespace weft {

class RecordKeeper : public MembershipPart {
 public:
  using MembershipPart::MembershipPart;

  // The current view was installed just now.
  void on_view();
  void set_history(std::uint32_t generation, std::vector<EarlierRun> earlier);
  const std::vector<EarlierRun>& earlier() const { return state_.earlier; }
  // From now on the record names no peer to wait for, and no vote.
  void end() { state_.record_ended = true; }

  VoterRecord record() const;
  bool keep_record(bool durable);
  void begin_record();

  void fingerprint(Fingerprint& out) const;

 private:
  friend struct StateAccess;

  struct State {
    std::uint32_t generation = 0;
    std::vector<EarlierRun> earlier;
    RunId view_run{};
    std::uint64_t last_view = 0;
    std::vector<PeerId> last_members;
    bool record_begun = false;
    bool record_ended = false;
    Bytes kept_record;
    bool record_durable = false;

    WEFT_FIELDS((generation, earlier, view_run, last_view, last_members, record_begun, record_ended,
                 record_durable),
                (kept_record))
  };

  State state_;
};

}  // namespace weft
