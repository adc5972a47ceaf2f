// Any bytes in the ring of a shared-memory stream, after the descriptors of up to three regions,
// with counters that may be impossible: the reader gives bytes that it may touch, or kCorrupt.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <sys/socket.h>

#include "weft/base/check.h"
#include "weft/base/shared_memory.h"
#include "weft/net/shm/shm_items.h"

namespace {

using namespace weft;

constexpr std::size_t kRingBytes = 4096;
constexpr std::size_t kRegionBytes = 8192;
constexpr std::uint8_t kImpossible = 0x80;

struct Free {
  void operator()(std::uint8_t* memory) const { std::free(memory); }
};

// Reads all there is; returns how many bytes that was.
std::size_t read_all(ShmItemReader& reader) {
  std::array<std::uint8_t, 100> out;
  std::size_t seen = 0;
  for (;;) {
    const Status status = reader.next();
    WEFT_CHECK(status.ok() || status.code() == Code::kCorrupt);
    if (!status.ok()) return seen;
    if (const ByteSpan named = reader.named(); !named.empty()) {
      WEFT_CHECK(named.size() <= kRegionBytes);
      // Touches what it was given.
      WEFT_CHECK(named.front() == 0 && named.back() == 0);
      const std::size_t part = std::max<std::size_t>(1, named.size() / 2);
      reader.release_named(part);
      seen += part;
      continue;
    }
    const std::size_t got = reader.get(out);
    if (got == 0) return seen;
    seen += got;
    reader.ring().release();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static const std::shared_ptr<SharedMemory> region = SharedMemory::make(kRegionBytes);
  WEFT_CHECK(region != nullptr);
  std::array<int, 2> pair{};
  WEFT_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair.data()) == 0);
  const Socket ours(pair[0]);
  const Socket theirs(pair[1]);
  const std::array<std::uint8_t, 1> bell{1};
  for (int i = 0; i < data[0] % 4; ++i) {
    WEFT_CHECK(send_descriptor(ours.get(), bell, region->descriptor()));
  }
  const std::unique_ptr<std::uint8_t, Free> memory(
      static_cast<std::uint8_t*>(std::aligned_alloc(64, shm_ring_bytes(kRingBytes))));
  std::memset(memory.get(), 0, shm_ring_bytes(kRingBytes));
  const std::size_t said = std::min(size - 1, kRingBytes);
  std::memcpy(memory.get() + sizeof(ShmRingHeader), data + 1, said);
  auto* const header = reinterpret_cast<ShmRingHeader*>(memory.get());
  header->written.store((data[0] & kImpossible) != 0 ? kRingBytes + 1 + said : said);
  ShmItemReader reader(theirs.get(), ShmRingReader(memory.get(), kRingBytes));
  WEFT_CHECK(read_all(reader) <= size * kRegionBytes);
  return 0;
}
