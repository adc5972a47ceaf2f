#include "weft/net/shm/shm_ring.h"

#include <algorithm>
#include <cstring>

namespace weft {

namespace {

// Bytes are shown to the other side in such portions, so that both sides copy at once.
constexpr std::size_t kPortionBytes = 32 * 1024;

}  // namespace

std::size_t ShmRingWriter::put(ByteSpan bytes) {
  if (!sound()) return 0;
  const std::size_t size = std::min(bytes.size(), room());
  for (std::size_t done = 0; done < size;) {
    const std::size_t at = position_ % capacity_;
    const std::size_t portion = std::min({size - done, capacity_ - at, kPortionBytes});
    std::memcpy(bytes_ + at, bytes.data() + done, portion);
    done += portion;
    position_ += portion;
    if (position_ - shown_ >= kPortionBytes) show();
  }
  return size;
}

void ShmRingWriter::show() {
  if (shown_ == position_) return;
  shown_ = position_;
  // In one order with the reader's flag: see PolledStream::ask_for_bell.
  header_->written.store(position_);
}

std::size_t ShmRingReader::get(MutableByteSpan bytes) {
  if (!sound()) return 0;
  const std::size_t size = std::min(bytes.size(), available());
  for (std::size_t done = 0; done < size;) {
    const std::size_t at = position_ % capacity_;
    const std::size_t portion = std::min({size - done, capacity_ - at, kPortionBytes});
    std::memcpy(bytes.data() + done, bytes_ + at, portion);
    done += portion;
    position_ += portion;
    if (position_ - shown_ >= kPortionBytes) release();
  }
  return size;
}

bool ShmRingReader::peek(MutableByteSpan bytes) const {
  if (!sound() || available() < bytes.size()) return false;
  const std::size_t at = position_ % capacity_;
  const std::size_t first = std::min(bytes.size(), capacity_ - at);
  std::memcpy(bytes.data(), bytes_ + at, first);
  std::memcpy(bytes.data() + first, bytes_, bytes.size() - first);
  return true;
}

void ShmRingReader::release() {
  if (shown_ == position_) return;
  shown_ = position_;
  header_->read.store(position_);
}

}  // namespace weft
