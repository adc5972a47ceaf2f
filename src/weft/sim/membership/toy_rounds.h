// ToyRounds: rounds with the commit rule of the real ones and a token instead of gradients.
//
// A round is a token that runs round the ring twice: the first lap mixes every member's part into
// one number, the second distributes it. A member that has it is done and notifies all; a member
// that has received that from all commits. A member that lacks committed rounds asks others for
// their state. Threads: one owner.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "weft/base/rng.h"
#include "weft/net/transport.h"
#include "weft/peer/view.h"
#include "weft/wire/codec.h"

namespace weft {

// What stands for the parameters. Each committed round is one sample.
struct ToyState {
  std::uint64_t number = 0;
  std::uint64_t samples = 0;
  // The branch whose state this is, and the branches that were averaged in.
  Hash256 branch{};
  std::vector<AbsorbedBranch> absorbed;
  // By branch: up to which round it has learned from it.
  std::map<Hash256, std::uint64_t> learned;

  Bytes encode() const;
  static ToyState decode(Reader& in);
  Hash256 hash() const { return sha256(encode()); }
};

class ToyRounds {
 public:
  struct Outlet {
    std::function<void(const PeerId& to, std::uint8_t type, Bytes head)> send;
    std::function<void(Round round, const ToyState& state)> committed;
  };

  ToyRounds(const PeerId& self, Duration interval, Outlet outlet, Rng rng);

  // --- Membership.
  RoundStatus status() const;
  void on_freeze() { frozen_ = true; }
  void on_view(const View& view, bool caught_up, TimePoint now);
  void on_link_up(const PeerId& peer, TimePoint now);
  // Joiner: ask `members` for a state of their branch, at least at `at_least`.
  void fetch(const View& members, Round at_least, TimePoint now);
  bool fetching() const { return wanted_.has_value(); }
  std::uint64_t samples_after(Round round) const {
    return state_.samples + round.value() - applied_.value();
  }
  // In a view that yields, once the state is that of its base round: its hash, given once.
  std::optional<Hash256> take_offer();
  // Asks `members` for the state with this hash until it is here.
  void fetch_offer(const View& members, const Hash256& snapshot, TimePoint now);
  std::optional<Hash256> take_fetched();

  // --- Events.
  void on_frame(const PeerId& from, const FrameView& frame, TimePoint now);
  void on_timer(TimePoint now);
  TimePoint next_deadline() const;

  Round applied() const { return applied_; }
  // In which the rounds are run, or the joiner's sources.
  const View& view() const { return rank_ >= 0 ? view_ : sources_; }
  // A new life: nothing is known but what was offered to others.
  void forget();

 private:
  struct Token {
    Round round;
    // 0 .. 2n - 1: how many members have had it, over both laps.
    std::uint32_t hops = 0;
    std::uint64_t number = 0;
  };

  Bytes encode(const Token& token) const;
  void on_token(Token token, TimePoint now);
  void pass(Token token, TimePoint now);
  void take(const Token& token, TimePoint now);
  void be_done(Round round, std::uint64_t result, TimePoint now);
  void commit(Round round, std::uint64_t result, TimePoint now);
  void commit_if_all(TimePoint now);
  void say_done(const PeerId& to);
  void count_done();
  void adopt(Round round, const ToyState& state, TimePoint now);
  bool is_state_of(const Lineage& lineage) const {
    return state_.branch == lineage.branch() && state_.absorbed == lineage.absorbed;
  }
  void merge(const ToyState& other);
  void on_state(Reader& in, TimePoint now);
  void on_fetch(const PeerId& from, Reader& in);
  void on_done(const PeerId& from, Reader& in, TimePoint now);
  void ask_offers(TimePoint now);
  void ask(TimePoint now);
  void begin_round(TimePoint now);
  const PeerId& at(int rank) const {
    return view_.members[static_cast<std::size_t>(rank % view_.size())].id;
  }

  PeerId self_;
  Duration interval_;
  Outlet outlet_;
  Rng rng_;

  View view_;
  int rank_ = -1;
  bool frozen_ = false;
  Round applied_;
  ToyState state_;
  // The result of round applied_ + 1, had but not committed.
  std::optional<std::uint64_t> result_;
  // Whether the others have been notified: only then may it be committed in this view.
  bool told_ = false;
  // What the others have said; and how many of them are done with round applied_ + 1.
  std::map<PeerId, Round> done_;
  int done_count_ = 0;
  std::optional<Token> held_;
  std::optional<Token> sent_;
  // The token of a view that is not installed here yet.
  std::optional<std::pair<ViewId, Token>> early_;
  std::uint32_t hops_seen_ = 0;
  TimePoint begin_at_ = TimePoint::max();

  // States that were offered, here or by others, by their hash.
  std::map<Hash256, ToyState> offers_;
  std::map<Hash256, View> wanted_offers_;
  std::optional<Hash256> offer_;
  std::vector<Hash256> fetched_;
  TimePoint ask_offers_at_ = TimePoint::max();

  View sources_;
  std::optional<Round> wanted_;
  TimePoint ask_at_ = TimePoint::max();
};

}  // namespace weft
