// DeliveryCollective: an all-reduce of a team whose result members outside of it get as well.
//
//   team member                                   receiver
//     the team's own algorithm -> result ->         parts of the result -> result
//
// The vector is cut into parts of `segment_bytes`. Part p goes to receiver r from the team's rank
// (p + r) mod n, as f32, which is what all of the team hold: so each member of the team sends about
// 1/n of the vector to each receiver, and no member is special. A part is sent when the whole
// result is complete. What a member of the team sends wrongly shows in the hash of the receiver's
// result, not here.
// Cost beside the team's own: one more delay, v/n bytes from each member to each receiver.
//
// Threads and failures: see collective.h.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "weft/base/bytes.h"
#include "weft/base/status.h"
#include "weft/collective/reduce/collective.h"

namespace weft {

class DeliveryCollective final : public Collective {
 public:
  // REQUIRES: the kind kAllReduce, receivers, no encoder.
  DeliveryCollective(const CollectiveOptions& options, std::int64_t elements, CollectiveSink& sink,
                     std::shared_ptr<FloatBuffer> buffer);

  void contribute(std::int64_t offset, std::span<const float> values) override;
  Status on_frame(Rank from, const FrameView& frame) override;
  MutableByteSpan body_destination(Rank from, ByteSpan head, std::size_t body_bytes) override;
  void on_writable(Rank to) override;
  void on_link_down(Rank to) override;
  Status resume(Rank to, ByteSpan received) override;
  Bytes received_map(Rank from) const override;
  // For a receiver; the team's maps are those of its own algorithm.
  std::size_t map_size() const override { return parts_; }
  bool contributed() const override { return !team_ || team_->contributed(); }
  bool complete() const override { return team_ ? team_->complete() : missing_ == 0; }
  bool sent_all() const override;
  Rank waits_for() const override;
  std::shared_ptr<FloatBuffer> result() const override { return result_; }
  std::int64_t elements() const override { return elements_; }
  std::vector<ExchangeFinding> take_findings() override {
    return team_ ? team_->take_findings() : std::vector<ExchangeFinding>{};
  }

 private:
  // The data that a member of the team sends to one receiver.
  struct Receiver {
    bool open = false;
    // The next part to look at.
    std::uint32_t next = 0;
    // Parts that it has had over an earlier link; empty: none.
    Bytes received;
  };

  bool is_receiver(Rank rank) const { return rank.value() >= options_.size; }
  Rank sender_of(std::uint32_t part, Rank receiver) const;
  MutableByteSpan place(std::uint32_t part) const;
  Receiver& receiver(Rank rank) {
    return receivers_[static_cast<std::size_t>(rank.value() - options_.size)];
  }
  // At a receiver.
  Status check(Rank from, ByteSpan head, std::size_t body_bytes) const;
  // At a member of the team: sends what may be sent now.
  void pump(Rank to);
  void pump_all();

  const CollectiveOptions options_;
  const std::int64_t elements_;
  const std::size_t part_elements_;
  const std::uint32_t parts_;
  const std::uint8_t form_;
  CollectiveSink& sink_;
  std::shared_ptr<FloatBuffer> result_;
  // The team's own exchange; null at a receiver.
  std::unique_ptr<Collective> team_;
  std::vector<Receiver> receivers_;
  // At a receiver: 2 for each part that is here, and how many are not.
  Bytes have_;
  std::uint32_t missing_ = 0;
};

}  // namespace weft
