// Frames on a byte stream: a header of 12 bytes, the head, the body.
//
//   frame = head_bytes u32, body_bytes u32, type u8, zero u8[3], head, body
//
// FrameDecoder says where the next bytes belong, so that a large body is received straight into its
// destination. Bounds are checked before anything is allocated, and allocations grow with the bytes
// that arrive. Threads: one owner. Fails: kCorrupt for a header out of bounds; the stream is lost
// then.
#pragma once

#include <array>
#include <cstdint>

#include "weft/base/status.h"
#include "weft/net/transport.h"

namespace weft {

inline constexpr std::size_t kFrameHeaderBytes = 12;
using FrameHeaderBytes = std::array<std::uint8_t, kFrameHeaderBytes>;

struct FrameLimits {
  std::size_t head_bytes_max = kFrameHeadBytesMax;
  std::size_t body_bytes_max = kFrameBodyBytesMax;
};

struct FrameHeader {
  std::size_t head_bytes = 0;
  std::size_t body_bytes = 0;
  std::uint8_t type = 0;

  FrameHeaderBytes encode() const;
  static Result<FrameHeader> decode(const FrameHeaderBytes& bytes, const FrameLimits& limits);
};

// kInvalidArgument if a frame may not be sent.
Status check_frame(const Frame& frame);

class FrameSink {
 public:
  virtual ~FrameSink() = default;
  virtual void on_frame(const FrameView& frame) = 0;
  // Like TransportHandler::body_destination.
  virtual MutableByteSpan body_destination(std::uint8_t type, ByteSpan head,
                                           std::size_t body_bytes) = 0;
};

class FrameDecoder {
 public:
  // Reads up to `staging_bytes` ahead of the part that is being received.
  explicit FrameDecoder(std::size_t staging_bytes);

  // Applies to frames whose header has yet to arrive; larger buffers are freed.
  void set_limits(const FrameLimits& limits);
  // The memory held for the frame that is being received.
  std::size_t buffered_bytes() const { return head_.capacity() + body_buffer_.capacity(); }
  // The destination of the stream's next bytes: the first span, then the second.
  std::array<MutableByteSpan, 2> destinations();
  // Takes note that `size` bytes were written there, and delivers the frames that they complete.
  Status received(std::size_t size, FrameSink& sink);
  // The size of the body that comes next, if no byte of it has arrived; else 0.
  std::size_t body_due() const;
  std::uint8_t type_due() const { return header_.type; }
  // Delivers the frame with `body`, which lies elsewhere. REQUIRES: body.size() == body_due() > 0.
  Status take_body(ByteSpan body, FrameSink& sink);
  // Called inside a sink's call: delivers nothing more until resume().
  void halt() { halted_ = true; }
  bool halted() const { return halted_; }
  Status resume(FrameSink& sink);

 private:
  enum class Part : std::uint8_t { kHeader, kHead, kBody };

  Status deliver(FrameSink& sink);
  Status next_part(FrameSink& sink);
  void begin_body(FrameSink& sink);
  // Takes note that the present piece of the body has arrived; true if it was the last.
  bool end_body_piece();

  FrameLimits limits_;
  Part part_ = Part::kHeader;
  FrameHeaderBytes header_bytes_{};
  FrameHeader header_;
  Bytes head_;
  // Grows to the largest body that came without a destination, and keeps that size.
  Bytes body_buffer_;
  // The body's destination, or the buffer once all of it has arrived.
  MutableByteSpan body_;
  // The bytes of the body before the present piece, and the size of that piece.
  std::size_t body_got_ = 0;
  std::size_t body_piece_ = 0;
  // The missing rest of the present part.
  MutableByteSpan missing_;
  Bytes staging_;
  std::size_t staged_begin_ = 0;
  std::size_t staged_end_ = 0;
  bool halted_ = false;
};

}  // namespace weft
