// TeamExchange: one exchange of an open round: a Collective in the team's ranks, seen from the
// view's.
//
// The collective counts the team's members from 0 and after them, in the order of the view, the
// members that only receive. The collective answers kCorrupt to a frame about segments in which its
// sender has no part.
//
// Where it stands: a RoundAttempt owns one for each exchange of its plan. Threads: one owner.
// Failures: see collective.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "weft/base/bytes.h"
#include "weft/base/status.h"
#include "weft/collective/reduce/all_reduce.h"
#include "weft/collective/team/team.h"

namespace weft {

class TeamExchange final : private CollectiveSink {
 public:
  // `options` are those of the exchange but for its ranks, which the team has. `members` sends to
  // ranks of the view; it is borrowed and must outlive this. The result is written to `result`,
  // whose size is that of the vector.
  // `make_core` empty: make_collective().
  TeamExchange(Team team, Rank self, AllReduceOptions options, CollectiveSink& members,
               std::shared_ptr<FloatBuffer> result, const CollectiveMaker& make_core = {});

  // All ranks are the view's.
  const Team& team() const { return team_; }
  std::int64_t elements() const { return collective_->elements(); }
  // This member is in the team.
  bool gives() const { return gives_; }
  // REQUIRES: gives().
  void contribute(std::int64_t offset, std::span<const float> values);
  Status on_frame(Rank from, const FrameView& frame);
  MutableByteSpan body_destination(Rank from, ByteSpan head, std::size_t body_bytes);
  void on_writable(Rank to) { collective_->on_writable(local(to)); }
  void on_link_down(Rank to) { collective_->on_link_down(local(to)); }
  Status resume(Rank to, ByteSpan received) { return collective_->resume(local(to), received); }
  // Empty where nothing is here.
  Bytes received_map(Rank from) const;
  bool contributed() const { return collective_->contributed(); }
  bool complete() const { return collective_->complete(); }
  Rank waits_for() const { return member(collective_->waits_for()); }
  // See collective.h.
  std::vector<ExchangeFinding> take_findings();

 private:
  void send(Rank to, Frame frame) override { members_.send(member(to), std::move(frame)); }
  std::size_t queued_bytes(Rank to) const override { return members_.queued_bytes(member(to)); }

  Rank local(Rank member) const { return locals_[static_cast<std::size_t>(member.value())]; }
  Rank member(Rank local) const { return order_[static_cast<std::size_t>(local.value())]; }

  const Team team_;
  const bool gives_;
  CollectiveSink& members_;
  // The view's ranks in the order in which the collective counts them, and the inverse.
  std::vector<Rank> order_;
  std::vector<Rank> locals_;
  std::unique_ptr<AllReduce> collective_;
};

}  // namespace weft
