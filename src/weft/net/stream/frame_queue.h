// FrameQueue: the frames of one lane that wait to be sent, as parts for a gathering write.
//
// Bodies are shared, not copied. Threads: one owner.
#pragma once

#include <deque>
#include <span>

#include "weft/net/stream/frame_codec.h"

namespace weft {

class FrameQueue {
 public:
  void push(Frame frame);
  // Fills `parts` with what follows `ahead` bytes after what was consumed, and returns the number
  // of parts used, none empty. They are valid until the next change of the queue.
  std::size_t gather(std::span<ByteSpan> parts, std::size_t ahead = 0) const;
  // Takes note that the first `size` bytes, as gather() gives them with nothing ahead, were sent.
  void consume(std::size_t size);
  // Removes and returns the frames of which no byte was sent or lies within `ahead` bytes after
  // what was.
  std::deque<Frame> cancel(std::size_t ahead = 0);
  void clear();

  bool empty() const { return entries_.empty(); }
  const Frame& front() const { return entries_.front().frame; }
  std::size_t bytes() const { return bytes_; }
  std::size_t frames() const { return entries_.size(); }

 private:
  struct Entry {
    FrameHeaderBytes header;
    Frame frame;
    std::size_t size() const { return header.size() + frame.head.size() + frame.body.size(); }
  };

  std::deque<Entry> entries_;
  // The number of bytes of the first entry that have been sent.
  std::size_t sent_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace weft
