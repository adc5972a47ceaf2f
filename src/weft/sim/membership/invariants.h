// Invariants: what must hold in every simulated run, whatever fails.
//
//   1. No two different views have one number.
//   2. Each view was accepted by a quorum of the one before. For two members that is both, or the
//      tie-breaker alone, or either if the other is leaving.
//   3. No two members commit different results for one round.
//   4. What a member has committed never lies beyond the base round of a view that it installs.
//   5. View numbers only rise at each life of a peer, within one branch.
//   6. All that are in the first view of a branch agreed to it, and none of them votes in the view
//      before any more.
//   7. A state has learned from each committed round of its history once, of absorbed branches too.
//
// Where the run is cut apart into branches, 1, 3 and 4 hold within each.
//
// It listens to every frame that is sent and every view and round that is reported.
// Threads: one owner.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "weft/net/transport.h"
#include "weft/peer/view.h"

namespace weft {

class Invariants {
 public:
  explicit Invariants(const RunId& run) : run_(run) {}

  void on_sent(const PeerId& from, const PeerId& to, const Frame& frame);
  void on_view(const PeerId& peer, std::uint64_t incarnation, const View& view, Round committed);
  // `state` stands for everything up to `round`, in the branch with this history.
  void on_commit(const PeerId& peer, const Lineage& lineage, Round round, std::uint64_t state);
  // What a state after a commit counts, and up to which round of each branch it has learned.
  void on_learned(const PeerId& peer, std::uint64_t samples,
                  const std::map<Hash256, std::uint64_t>& learned);

  bool ok() const { return fault_.empty(); }
  // The first violation, in words.
  const std::string& fault() const { return fault_; }
  // The latest view (of any branch) that any peer has installed; empty before the first.
  const View& newest() const { return newest_; }
  Round newest_round() const { return newest_round_; }
  std::uint64_t branches() const { return begins_.size(); }
  std::uint64_t merges() const { return merges_.size(); }
  std::uint64_t views() const { return views_.size(); }
  // Equal for equal histories, whatever the order in which they were told.
  std::uint64_t digest() const { return digest_; }

 private:
  void fail(std::string text);
  void check_quorum(const PeerId& installer, const View& previous, const View& view);
  void check_branch(const View& view);
  void check_vote(const PeerId& from, const ViewId& view);

  struct BallotKey {
    ViewId view;
    Ballot ballot;
    friend auto operator<=>(const BallotKey&, const BallotKey&) = default;
  };

  void note(std::uint64_t what, const PeerId& who, const Hash256& about);

  RunId run_;
  std::string fault_;
  std::uint64_t digest_ = 0;
  View newest_;
  Round newest_round_;
  using BranchView = std::pair<Hash256, ViewNumber>;
  std::map<BranchView, View> views_;
  std::map<std::pair<PeerId, std::uint64_t>, BranchView> installed_;
  // By branch with what it has absorbed, and round.
  std::map<std::pair<Hash128, Round>, std::uint64_t> committed_;
  // The round after which each branch begins; the run itself is not in it.
  std::map<Hash256, Round> begins_;
  std::set<ViewId> merges_;
  // By the view without quorum: who has agreed to leave it for a branch.
  std::map<ViewId, std::set<PeerId>> retired_;
  // Which view each ballot proposes, and who has accepted that view.
  std::map<BallotKey, ViewId> proposals_;
  std::map<ViewId, std::set<PeerId>> acceptors_;
  // By view: who said in it that it leaves.
  std::map<ViewId, std::set<PeerId>> leaving_;
};

}  // namespace weft
