// CatchUpHold: when a member holds back its next round, so that a newcomer that is slower than the
// rounds catches up.
//
// A newcomer's requests for results show how far it has come and how fast it goes. One whose lag
// does not shrink is slow, and so is one that takes the state a second time, or stays near for
// seconds without asking for admission. For a slow newcomer
// that makes progress the next round is held back until it is a member. The limits:
//
//   - a newcomer that asks for nothing new for some seconds is not waited for any longer;
//   - one pause takes at most half of the time after which the others would remove this member;
//   - all pauses draw on one budget of a minute, regardless of which newcomers cause them. It takes
//     ten times as long to fill it again as to spend it;
//   - a newcomer that the budget would not bring in is not waited for at all.
//
// One member of a view is enough: the others wait for its part. If each decided for itself, there
// would be as many budgets as members.
//
// Threads: one owner.
// Fails: never.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "weft/base/time.h"
#include "weft/wire/ids.h"

namespace weft {

class CatchUpHold {
 public:
  // --- What newcomers ask for; REQUIRES that the owner forgets those that are gone, or members.
  void on_query(const PeerId& peer, TimePoint now);
  void on_block_request(const PeerId& peer, TimePoint now);
  void on_result_request(const PeerId& peer, Round round, Round committed, TimePoint now);
  void forget(const PeerId& peer) { newcomers_.erase(peer); }

  struct Moment {
    Round committed;
    // No round is open here, and the training side could begin one.
    bool between = false;
    // After it the other members would remove this one.
    Duration limit{};
    TimePoint now;
  };
  void settle(const Moment& moment);

  bool empty() const { return newcomers_.empty(); }
  // Whether the next round is held back.
  bool holds() const { return holds_; }
  // For which newcomers it is, or would be if it were time to begin one.
  std::vector<PeerId> waited_for() const;
  // How much longer pauses may be, all together.
  Duration budget() const { return budget_; }
  TimePoint deadline() const;

 private:
  struct Newcomer {
    // It has asked for results; before that it takes the state.
    bool applies = false;
    bool slow = false;
    // In how many observations it was near.
    int near = 0;
    bool waited_for = false;
    // The first and the latest result that it has asked for, when the latter became known, and the
    // longest time between two such news.
    Round first;
    Round asked;
    TimePoint moved;
    Duration gap{};
    // The time that it needs for a result; zero: not known.
    Duration pace{};
    // At the beginning of the present observation.
    TimePoint since;
    Round since_asked;
    Round since_committed;
    std::uint64_t since_lag = 0;
  };

  static std::uint64_t lag(const Newcomer& newcomer, Round committed);
  static Duration patience(const Newcomer& newcomer);
  static void observe_from(Newcomer& newcomer, Round committed, TimePoint now);
  static void judge(Newcomer& newcomer, Round committed, TimePoint now);
  bool may_begin(const Newcomer& newcomer, Round committed) const;
  void account(const Moment& moment);

  std::map<PeerId, Newcomer> newcomers_;
  bool holds_ = false;
  Duration budget_ = kBudget;
  // How long the round after this one has been held back, and may be.
  Round after_;
  Duration paused_{};
  Duration pause_max_{};
  TimePoint settled_at_{};

  static constexpr Duration kBudget = std::chrono::minutes(1);
};

}  // namespace weft
