// TreeAllReduce: the whole vector, doubled: after step k all of a block of 2^k members agree.
//
// IMPLEMENTATION: recursive doubling (R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of
// collective communication operations in MPICH", IJHPCA 19, 2005). Members beyond the largest power
// of two send their input to a partner first and get the result at the end. In each exchange both
// sides add the lower block's sum and the upper block's, in this order, so all hold the same bits.
// For small vectors of many members: log2 n delays, log2 n frames per member. Values are sent as
// f32.
//
// Steps: 0 an extra member's input; 1 .. k the exchanges; k + 1 the result for the extra member.
// Memory: two vectors per step, because they may still be in flight while the next is computed.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "weft/base/status.h"
#include "weft/collective/reduce/collective.h"
#include "weft/collective/reduce/input_pieces.h"

namespace weft {

class TreeAllReduce final : public Collective {
 public:
  TreeAllReduce(const CollectiveOptions& options, std::int64_t elements, CollectiveSink& sink,
                std::shared_ptr<FloatBuffer> buffer);

  void contribute(std::int64_t offset, std::span<const float> values) override;
  Status on_frame(Rank from, const FrameView& frame) override;
  MutableByteSpan body_destination(Rank from, ByteSpan head, std::size_t body_bytes) override;
  void on_writable(Rank /*to*/) override {}
  void on_link_down(Rank to) override;
  Status resume(Rank to, ByteSpan received) override;
  Bytes received_map(Rank from) const override;
  std::size_t map_size() const override { return steps_.size(); }
  bool contributed() const override { return input_.whole(); }
  bool complete() const override { return complete_; }
  bool sent_all() const override;
  Rank waits_for() const override;
  std::shared_ptr<FloatBuffer> result() const override { return result_; }
  std::int64_t elements() const override { return elements_; }

 private:
  // One exchange with one partner; either direction may be missing.
  struct Step {
    Rank partner;
    bool sends = false;
    bool receives = false;
    std::shared_ptr<FloatBuffer> out;  // null until it can be sent
    bool sent = false;
    std::shared_ptr<FloatBuffer> in;
    bool received = false;
  };

  std::uint32_t steps() const { return static_cast<std::uint32_t>(steps_.size()); }
  Result<std::uint32_t> accept(Rank from, ByteSpan head, std::size_t body_bytes) const;
  std::shared_ptr<FloatBuffer>& buffer(std::shared_ptr<FloatBuffer>& place) const;
  // Executes the steps as far as the present data allows.
  void advance();
  // False if the step still waits.
  bool pass(Step& step);
  void pump();

  const CollectiveOptions options_;
  const std::int64_t elements_;
  const std::uint8_t form_;
  CollectiveSink& sink_;
  std::shared_ptr<FloatBuffer> result_;
  InputPieces input_;
  // The partial sum so far; null before the input is complete.
  std::shared_ptr<FloatBuffer> sum_;
  std::vector<Step> steps_;
  std::size_t at_ = 0;
  std::vector<bool> open_;
  bool complete_ = false;
};

}  // namespace weft
