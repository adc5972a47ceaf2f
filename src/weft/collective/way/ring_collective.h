// RingCollective: reduce-scatter and all-gather round the ring, segment by segment.
//
// IMPLEMENTATION: Patarasuk, Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
// workstations", JPDC 69 (2009). The difference is that there are no steps: a segment of chunk c
// starts at rank c + 1, each member adds its input and sends it on as soon as it has both, its
// owner c completes it and sends the sum round the ring; segments wait only for their own data and
// a place in one first-in-first-out queue. Bytes sent by a member: 2 (n-1)/n of the vector;
// additions (n-1)/n. The order of additions is the ring's: ((x[c+1] + x[c+2]) + ...) + x[c].
//
// A reduce-scatter is the first half, an all-gather the second; a broadcast is a gather whose
// segments all belong to the root, a chain from it to the member before it.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "weft/base/status.h"
#include "weft/collective/reduce/segment_store.h"

namespace weft {

class RingCollective final : public Collective {
 public:
  RingCollective(const CollectiveOptions& options, std::int64_t elements, CollectiveSink& sink,
                 std::shared_ptr<FloatBuffer> buffer);

  void contribute(std::int64_t offset, std::span<const float> values) override;
  Status on_frame(Rank from, const FrameView& frame) override;
  MutableByteSpan body_destination(Rank from, ByteSpan head, std::size_t body_bytes) override;
  void on_writable(Rank to) override;
  void on_link_down(Rank to) override;
  Status resume(Rank to, ByteSpan received) override;
  Bytes received_map(Rank from) const override;
  std::size_t map_size() const override { return store_.count(); }
  bool contributed() const override { return inputs_due_ == 0; }
  bool complete() const override { return finished_ == store_.count(); }
  bool sent_all() const override { return open_ && queue_.empty(); }
  Rank waits_for() const override;
  std::shared_ptr<FloatBuffer> result() const override { return store_.buffer(); }
  std::int64_t elements() const override { return elements_; }

 private:
  enum class State : std::uint8_t {
    kEmpty,    // nothing here yet
    kPartial,  // the predecessor's partial sum, our input not added yet
    kSummed,   // with our input; sent on, or about to be
    kFinal,
  };

  Rank next() const { return Rank((options_.rank.value() + 1) % options_.size); }
  Rank previous() const {
    return Rank((options_.rank.value() + options_.size - 1) % options_.size);
  }
  Rank owner(std::uint32_t index) const { return store_.segment(index).owner; }
  bool starts(std::uint32_t index) const { return owner(index) == previous(); }
  bool owns(std::uint32_t index) const { return owner(index) == options_.rank; }
  // The next member owns it: it has the finished sum already.
  bool ends(std::uint32_t index) const { return owner(index) == next(); }
  bool needs_input(std::uint32_t index) const { return reduces_ || owns(index); }
  // The predecessor still owes it.
  bool missing(std::uint32_t index) const;
  // The segment a head names; an error for a frame that may not come now.
  Result<std::uint32_t> accept(Rank from, ByteSpan head, std::size_t body_bytes) const;
  void take_input(std::uint32_t index);
  void add_input(std::uint32_t index, ByteSpan received);
  void take_sum(std::uint32_t index);
  void take_final(std::uint32_t index);
  void enqueue(std::uint32_t index, CollectiveOp op);
  void pump();

  const CollectiveOptions options_;
  const std::int64_t elements_;
  const std::uint8_t form_;
  const bool reduces_;
  const bool gathers_;
  CollectiveSink& sink_;
  SegmentStore store_;
  std::vector<State> states_;
  std::uint32_t inputs_due_ = 0;
  std::uint32_t finished_ = 0;
  // Lowest segment first: a bucket passes through all its steps while it is in the cache, instead
  // of the whole vector step by step.
  std::map<std::uint32_t, CollectiveOp> queue_;
  bool open_;
};

}  // namespace weft
