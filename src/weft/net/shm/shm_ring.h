// ShmRing: a ring of bytes between one writing and one reading process, in memory both map.
//
//   layout = written u64, read u64, reader_sleeps u32, writer_sleeps u32 (a cache line each), bytes
//
// The counters only grow; their difference is what lies in the ring. Each side keeps its own one
// for itself and shows it to the other. The other side is the same user's process, but it may be
// broken: what it writes into its counter is checked.
// Threads: one side each. Fails: sound() is false for a counter that cannot be.
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

// Bytes of memory for a ring that holds `capacity`, a multiple of 64.
constexpr std::size_t shm_ring_bytes(std::size_t capacity) {
  return sizeof(ShmRingHeader) + capacity;
}

// What both sides have in common.
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
  // How far this side is, and how far the other side knows.
  std::uint64_t position_ = 0;
  std::uint64_t shown_ = 0;
};

class ShmRingWriter : public ShmRingSide {
 public:
  ShmRingWriter() = default;
  ShmRingWriter(std::uint8_t* memory, std::size_t capacity) : ShmRingSide(memory, capacity) {}

  // Copies what fits and returns how much that was; shows it in portions, the last one not yet.
  std::size_t put(ByteSpan bytes);
  // Shows the reader all that was put.
  void show();
  std::uint64_t position() const { return position_; }
  // How far the reader has let go of what was put.
  std::uint64_t released() const { return header_->read.load(std::memory_order_acquire); }
  std::size_t room() const { return capacity_ - static_cast<std::size_t>(position_ - released()); }
  // Room worth writing to: an almost full ring would be filled in crumbs.
  bool writable() const { return room() >= capacity_ / 4; }
  // True if the reader sleeps: ring the bell. Says so once.
  bool wake_reader() { return wake(header_->reader_sleeps); }
  void set_sleeps(bool sleeps) { header_->writer_sleeps.store(sleeps ? 1 : 0); }
  // False if the other side wrote nonsense.
  bool sound() const { return position_ - released() <= capacity_; }
};

class ShmRingReader : public ShmRingSide {
 public:
  ShmRingReader() = default;
  ShmRingReader(std::uint8_t* memory, std::size_t capacity) : ShmRingSide(memory, capacity) {}

  // Copies what there is and returns how much that was; lets go of it in portions, of the last one
  // not yet.
  std::size_t get(MutableByteSpan bytes);
  // Copies as many as asked for, and leaves them in the ring; false if there are fewer.
  bool peek(MutableByteSpan bytes) const;
  // REQUIRES: so many are there.
  void skip(std::size_t bytes) { position_ += bytes; }
  // Lets go of all that was got.
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
