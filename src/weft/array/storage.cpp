#include "weft/array/storage.h"

#include <array>
#include <cstdlib>
#include <new>
#include <vector>

#include "weft/base/check.h"
#include "weft/base/thread.h"

namespace weft {
namespace {

// Size classes: 64 bytes, then four to each doubling (64, 80, 96, 112, 128, 160, ...), so that a
// block wastes at most a fifth of itself.
constexpr int kClassesPerDoubling = 4;
constexpr int kClasses = 40 * kClassesPerDoubling;
constexpr std::size_t kClassBytesMin = 64;

std::size_t class_bytes(int size_class) {
  const std::size_t base = kClassBytesMin << (size_class / kClassesPerDoubling);
  const auto part = static_cast<std::size_t>(size_class % kClassesPerDoubling);
  const std::size_t bytes = base + base / kClassesPerDoubling * part;
  return (bytes + Storage::kAlignment - 1) / Storage::kAlignment * Storage::kAlignment;
}

int class_of(std::size_t size_bytes) {
  if (size_bytes <= kClassBytesMin) return 0;
  const int doubling = 63 - __builtin_clzll(size_bytes / kClassBytesMin);
  int size_class = doubling * kClassesPerDoubling;
  while (class_bytes(size_class) < size_bytes) ++size_class;
  return size_class;
}

struct FreeLists {
  std::array<std::vector<void*>, kClasses> blocks;
  std::size_t bytes = 0;
};

// Never destroyed: arrays in static storage may outlive any other order.
Guarded<FreeLists>& pool() {
  static auto& lists = *new Guarded<FreeLists>();
  return lists;
}

void* take(int size_class) {
  return pool().with([&](FreeLists& lists) -> void* {
    auto& blocks = lists.blocks[static_cast<std::size_t>(size_class)];
    if (blocks.empty()) return nullptr;
    void* block = blocks.back();
    blocks.pop_back();
    lists.bytes -= class_bytes(size_class);
    return block;
  });
}

// False if the pool is full.
bool give(int size_class, void* block) {
  return pool().with([&](FreeLists& lists) {
    if (lists.bytes + class_bytes(size_class) > Storage::kPoolBytesMax) return false;
    lists.blocks[static_cast<std::size_t>(size_class)].push_back(block);
    lists.bytes += class_bytes(size_class);
    return true;
  });
}

Atomic<std::uint64_t>& storages_made() {
  static Atomic<std::uint64_t> count{0};
  return count;
}

}  // namespace

Storage::Storage() : id_(storages_made().fetch_add(1, std::memory_order_relaxed) + 1) {}

std::uint64_t Storage::made() { return storages_made().load(std::memory_order_relaxed); }

std::shared_ptr<Storage> Storage::allocate(std::size_t size_bytes, Device device) {
  WEFT_CHECK(device.kind == Device::Kind::kCpu);
  const int size_class = class_of(size_bytes);
  if (size_class >= kClasses) throw std::bad_alloc();
  void* block = take(size_class);
  if (block == nullptr) {
    block = std::aligned_alloc(kAlignment, class_bytes(size_class));
    if (block == nullptr) {
      trim_pool();
      block = std::aligned_alloc(kAlignment, class_bytes(size_class));
    }
    if (block == nullptr) throw std::bad_alloc();
  }
  std::shared_ptr<Storage> storage(new Storage());
  storage->data_ = block;
  storage->size_bytes_ = class_bytes(size_class);
  storage->size_class_ = size_class;
  storage->device_ = device;
  return storage;
}

std::shared_ptr<Storage> Storage::wrap(void* data, std::size_t size_bytes,
                                       std::shared_ptr<const void> owner) {
  std::shared_ptr<Storage> storage(new Storage());
  storage->data_ = data;
  storage->size_bytes_ = size_bytes;
  storage->owner_ = std::move(owner);
  return storage;
}

Storage::~Storage() {
  if (size_class_ < 0) return;
  if (!give(size_class_, data_)) std::free(data_);
}

void Storage::note_write(std::size_t begin, std::size_t end, const char* writer) {
  bump_version();
  if (writes_.size() == kWritesKept) writes_.erase(writes_.begin());
  writes_.push_back({version(), begin, end, writer});
}

const char* Storage::writer_since(std::uint64_t version, std::size_t begin, std::size_t end) const {
  for (auto write = writes_.rbegin(); write != writes_.rend(); ++write) {
    if (write->version <= version) break;
    if (write->begin < end && begin < write->end) return write->writer;
  }
  return nullptr;
}

std::size_t Storage::pooled_bytes() {
  return pool().with([](const FreeLists& lists) { return lists.bytes; });
}

void Storage::trim_pool() {
  FreeLists all;
  pool().with([&](FreeLists& lists) { std::swap(all, lists); });
  for (auto& blocks : all.blocks) {
    for (void* block : blocks) std::free(block);
  }
}

}  // namespace weft
