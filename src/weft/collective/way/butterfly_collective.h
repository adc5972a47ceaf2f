// ButterflyCollective: each member sends each other one the chunks that it owns; owners sum and
// send the sum to all.
//
// IMPLEMENTATION: direct-exchange reduce-scatter and all-gather (R. Thakur, R. Rabenseifner,
// W. Gropp, "Optimization of collective communication operations in MPICH", IJHPCA 19, 2005, the
// pairwise exchange), without steps: each segment is sent when it is ready. It sends the same bytes
// as a ring, with two delays instead of 2 (n-1), but over n-1 links per member. Sums are in rank
// order:
// ((x[0] + x[1]) + ...) + x[n-1].
// Memory: the vector, and the inputs of the others for this member's chunks, (n-1)/n of a vector.
//
// The owner has all n inputs of its chunks, so an Aggregator may replace the sum. One that needs
// distances has one more phase: each owner sends those of its chunks to the other owners, (n + 1) n
// / 2 numbers; all add them in rank order and make the same selection; only then are chunks
// combined.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "weft/aggregate/aggregator.h"
#include "weft/base/status.h"
#include "weft/collective/reduce/segment_store.h"

namespace weft {

class ButterflyCollective final : public Collective {
 public:
  ButterflyCollective(const CollectiveOptions& options, std::int64_t elements, CollectiveSink& sink,
                      std::shared_ptr<FloatBuffer> buffer);

  void contribute(std::int64_t offset, std::span<const float> values) override;
  Status on_frame(Rank from, const FrameView& frame) override;
  MutableByteSpan body_destination(Rank from, ByteSpan head, std::size_t body_bytes) override;
  void on_writable(Rank to) override { pump(to); }
  void on_link_down(Rank to) override;
  Status resume(Rank to, ByteSpan received) override;
  Bytes received_map(Rank from) const override;
  // Each segment, and the table of distances if there is one.
  std::size_t map_size() const override { return store_.count() + (measures_ ? 1 : 0); }
  bool contributed() const override { return inputs_due_ == 0; }
  bool complete() const override { return finished_ == store_.count(); }
  bool sent_all() const override;
  Rank waits_for() const override;
  std::shared_ptr<FloatBuffer> result() const override { return store_.buffer(); }
  std::int64_t elements() const override { return elements_; }

 private:
  enum class State : std::uint8_t {
    kEmpty,
    kGiven,  // our input is in the place: sent to the owner, or about to be; own: not all are here
    kFinal,
  };
  struct Slot {
    State state = State::kEmpty;
    // Own segments: the others' inputs as they travelled, one after the other by rank; which are
    // here; how many.
    std::shared_ptr<FloatBuffer> inbox;
    std::vector<bool> here;
    int count = 0;
  };
  struct Outgoing {
    std::uint32_t segment = 0;
    CollectiveOp op{};
  };
  struct Peer {
    bool open = false;
    std::deque<Outgoing> queue;
  };

  Rank owner(std::uint32_t index) const { return store_.segment(index).owner; }
  bool owns_any(Rank rank) const { return owners_[static_cast<std::size_t>(rank.value())]; }
  bool owns(std::uint32_t index) const { return owner(index) == options_.rank; }
  bool needs_input(std::uint32_t index) const { return reduces_ || owns(index); }
  Peer& peer(Rank rank) { return peers_[static_cast<std::size_t>(rank.value())]; }
  Result<std::uint32_t> accept(Rank from, const SegmentHead& head, std::size_t body_bytes) const;
  // The place of rank `from`'s input for one of this member's segments.
  MutableByteSpan inbox_of(std::uint32_t index, Rank from);
  void take_input(std::uint32_t index);
  void reduce_if_whole(std::uint32_t index);
  void add_in_rank_order(std::uint32_t index);
  void add_exact(std::uint32_t index);
  // The inputs of an own segment by rank, each decoded into a vector of `memory`.
  std::vector<std::span<const float>> inputs_of(std::uint32_t index,
                                                std::vector<std::vector<float>>& memory);
  void combine(std::uint32_t index);
  // Measures this member's segments in order as far as they are complete; after the last one sends
  // the table.
  void measure();
  // Called once the tables of all owners are here.
  void combine_all();
  MutableByteSpan table_of(Rank rank);
  SharedBytes shared_table();
  Status take_table(Rank from, ByteSpan body);
  void take_final(std::uint32_t index);
  void enqueue(Rank to, std::uint32_t index, CollectiveOp op);
  void pump(Rank to);
  void pump_all();

  const CollectiveOptions options_;
  const std::int64_t elements_;
  const std::uint8_t form_;
  const bool reduces_;
  const bool gathers_;
  // The aggregator needs distances.
  const bool measures_;
  CollectiveSink& sink_;
  SegmentStore store_;
  std::vector<Slot> slots_;
  std::vector<Peer> peers_;
  // By rank: whether it owns a segment; the distances that it measured; whether they are here.
  std::vector<bool> owners_;
  std::vector<Distances> tables_;
  std::vector<bool> table_here_;
  // The aggregator's selection; if it needs distances, once all tables have arrived.
  WeightMatrix weights_;
  // The first segment that is not measured, or not another's.
  std::uint32_t measured_ = 0;
  std::uint32_t inputs_due_ = 0;
  std::uint32_t finished_ = 0;
};

}  // namespace weft
