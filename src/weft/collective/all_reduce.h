// AllReduce: the sum of one f32 vector over the members of a view, once; a core without I/O.
//
// Two ways, chosen by size so that every member chooses the same: round the ring
// (ring_all_reduce.h), or, for small vectors, each member sends its input to each other and all
// sum in rank order (direct_all_reduce.h). Either way all members get the same bits, inputs are
// never written to, and a partial sum or result is written straight into the buffer from which it
// is sent on. A ring sees partial sums only: no aggregator but the sum can use it.
//
// Where it stands: RoundCore (and the all-reduce bench) own one and carry its frames.
// Threads: one owner. Frames that it sent may outlive it: they keep its buffer alive.
// Fails: on_frame and resume give kCorrupt for whatever a correct member would not send, and
// kInvalidArgument where two correct members disagree on what they reduce. Data is then lost:
// destroy this and end the link.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "weft/base/bytes.h"
#include "weft/base/status.h"
#include "weft/net/transport.h"
#include "weft/wire/collective_message.h"

namespace weft {

struct AllReduceOptions {
  CollectiveId id;
  Rank rank;
  int size = 1;
  // A segment travels as one frame: at most kFrameBodyBytesMax.
  std::size_t segment_bytes = 256 * 1024;
  // The vector is cut into buckets of about this size, each split over all members, so that the
  // exchange of a bucket can begin while the next one is not contributed yet.
  std::size_t bucket_bytes = 4 * 1024 * 1024;
  // Vectors of at most so many bytes are exchanged directly.
  std::size_t direct_bytes_max = 32 * 1024;
  // Nothing more is sent to a member for whom so many bytes are queued. More than the transport's
  // low-water mark, or on_writable never comes.
  std::size_t queue_bytes_max = 1024 * 1024;
  // False: nothing is sent to a member before resume() was called for it.
  bool start_open = true;
};

// Borrowed by an AllReduce and must outlive it.
class AllReduceSink {
 public:
  virtual ~AllReduceSink() = default;
  // Sends on the bulk lane. A failure is the link's: on_link_down(to) follows.
  virtual void send(Rank to, Frame frame) = 0;
  // Bytes in the bulk queue to that member.
  virtual std::size_t queued_bytes(Rank to) const = 0;
};

// Uninitialised floats with an owner that frames can share. Large ones lie in huge pages where the
// system has them: vectors are copied in and out of sockets by the megabyte, and with small pages a
// third of that time is spent on address translation.
class FloatBuffer {
 public:
  explicit FloatBuffer(std::int64_t elements);
  std::span<float> span() { return {values_.get(), size_}; }
  std::span<const float> span() const { return {values_.get(), size_}; }

 private:
  struct Free {
    void operator()(float* values) const;
  };
  std::unique_ptr<float[], Free> values_;
  std::size_t size_;
};

class AllReduce {
 public:
  virtual ~AllReduce() = default;

  // Elements [offset, offset + values.size()) of this member's input; each exactly once, in any
  // order. Borrows `values` until complete() or the end of this. REQUIRES: within the vector.
  virtual void contribute(std::int64_t offset, std::span<const float> values) = 0;
  // A frame kSegment with this id from the member of rank `from`.
  virtual Status on_frame(Rank from, const FrameView& frame) = 0;
  // Where the body of such a frame is best written; empty if the frame is not wanted.
  virtual MutableByteSpan body_destination(Rank from, ByteSpan head, std::size_t body_bytes) = 0;
  virtual void on_writable(Rank to) = 0;

  // Stops sending to that member; what was sent may be lost.
  virtual void on_link_down(Rank to) = 0;
  // Sends to that member whatever its map of received segments (ReadyMessage) lacks.
  virtual Status resume(Rank to, ByteSpan received) = 0;
  // The map for ReadyMessage of what this member has from `from`.
  virtual Bytes received_map(Rank from) const = 0;

  // All input is here.
  virtual bool contributed() const = 0;
  // The result is whole. Frames may still be waiting to be sent: keep this until the others are
  // complete too.
  virtual bool complete() const = 0;
  // Frames still to be handed to the sink.
  virtual bool sent_all() const = 0;
  // The member whose data is missing, or this rank if none is.
  virtual Rank waits_for() const = 0;
  // The buffer that holds the result once complete().
  virtual std::shared_ptr<FloatBuffer> result() const = 0;
  virtual std::int64_t elements() const = 0;
};

// `buffer` (of `elements` floats; null: a new one) becomes the result.
std::unique_ptr<AllReduce> make_all_reduce(const AllReduceOptions& options, std::int64_t elements,
                                           AllReduceSink& sink,
                                           std::shared_ptr<FloatBuffer> buffer = nullptr);

}  // namespace weft
