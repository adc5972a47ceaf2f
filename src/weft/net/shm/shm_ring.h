// ShmRing: a ring of bytes between one writing and one reading process, in memory that both map.
//
//   layout = written u64, read u64, reader_sleeps u32, writer_sleeps u32 (a cache line each), bytes
//
// The counters only grow; their difference is the number of bytes in the ring. Each side keeps its
// own counter privately and publishes it to the other. The other side is a process of the same
// user, but it may be faulty: its counter is checked. Threads: one side each. Fails: sound() is
// false for an impossible counter.
#pragma once

#include <cstdint>

#include "weft/base/bytes.h"
#include "weft/base/thread.h"

namespace weft {

struct ShmRingHeader {
  alignas(64) Atomic<std::uint64_t> written;
  alignas(64) Atomic<std::uint64_t> read;
  alignas(64) Atomic<std::uint32_t> reader_sleeps;
  alignas(64) Atomic<std::uint32_t> writer_sleeps;
};
static_assert(Atomic<std::uint64_t>::is_always_lock_free);

// The memory for a ring that holds `capacity` bytes, a multiple of 64.
constexpr std::size_t shm_ring_bytes(std::size_t capacity) {
  return sizeof(ShmRingHeader) + capacity;
}

// The common part of both sides.
class ShmRingSide {
 protected:
  ShmRingSide() = default;
  // Borrows zeroed memory of shm_ring_bytes(capacity).
  ShmRingSide(std::uint8_t* memory, std::size_t capacity)
      : header_(reinterpret_cast<ShmRingHeader*>(memory)),
        bytes_(memory + sizeof(ShmRingHeader)),
        capacity_(capacity) {}
  static bool wake(Atomic<std::uint32_t>& sleeps) {
    return sleeps.load() != 0 && sleeps.exchange(0) != 0;
  }

  ShmRingHeader* header_ = nullptr;
  std::uint8_t* bytes_ = nullptr;
  std::size_t capacity_ = 0;
  // This side's position, and the position that it has published.
  std::uint64_t position_ = 0;
  std::uint64_t shown_ = 0;
};

class ShmRingWriter : public ShmRingSide {
 public:
  ShmRingWriter() = default;
  ShmRingWriter(std::uint8_t* memory, std::size_t capacity) : ShmRingSide(memory, capacity) {}

  // Copies what fits and returns the number of bytes; publishes it in portions, but not the last
  // one yet.
  std::size_t put(ByteSpan bytes);
  // Publishes all that was put.
  void show();
  std::uint64_t position() const { return position_; }
  // The position up to which the reader has released bytes.
  std::uint64_t released() const { return header_->read.load(std::memory_order_acquire); }
  std::size_t room() const { return capacity_ - static_cast<std::size_t>(position_ - released()); }
  // True if there is room worth writing to: an almost full ring would be filled in tiny pieces.
  bool writable() const { return room() >= capacity_ / 4; }
  // True if the reader sleeps and its bell must be rung; true only once for each sleep.
  bool wake_reader() { return wake(header_->reader_sleeps); }
  void set_sleeps(bool sleeps) { header_->writer_sleeps.store(sleeps ? 1 : 0); }
  // False if the other side's counter is impossible.
  bool sound() const { return position_ - released() <= capacity_; }
};

class ShmRingReader : public ShmRingSide {
 public:
  ShmRingReader() = default;
  ShmRingReader(std::uint8_t* memory, std::size_t capacity) : ShmRingSide(memory, capacity) {}

  // Copies what is available and returns the number of bytes; releases it in portions, but not the
  // last one yet.
  std::size_t get(MutableByteSpan bytes);
  // Copies as many bytes as `bytes` holds, and leaves them in the ring; false if there are fewer.
  bool peek(MutableByteSpan bytes) const;
  // Skips `bytes` bytes. REQUIRES: that many are available.
  void skip(std::size_t bytes) { position_ += bytes; }
  // Releases all bytes that were read.
  void release();
  std::size_t available() const {
    return static_cast<std::size_t>(header_->written.load(std::memory_order_acquire) - position_);
  }
  // True if the writer sleeps, and what it waits for may have come.
  bool wake_writer() { return wake(header_->writer_sleeps); }
  void set_sleeps(bool sleeps) { header_->reader_sleeps.store(sleeps ? 1 : 0); }
  bool sound() const { return available() <= capacity_; }
};

}  // namespace weft
