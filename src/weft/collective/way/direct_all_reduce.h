// DirectAllReduce: every member sends its input to every other; all sum in rank order.
//
// For small vectors: one network delay instead of 2 (n-1), for n-1 times the bytes. The order of
// additions is ((x[0] + x[1]) + x[2]) + ...
#pragma once

#include <memory>
#include <vector>

#include "weft/base/status.h"
#include "weft/collective/reduce/collective.h"
#include "weft/collective/reduce/input_pieces.h"

namespace weft {

class DirectAllReduce final : public Collective {
 public:
  DirectAllReduce(const CollectiveOptions& options, std::int64_t elements, CollectiveSink& sink,
                  std::shared_ptr<FloatBuffer> buffer);

  void contribute(std::int64_t offset, std::span<const float> values) override;
  Status on_frame(Rank from, const FrameView& frame) override;
  MutableByteSpan body_destination(Rank from, ByteSpan head, std::size_t body_bytes) override;
  void on_writable(Rank /*to*/) override {}
  void on_link_down(Rank to) override;
  Status resume(Rank to, ByteSpan received) override;
  Bytes received_map(Rank from) const override;
  std::size_t map_size() const override { return 1; }
  bool contributed() const override { return input_.whole(); }
  bool complete() const override { return complete_; }
  bool sent_all() const override;
  Rank waits_for() const override;
  std::shared_ptr<FloatBuffer> result() const override { return result_; }
  std::int64_t elements() const override { return elements_; }

 private:
  struct Peer {
    std::shared_ptr<FloatBuffer> input;
    bool received = false;
    bool open = false;
    bool sent = false;
  };

  Peer& peer(Rank rank) { return peers_[static_cast<std::size_t>(rank.value())]; }
  const Peer& peer(Rank rank) const { return peers_[static_cast<std::size_t>(rank.value())]; }
  Status check(Rank from, ByteSpan head, std::size_t body_bytes) const;
  std::span<float> input_of(Rank rank);
  void pump();
  void finish_if_whole();

  const CollectiveOptions options_;
  const std::int64_t elements_;
  const std::uint8_t form_;
  CollectiveSink& sink_;
  std::shared_ptr<FloatBuffer> result_;
  InputPieces input_;
  std::vector<Peer> peers_;
  bool complete_ = false;
};

}  // namespace weft
