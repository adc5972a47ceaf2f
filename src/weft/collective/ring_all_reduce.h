// RingAllReduce: reduce-scatter and all-gather round the ring, segment by segment.
//
// IMPLEMENTATION: Patarasuk, Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
// workstations", JPDC 69 (2009). We differ in that there are no steps: a segment of chunk c starts
// at rank c + 1, each member adds its input and sends it on as soon as it has both, its owner c
// finishes it and sends the sum round; segments wait for nothing but their own data and a place in
// one first-in-first-out queue. Bytes sent by a member: 2 (n-1)/n of the vector; additions (n-1)/n.
// The order of additions is the ring's: ((x[c+1] + x[c+2]) + ...) + x[c].
//
// Partial sum and finished sum of a segment use one place in the result buffer: the finished sum
// can only arrive after the next member has read the partial one.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "weft/collective/all_reduce.h"
#include "weft/collective/input_pieces.h"
#include "weft/collective/segment_plan.h"

namespace weft {

class RingAllReduce final : public AllReduce {
 public:
  RingAllReduce(const AllReduceOptions& options, std::int64_t elements, AllReduceSink& sink,
                std::shared_ptr<FloatBuffer> buffer);

  void contribute(std::int64_t offset, std::span<const float> values) override;
  Status on_frame(Rank from, const FrameView& frame) override;
  MutableByteSpan body_destination(Rank from, ByteSpan head, std::size_t body_bytes) override;
  void on_writable(Rank to) override;
  void on_link_down(Rank to) override;
  Status resume(Rank to, ByteSpan received) override;
  Bytes received_map(Rank from) const override;
  bool contributed() const override { return input_.whole(); }
  bool complete() const override { return final_ == slots_.size(); }
  bool sent_all() const override { return open_ && queue_.empty(); }
  Rank waits_for() const override;
  std::shared_ptr<FloatBuffer> result() const override { return buffer_; }
  std::int64_t elements() const override { return elements_; }

 private:
  enum class State : std::uint8_t {
    kEmpty,    // nothing here yet
    kPartial,  // the predecessor's partial sum, our input not added yet
    kSummed,   // with our input; sent on, or about to be
    kFinal,
  };
  struct Slot {
    Segment segment;
    std::int64_t covered = 0;  // elements of our input that are here
    State state = State::kEmpty;
    bool input_ready() const { return covered == segment.elements; }
  };
  struct Outgoing {
    std::uint32_t segment = 0;
    CollectiveOp op{};
  };

  Rank next() const { return Rank((options_.rank.value() + 1) % options_.size); }
  Rank previous() const {
    return Rank((options_.rank.value() + options_.size - 1) % options_.size);
  }
  bool starts(const Slot& slot) const { return slot.segment.owner == previous(); }
  bool owns(const Slot& slot) const { return slot.segment.owner == options_.rank; }
  // The next member owns it: it has the finished sum already.
  bool ends(const Slot& slot) const { return slot.segment.owner == next(); }
  std::span<float> values(const Slot& slot) const;
  // The slot a head names; an error for a frame that may not come now.
  Result<std::uint32_t> accept(Rank from, ByteSpan head, std::size_t body_bytes) const;
  void take_input(std::uint32_t index);
  void add_input(std::uint32_t index, ByteSpan received);
  void take_final(std::uint32_t index);
  void enqueue(std::uint32_t index, CollectiveOp op);
  void pump();

  const AllReduceOptions options_;
  const std::int64_t elements_;
  AllReduceSink& sink_;
  std::shared_ptr<FloatBuffer> buffer_;
  InputPieces input_;
  std::vector<Slot> slots_;
  std::size_t final_ = 0;
  std::deque<Outgoing> queue_;
  bool open_;
};

}  // namespace weft
