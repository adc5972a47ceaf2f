#include "weft/net/shm_ring.h"

#include <algorithm>
#include <cstring>

namespace weft {

namespace {

// Written bytes are shown to the reader in such portions, so that both sides copy at once.
constexpr std::size_t kPortionBytes = 32 * 1024;

}  // namespace

std::size_t ShmRing::write(ByteSpan bytes) {
  const std::uint64_t in_ring = used();
  if (in_ring > capacity_) return 0;
  const std::size_t size = std::min<std::size_t>(bytes.size(), capacity_ - in_ring);
  std::uint64_t position = header_->written.load(std::memory_order_relaxed);
  for (std::size_t done = 0; done < size;) {
    const std::size_t at = position % capacity_;
    const std::size_t portion = std::min({size - done, capacity_ - at, kPortionBytes});
    std::memcpy(bytes_ + at, bytes.data() + done, portion);
    done += portion;
    position += portion;
    // In one order with the reader's flag: see PolledStream::ask_for_bell.
    header_->written.store(position);
  }
  return size;
}

std::size_t ShmRing::read(MutableByteSpan bytes) {
  const std::uint64_t in_ring = used();
  if (in_ring > capacity_) return 0;
  const std::size_t size = std::min<std::size_t>(bytes.size(), in_ring);
  std::uint64_t position = header_->read.load(std::memory_order_relaxed);
  for (std::size_t done = 0; done < size;) {
    const std::size_t at = position % capacity_;
    const std::size_t portion = std::min({size - done, capacity_ - at, kPortionBytes});
    std::memcpy(bytes.data() + done, bytes_ + at, portion);
    done += portion;
    position += portion;
    header_->read.store(position);
  }
  return size;
}

}  // namespace weft
