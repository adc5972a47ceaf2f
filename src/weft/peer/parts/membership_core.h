// Membership::Core: the parts of one peer's membership, and the events that go between them.
//
// Each part owns its state; the others reach it by its methods. This class itself keeps this peer's
// place in its view, and the time (MembershipCoreState).
//
//   watch                           which members are alive, and which are to be removed
//   balloting                       the agreement on the next view
//   links, keys                     what each link may do; which peers have the run's key
//   joining, newcomers, ending      joining, from both sides; the end of the run
//   judgement, bans                 misconduct, accusations, expulsion, void invitations
//   evidence, quorum                which reports of a later view are believed; no quorum
//   branching, meetings, former     branches without a quorum, and how they merge
//   past, records                   the voter of an earlier process; what is kept on disk
//
// Every entry point sets `now` first and ends in settle(), which does nothing unless `stirred`. All
// sets are ordered, so that the same events give the same actions. Threads: as Membership.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "weft/base/fields.h"
#include "weft/base/status.h"
#include "weft/peer/membership.h"
#include "weft/peer/parts/balloting.h"
#include "weft/peer/parts/ban_list.h"
#include "weft/peer/parts/branching.h"
#include "weft/peer/parts/former_members.h"
#include "weft/peer/parts/joining.h"
#include "weft/peer/parts/judgement.h"
#include "weft/peer/parts/key_holders.h"
#include "weft/peer/parts/link_table.h"
#include "weft/peer/parts/meetings.h"
#include "weft/peer/parts/member_watch.h"
#include "weft/peer/parts/membership_parts.h"
#include "weft/peer/parts/newcomer_list.h"
#include "weft/peer/parts/past_voter.h"
#include "weft/peer/parts/quorum_watch.h"
#include "weft/peer/parts/record_keeper.h"
#include "weft/peer/parts/run_ending.h"
#include "weft/peer/parts/view_evidence.h"
#include "weft/wire/frame_type.h"

namespace weft {

// The state that no part owns: this peer's place in its view, and the time.
struct MembershipCoreState {
  MembershipCoreState(MembershipOptions given, MembershipSink& outlet, Rng random)
      : options(std::move(given)), sink(outlet), rng(random) {}

  MembershipOptions options;
  MembershipSink& sink;
  Rng rng;
  TimePoint now{};

  MembershipState state = MembershipState::kOutside;
  View view;
  // The notice of `view`, for peers that are behind; and what it changed in the view before, for
  // those that are there, if this peer was.
  ViewNoticeMessage notice;
  std::optional<ValueDifference> step;

  // Something happened from which settle() may draw consequences.
  bool stirred = false;
  // No member is missing or suspected and no peer is joining: time alone changes nothing.
  bool calm = false;
  std::uint64_t beats = 0;
  TimePoint beat_at = kNever;

  bool leaving = false;
  TimePoint leave_ends = kNever;

  WEFT_FIELDS((state, view, leaving),
              (options, sink, rng, now, notice, step, stirred, calm, beats, beat_at, leave_ends))
};

struct Membership::Core : MembershipCoreState {
  Core(MembershipOptions given, MembershipSink& outlet, Rng random);
  Core(const Core& other);
  void fingerprint(Fingerprint& out) const;

  // --- membership/membership.cpp
  bool active() const {
    return state == MembershipState::kMember || state == MembershipState::kChanging ||
           state == MembershipState::kIsolated;
  }
  PeerRole role(const PeerId& peer) const;
  void found();
  Status dispatch(const PeerId& from, const FrameView& frame);
  Status dispatch_agreement(const PeerId& from, const FrameView& frame);
  Status dispatch_joining(const PeerId& from, const FrameView& frame);
  template <class Message>
  void send(const PeerId& to, std::uint8_t type, const Message& message) {
    if (!links.may_answer(to)) return;
    sink.send(to, Frame{type, message.encode(), {}});
  }
  // Whether a message about `theirs` is about the current view and from one of its members;
  // otherwise informs a sender that is behind.
  bool is_current(const PeerId& from, const ViewId& theirs);

  // Sends the view to a peer that is behind, perhaps in the view `theirs`.
  void send_current(const PeerId& to, const std::optional<ViewId>& theirs = std::nullopt);
  void send_notice(const PeerId& to, ViewNoticeMessage sent, const std::optional<ViewId>& theirs);
  // The view of this name, if this peer is, was or is to be in it; null otherwise.
  const View* held_view(const ViewId& id) const;
  void on_timer();
  void settle();
  TimePoint next_deadline() const;
  bool merges() const { return options.on_split == SplitPolicy::kMerge; }
  // Looks the peer up without a search through a view that may be large.
  bool is_other_member(const PeerId& peer) const { return watch.all().count(peer) != 0; }

  // --- membership/membership_watch.cpp
  void on_link_up(const LinkInfo& link);
  void on_link_down(const PeerId& peer, const Status& why);
  void on_sign_of_life(const PeerId& from);
  void beat();
  bool is_calm() const;

  // --- membership/membership_views.cpp

  void install(const ViewNoticeMessage& next);
  ViewChange change_to(const ViewNoticeMessage& next) const;

  void be_removed(const std::string& reason);

  void leave();
  void announce_leaving();
  void finish_leave();

  // All parts, in one order.
  auto parts() {
    return std::tie(watch, balloting, links, keys, bans, evidence, joining, newcomers, ending,
                    judgement, former, quorum, branching, meetings, past, records);
  }
  auto parts() const {
    return std::tie(watch, balloting, links, keys, bans, evidence, joining, newcomers, ending,
                    judgement, former, quorum, branching, meetings, past, records);
  }

  MemberWatch watch{*this};
  Balloting balloting{*this};
  LinkTable links{*this, options.strangers};
  KeyHolders keys{*this};
  BanList bans{*this};
  ViewEvidence evidence{*this};
  Joining joining{*this};
  NewcomerList newcomers{*this};
  RunEnding ending{*this};
  Judgement judgement{*this};
  FormerMembers former{*this};
  QuorumWatch quorum{*this};
  Branching branching{*this};
  Meetings meetings{*this};
  PastVoter past{*this};
  RecordKeeper records{*this};
};

}  // namespace weft
