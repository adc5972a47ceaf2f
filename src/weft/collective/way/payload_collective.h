// PayloadCollective: each member encodes its whole input once; all gather all payloads, decode and
// combine them.
//
// This is for codecs whose sums cannot be encoded on the way: top-k, signs. Each member sends its
// payload to each other member, in segments; everybody decodes the payloads in rank order, so all
// hold the same bits: those that one place would compute from the payloads. What travels from each
// member to each other is
//
//   head + payload, at most Codec::bytes_max                                   (codec/payload.h)
//
// so a member sends (n-1) times that, however fast its links are. Receivers (CollectiveOptions) get
// all payloads, too, and send none. The sender determines the length: the first segment states it,
// and it is checked before anything that long is allocated. A payload that does not decode is its
// sender's fault, found when its last segment comes.
//
// The encoder is borrowed: the owner of the round commits or rolls back its state (round_codec.h).
// Memory: the input, the result and one decoded vector, and the payloads of members that came
// before those of lower ranks.
// Threads and failures: see collective.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "weft/base/bytes.h"
#include "weft/base/status.h"
#include "weft/codec/error_feedback.h"
#include "weft/collective/reduce/collective.h"
#include "weft/collective/reduce/input_pieces.h"

namespace weft {

class PayloadCollective final : public Collective {
 public:
  // REQUIRES: an encoder, the kind kAllReduce.
  PayloadCollective(const CollectiveOptions& options, std::int64_t elements, CollectiveSink& sink,
                    std::shared_ptr<FloatBuffer> buffer);

  void contribute(std::int64_t offset, std::span<const float> values) override;
  Status on_frame(Rank from, const FrameView& frame) override;
  MutableByteSpan body_destination(Rank from, ByteSpan head, std::size_t body_bytes) override;
  void on_writable(Rank to) override { pump(to); }
  void on_link_down(Rank to) override;
  Status resume(Rank to, ByteSpan received) override;
  Bytes received_map(Rank from) const override;
  std::size_t map_size() const override { return segments_max_; }
  bool contributed() const override { return receives() || !own_.empty(); }
  bool complete() const override { return folded_ == options_.size; }
  bool sent_all() const override;
  Rank waits_for() const override;
  std::shared_ptr<FloatBuffer> result() const override { return result_; }
  std::int64_t elements() const override { return elements_; }

  // The longest that a member sends to another, heads of frames apart.
  std::size_t body_bytes_max() const { return body_bytes_max_; }

 private:
  struct Peer {
    // The payload as it arrives: one segment, and the whole body once its head was read.
    Bytes body;
    // Segments of it that are here; the bytes of all of them, once known.
    std::uint32_t received = 0;
    std::optional<std::size_t> total;
    // All of it is here and decodes.
    bool whole = false;

    bool open = false;
    // The next segment of the own body to be sent there.
    std::uint32_t next = 0;
  };

  Peer& peer(Rank rank) { return peers_[static_cast<std::size_t>(rank.value())]; }
  const Peer& peer(Rank rank) const { return peers_[static_cast<std::size_t>(rank.value())]; }
  bool receives() const { return options_.rank.value() >= options_.size; }
  int ranks() const { return options_.size + options_.receivers; }
  std::uint32_t segments_of(std::size_t body_bytes) const;
  Status check(Rank from, ByteSpan head, std::size_t body_bytes) const;
  // The place of the next segment from `from`. REQUIRES: check() of this many bytes.
  MutableByteSpan place_of(Rank from, std::size_t body_bytes);
  Status take_segment(Rank from);
  void encode_input();
  // scratch_ = what the body decodes to.
  Status decode_body(ByteSpan body);
  // Adds whole payloads as far as none of a lower rank is missing.
  void fold();
  void pump(Rank to);
  void pump_all();

  const CollectiveOptions options_;
  const std::int64_t elements_;
  const std::uint8_t form_;
  const std::size_t segment_bytes_;
  const std::size_t body_bytes_max_;
  const std::uint32_t segments_max_;
  CollectiveSink& sink_;
  std::shared_ptr<FloatBuffer> result_;
  InputPieces input_;
  std::vector<float> scratch_;
  SharedBytes own_;
  std::vector<Peer> peers_;
  // Members whose payloads are in the result, from rank 0 on.
  int folded_ = 0;
};

}  // namespace weft
