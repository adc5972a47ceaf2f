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
  // Fills `parts` with what comes `ahead` bytes after what was consumed and returns how many it
  // used, none empty. They live until the next change of the queue.
  std::size_t gather(std::span<ByteSpan> parts, std::size_t ahead = 0) const;
  // Takes that the first `size` bytes of what gather() gives, with nothing ahead, were sent.
  void consume(std::size_t size);
  // Forgets the frames of which nothing was sent, nor is within `ahead` bytes after what was.
  // Returns what it forgot.
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
  // How much of the first entry has been sent.
  std::size_t sent_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace weft
