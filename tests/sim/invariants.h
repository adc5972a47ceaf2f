// Invariants: what must hold in every simulated run, whatever fails.
//
//   1. No two different views have one number.
//   2. Each view was accepted by a quorum of the one before. Of two members that is both, or the
//      tie-breaker alone, or either if the other is leaving.
//   3. No two members commit different results for one round.
//   4. What a member has committed never lies beyond the base round of a view that it installs.
//   5. View numbers only rise at each life of a peer.
//
// It listens to every frame that is sent and every view and round that is reported.
// Threads: one owner.
#pragma once

#include <map>
#include <set>
#include <string>

#include "weft/net/transport.h"
#include "weft/peer/view.h"

namespace weft {

class Invariants {
 public:
  explicit Invariants(const RunId& run) : run_(run) {}

  void on_sent(const PeerId& from, const PeerId& to, const Frame& frame);
  void on_view(const PeerId& peer, std::uint64_t incarnation, const View& view, Round committed);
  // `state` stands for everything up to `round`.
  void on_commit(const PeerId& peer, Round round, std::uint64_t state);

  bool ok() const { return fault_.empty(); }
  // The first violation, in words.
  const std::string& fault() const { return fault_; }
  // The latest view that any peer has installed; empty before the first.
  const View& newest() const { return newest_; }
  Round newest_round() const { return newest_round_; }
  std::uint64_t views() const { return views_.size(); }

 private:
  void fail(std::string text);
  void check_quorum(const PeerId& installer, const View& previous, const View& view);

  struct BallotKey {
    ViewId view;
    Ballot ballot;
    friend auto operator<=>(const BallotKey&, const BallotKey&) = default;
  };

  RunId run_;
  std::string fault_;
  View newest_;
  Round newest_round_;
  std::map<ViewNumber, View> views_;
  std::map<std::pair<PeerId, std::uint64_t>, ViewId> installed_;
  std::map<Round, std::uint64_t> committed_;
  // Which view each ballot proposes, and who has accepted that view.
  std::map<BallotKey, ViewId> proposals_;
  std::map<ViewId, std::set<PeerId>> acceptors_;
  // By view: who said in it that it leaves.
  std::map<ViewId, std::set<PeerId>> leaving_;
};

}  // namespace weft
