#include "weft/net/stream/frame_queue.h"

#include <algorithm>

namespace weft {

void FrameQueue::push(Frame frame) {
  const FrameHeader header{frame.head.size(), frame.body.size(), frame.type};
  entries_.push_back({header.encode(), std::move(frame)});
  bytes_ += entries_.back().size();
}

std::size_t FrameQueue::gather(std::span<ByteSpan> parts, std::size_t ahead) const {
  std::size_t used = 0;
  std::size_t skip = sent_ + ahead;
  for (const Entry& entry : entries_) {
    for (const ByteSpan part :
         {ByteSpan(entry.header), ByteSpan(entry.frame.head), entry.frame.body.span()}) {
      const std::size_t skipped = std::min(skip, part.size());
      skip -= skipped;
      if (skipped == part.size()) continue;
      if (used == parts.size()) return used;
      parts[used++] = part.subspan(skipped);
    }
  }
  return used;
}

void FrameQueue::consume(std::size_t size) {
  WEFT_DCHECK(size <= bytes_);
  bytes_ -= size;
  sent_ += size;
  while (!entries_.empty() && sent_ >= entries_.front().size()) {
    sent_ -= entries_.front().size();
    entries_.pop_front();
  }
}

std::deque<Frame> FrameQueue::cancel(std::size_t ahead) {
  std::deque<Frame> forgotten;
  std::size_t begun = sent_ + ahead;
  std::size_t keep = 0;
  while (keep < entries_.size() && begun > 0) begun -= std::min(begun, entries_[keep++].size());
  while (entries_.size() > keep) {
    bytes_ -= entries_.back().size();
    forgotten.push_front(std::move(entries_.back().frame));
    entries_.pop_back();
  }
  return forgotten;
}

void FrameQueue::clear() {
  entries_.clear();
  sent_ = bytes_ = 0;
}

}  // namespace weft
