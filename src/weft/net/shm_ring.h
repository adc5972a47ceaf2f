// ShmRing: a ring of bytes between one writing and one reading process, in memory both map.
//
//   layout = written u64, read u64, reader_sleeps u32, writer_sleeps u32 (a cache line each), bytes
//
// The counters only grow; their difference is what lies in the ring. The other side is the same
// user's process, but it may be broken: what it writes into the counters is checked.
// Threads: one side each. Fails: kCorrupt for counters that cannot be.
#pragma once

#include <cstdint>

#include "weft/base/bytes.h"
#include "weft/base/thread.h"

namespace weft {

class ShmRing {
 public:
  struct Header {
    alignas(64) Atomic<std::uint64_t> written;
    alignas(64) Atomic<std::uint64_t> read;
    alignas(64) Atomic<std::uint32_t> reader_sleeps;
    alignas(64) Atomic<std::uint32_t> writer_sleeps;
  };
  static_assert(Atomic<std::uint64_t>::is_always_lock_free);

  // Bytes of memory for a ring that holds `capacity`, a multiple of 64.
  static constexpr std::size_t memory_bytes(std::size_t capacity) {
    return sizeof(Header) + capacity;
  }
  ShmRing() = default;
  // Borrows zeroed memory of memory_bytes(capacity).
  ShmRing(std::uint8_t* memory, std::size_t capacity)
      : header_(reinterpret_cast<Header*>(memory)),
        bytes_(memory + sizeof(Header)),
        capacity_(capacity) {}

  // --- The writer's side. Copies what fits and returns how much that was.
  std::size_t write(ByteSpan bytes);
  // Room worth writing to: an almost full ring would be filled in crumbs.
  bool writable() const { return capacity_ - used() >= capacity_ / 4; }
  // True if the reader sleeps: ring the bell. Says so once.
  bool wake_reader() { return wake(header_->reader_sleeps); }
  void set_writer_sleeps(bool sleeps) { header_->writer_sleeps.store(sleeps ? 1 : 0); }

  // --- The reader's side.
  std::size_t read(MutableByteSpan bytes);
  bool readable() const { return used() > 0; }
  // True if the writer sleeps and has room now.
  bool wake_writer() { return writable() && wake(header_->writer_sleeps); }
  void set_reader_sleeps(bool sleeps) { header_->reader_sleeps.store(sleeps ? 1 : 0); }

  // False if the other side wrote nonsense.
  bool sound() const { return used() <= capacity_; }

 private:
  std::uint64_t used() const {
    return header_->written.load(std::memory_order_acquire) -
           header_->read.load(std::memory_order_acquire);
  }
  static bool wake(Atomic<std::uint32_t>& sleeps) {
    return sleeps.load() != 0 && sleeps.exchange(0) != 0;
  }

  Header* header_ = nullptr;
  std::uint8_t* bytes_ = nullptr;
  std::size_t capacity_ = 0;
};

}  // namespace weft
