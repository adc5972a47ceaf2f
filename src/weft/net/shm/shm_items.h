// The content of a shared-memory stream's ring: runs of bytes, and references to bytes elsewhere.
//
//   item   = kind u32, size u32, place u64
//   run    = item of kind 0, then `size` bytes
//   named  = item of kind 1: `size` bytes at `place` >> 16 of region number `place` mod 65536
//   forget = item of kind 2: region number `place` is named no more
//
// A region is SharedMemory of the writer. Its descriptor is sent over the socket before it is first
// named; regions are numbered in that order. The reader maps it for reading, and reads named bytes
// in place. They must not change until the reader has released them; until then neither they nor
// what follows them count as written. Threads: the loop thread. Both classes borrow the socket.
// Fails: next() gives kCorrupt for items that no correct writer sends.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "weft/base/shared_memory.h"
#include "weft/base/status.h"
#include "weft/net/shm/shm_ring.h"
#include "weft/net/stream/socket.h"

namespace weft {

// A peer keeps fewer results of rounds than this.
inline constexpr std::size_t kShmRegionsMax = 128;
inline constexpr std::size_t kShmRegionBytesMax = std::size_t{1} << 40;

// Sends one byte with a descriptor. False if the socket takes none now.
bool send_descriptor(int socket, ByteSpan bytes, int descriptor);
// Like recv() for as many bytes; a descriptor that came with them goes to `received`.
ssize_t receive_with_descriptor(int socket, MutableByteSpan bytes, Socket& received);

class ShmItemWriter {
 public:
  ShmItemWriter() = default;
  ShmItemWriter(int socket, ShmRingWriter ring) : socket_(socket), ring_(ring) {}

  // Takes what fits of `parts`, which follow what was taken before; returns the number of bytes.
  std::size_t take(std::span<const ByteSpan> parts);
  // The number of taken bytes that count as written since the last call.
  std::size_t settle();
  // The number of bytes taken and not yet settled.
  std::size_t ahead() const { return ahead_; }
  bool can_settle() const {
    return !waiting_.empty() && waiting_.front().released_at <= ring_.released();
  }
  ShmRingWriter& ring() { return ring_; }
  const ShmRingWriter& ring() const { return ring_; }

 private:
  // Bytes that count as written when the reader is at `released_at`; 0: as soon as those before
  // them do.
  struct Waiting {
    std::uint64_t released_at = 0;
    std::size_t bytes = 0;
  };
  struct Region {
    std::weak_ptr<const SharedMemory> memory;
    std::uint64_t number = 0;
  };

  bool put_item(std::uint32_t kind, std::size_t size, std::uint64_t place);
  // Tries to name `part`; false if it must be copied, or the ring is full.
  bool name(ByteSpan part);
  std::optional<std::uint64_t> region_of(const std::shared_ptr<const SharedMemory>& memory);
  void forget_regions();
  void note(std::size_t bytes, std::uint64_t released_at);

  int socket_ = -1;
  ShmRingWriter ring_;
  std::vector<Region> regions_;
  std::uint64_t regions_told_ = 0;
  std::deque<Waiting> waiting_;
  std::size_t ahead_ = 0;
  // Bytes settled at once and not yet reported.
  std::size_t settled_ = 0;
};

class ShmItemReader {
 public:
  ShmItemReader() = default;
  ShmItemReader(int socket, ShmRingReader ring) : socket_(socket), ring_(ring) {}

  // Reads the next item if the present one has been read to its end.
  Status next();
  // Copies the available bytes of a run.
  std::size_t get(MutableByteSpan bytes);
  // The bytes that were named and not yet read.
  ByteSpan named() const { return named_; }
  // Marks the first `size` of them as read.
  void release_named(std::size_t size);
  bool readable() const { return !named_.empty() || ring_.available() > 0; }
  // Receives bells and descriptors from the socket; the result is that of recv().
  ssize_t receive();
  ShmRingReader& ring() { return ring_; }

 private:
  struct Unmap {
    std::size_t bytes = 0;
    void operator()(std::uint8_t* memory) const;
  };
  using Region = std::unique_ptr<std::uint8_t, Unmap>;

  Status take_region(const Socket& descriptor);
  Result<const Region*> find_region(std::uint64_t number);
  Status name(std::size_t size, std::uint64_t place);
  Status forget(std::uint64_t number);

  int socket_ = -1;
  ShmRingReader ring_;
  std::size_t run_left_ = 0;
  ByteSpan named_;
  std::map<std::uint64_t, Region> regions_;
  std::uint64_t regions_heard_ = 0;
  // The fault of a descriptor that no correct writer sends.
  Status failure_;
};

}  // namespace weft
