// HierarchicalAllReduce: within each host to one member, between those, and back.
//
// For groups in which several members share a host, with fast links inside (shared memory) and slow
// ones outside: only one member of each host uses the outside links, and each outside link carries
// 2 (h-1)/h of the vector instead of 2 (n-1)/n. The vector is split into buckets, each with three
// collectives of its own, so that the stages overlap:
//
//   up      the host's members send their inputs to its first, which sums them by rank
//   across  the firsts all-reduce round a ring, in the wire's precision
//   down    each first hands the sum on to its host
//
// All members get the bits of the result of `across`. They agree on which members share a host:
// CollectiveOptions::hosts. Memory: two vectors besides the result.
#pragma once

#include <memory>
#include <vector>

#include "weft/base/status.h"
#include "weft/collective/reduce/collective.h"

namespace weft {

class HierarchicalAllReduce final : public Collective {
 public:
  // REQUIRES: options.hosts has a number for each rank.
  HierarchicalAllReduce(const CollectiveOptions& options, std::int64_t elements,
                        CollectiveSink& sink, std::shared_ptr<FloatBuffer> buffer);
  ~HierarchicalAllReduce() override;

  void contribute(std::int64_t offset, std::span<const float> values) override;
  Status on_frame(Rank from, const FrameView& frame) override;
  MutableByteSpan body_destination(Rank from, ByteSpan head, std::size_t body_bytes) override;
  void on_writable(Rank to) override;
  void on_link_down(Rank to) override;
  Status resume(Rank to, ByteSpan received) override;
  Bytes received_map(Rank from) const override;
  std::size_t map_size() const override;
  bool contributed() const override;
  bool complete() const override { return finished_ == buckets_; }
  bool sent_all() const override;
  Rank waits_for() const override;
  std::shared_ptr<FloatBuffer> result() const override { return result_; }
  std::int64_t elements() const override { return elements_; }

 private:
  class Stage;
  // A frame's stage, with the head that the stage understands.
  struct Target {
    Stage* stage = nullptr;
    Bytes head;
    Rank from;
  };

  Result<Target> find(Rank from, ByteSpan head) const;
  std::unique_ptr<Stage> make_stage(std::uint32_t number);
  // Passes on the finished values of a stage.
  void advance(std::uint32_t bucket);
  Stage* up(std::uint32_t bucket) const { return stages_[3 * bucket].get(); }
  Stage* across(std::uint32_t bucket) const { return stages_[3 * bucket + 1].get(); }
  Stage* down(std::uint32_t bucket) const { return stages_[3 * bucket + 2].get(); }
  std::int64_t bucket_begin(std::uint32_t bucket) const { return bucket * bucket_elements_; }
  std::int64_t bucket_end(std::uint32_t bucket) const;

  const CollectiveOptions options_;
  const std::int64_t elements_;
  const std::uint8_t form_;
  CollectiveSink& sink_;
  std::shared_ptr<FloatBuffer> result_;
  // By rank: those of this member's host, and the first of each host.
  std::vector<Rank> host_;
  std::vector<Rank> firsts_;
  std::int64_t bucket_elements_ = 0;
  std::uint32_t buckets_ = 0;
  std::uint32_t finished_ = 0;
  // Three a bucket; null where this member has no part.
  std::vector<std::unique_ptr<Stage>> stages_;
};

}  // namespace weft
