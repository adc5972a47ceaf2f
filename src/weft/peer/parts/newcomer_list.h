// NewcomerList: the peers that members have accepted and that take the state, and those that wait
// for their turn.
//
// Only few take the state at a time. Each newcomer has one member as its sponsor, which sees its
// signs of life; all members know of it, and any of them can propose the view that admits it.
//
// Threads: as Membership. Fails: as each method says.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "weft/base/fields.h"
#include "weft/base/status.h"
#include "weft/peer/parts/membership_part.h"
#include "weft/peer/parts/membership_parts.h"
#include "weft/wire/admission_message.h"
#include "weft/wire/join_message.h"

namespace weft {

class NewcomerList : public MembershipPart {
 public:
  using MembershipPart::MembershipPart;

  const std::map<PeerId, Joiner>& joiners() const { return state_.joiners; }
  void gather(bool on) { state_.gathering = on; }
  // Another member reports that newcomers wait at it.
  void note_queue_elsewhere();
  // False if `peer` is none of them.
  bool on_link_up(const PeerId& peer);
  void on_link_down(const PeerId& peer);
  void on_sign_of_life(const PeerId& peer);
  // This peer's process stood still, so none of them counts as silent.
  void forgive();
  // A view was installed after one with the lineage `before`.
  void on_view(const Lineage& before);
  // The run is over: no peer is admitted any more.
  void admit_none();
  // `peer` is a member now. Sends nothing.
  void forget(const PeerId& peer) { state_.joiners.erase(peer); }
  void clear() { state_.joiners.clear(); }

  void refuse(const PeerId& peer, const JoinRefusedMessage& why);
  void on_recipe_request(const PeerId& from, const RecipeRequestMessage& message);
  void on_join_request(const PeerId& from, const JoinRequestMessage& message);
  void on_admit_request(const PeerId& from, const AdmitRequestMessage& message);
  void on_joiner(const PeerId& from, const JoinerMessage& message);
  void announce_joiners_again();
  void send_joiners_away();
  void drop_joiner(const PeerId& peer, const Status& why);
  void joiners_timer();
  std::vector<Member> newcomers() const;
  bool has_ready_joiner() const;
  void note_progress(const PeerId& peer, std::uint64_t progress);

  void fingerprint(Fingerprint& out) const;

 private:
  friend struct StateAccess;

  std::optional<JoinRefusedMessage> refuse_now(const JoinRequestMessage& request);
  void announce_joiner(const Joiner& joiner, bool present);
  std::optional<JoinRefusedMessage> queue_up(const PeerId& peer);
  bool others_wait() const;
  void take_turns();

  struct State {
    std::map<PeerId, Joiner> joiners;
    std::map<PeerId, Waiting> waiting;
    // When another member last reported that newcomers wait at it.
    std::optional<TimePoint> others_waited_at;
    bool gathering = false;

    WEFT_FIELDS((joiners, waiting, others_waited_at, gathering), ())
  };

  State state_;
};

}  // namespace weft
