#include "weft/array/storage/storage.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <algorithm>
#include <array>
#include <cstdlib>
#include <new>
#include <utility>
#include <vector>

#include "weft/array/storage/device_allocator.h"
#include "weft/array/storage/storage_budget.h"
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

constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;
// Blocks from this size on ask for huge pages: a fraction of the page faults and of the misses of
// address translation. Smaller ones would have more of their pages unused.
constexpr std::size_t kHugeBlockBytesMin = 2 * kHugePageBytes;

// `bytes` bytes, of which the first `used_bytes` will be used. Null if there are none.
void* allocate_block(std::size_t bytes, std::size_t used_bytes) {
#if defined(__linux__)
  if (used_bytes >= kHugeBlockBytesMin) {
    const std::size_t rounded = (bytes + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
    void* const block = std::aligned_alloc(kHugePageBytes, rounded);
    // A refusal leaves ordinary pages. What lies behind the last whole page stays ordinary too, so
    // that no memory is taken which nobody asked for.
    if (block != nullptr) {
      madvise(block, used_bytes / kHugePageBytes * kHugePageBytes, MADV_HUGEPAGE);
    }
    return block;
  }
#else
  static_cast<void>(used_bytes);
#endif
  return std::aligned_alloc(Storage::kAlignment, bytes);
}

// Blocks of one size class that are free, and which thread gave each.
class FreeBlocks {
 public:
  bool empty() const { return blocks_.empty(); }
  void give(void* data) { blocks_.push_back({data, this_thread()}); }
  // The block that was given last, or rather the last one of this thread's own: much of it may
  // still be in the caches of this thread's core, while lines that another core wrote cost a
  // journey each. REQUIRES: there is one.
  void* take() {
    const std::size_t searched = std::min(blocks_.size(), kSearched);
    std::size_t at = blocks_.size() - 1;
    for (std::size_t back = 1; back <= searched; ++back) {
      if (blocks_[blocks_.size() - back].giver == this_thread()) {
        at = blocks_.size() - back;
        break;
      }
    }
    void* const data = blocks_[at].data;
    blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(at));
    return data;
  }

 private:
  struct Block {
    void* data;
    const void* giver;
  };
  static constexpr std::size_t kSearched = 8;

  // A thread may get the mark of one that has ended.
  static const void* this_thread() {
    static thread_local const char mark = 0;
    return &mark;
  }

  std::vector<Block> blocks_;
};

struct FreeLists {
  std::array<FreeBlocks, kClasses> blocks;
  std::size_t bytes = 0;         // of the blocks
  std::size_t bytes_in_use = 0;  // of those that storages hold
  std::size_t bytes_in_use_max = 0;

  // What may be kept beside `in_use` bytes: together no more than was once in use.
  std::size_t room(std::size_t in_use) const {
    const std::size_t rest = bytes_in_use_max > in_use ? bytes_in_use_max - in_use : 0;
    return std::max(Storage::kPoolBytesMax, rest);
  }
};

// Never destroyed: arrays in static storage may outlive any other order.
Guarded<FreeLists>& pool() {
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
  static auto& lists = *new Guarded<FreeLists>();
  return lists;
}

// A block that is free, or null: then the caller gets one from the system, and `surplus` has what
// the pool can no longer keep beside it.
void* take(int size_class, std::vector<void*>& surplus) {
  return pool().with([&](FreeLists& lists) -> void* {
    const std::size_t bytes = class_bytes(size_class);
    lists.bytes_in_use += bytes;
    lists.bytes_in_use_max = std::max(lists.bytes_in_use_max, lists.bytes_in_use);
    auto& blocks = lists.blocks[static_cast<std::size_t>(size_class)];
    if (!blocks.empty()) {
      lists.bytes -= bytes;
      return blocks.take();
    }
    const std::size_t room = lists.room(lists.bytes_in_use);
    for (int other = kClasses - 1; other >= 0 && lists.bytes > room; --other) {
      auto& larger = lists.blocks[static_cast<std::size_t>(other)];
      while (!larger.empty() && lists.bytes > room) {
        surplus.push_back(larger.take());
        lists.bytes -= class_bytes(other);
      }
    }
    return nullptr;
  });
}

// False if the pool is full.
bool give(int size_class, void* block) {
  return pool().with([&](FreeLists& lists) {
    const std::size_t bytes = class_bytes(size_class);
    lists.bytes_in_use -= bytes;
    if (lists.bytes + bytes > lists.room(lists.bytes_in_use)) return false;
    lists.blocks[static_cast<std::size_t>(size_class)].give(block);
    lists.bytes += bytes;
    return true;
  });
}

// Held while notes are read or written: threads may write parts of one storage.
struct Gate {};
Guarded<Gate>& notes_gate() {
  // Never destroyed, as the pool. NOLINTNEXTLINE(*-avoid-non-const-global-variables)
  static auto& gate = *new Guarded<Gate>();
  return gate;
}

// A block of another device than the CPU, and what it counts for in a budget.
class DeviceBlock {
 public:
  DeviceBlock(std::size_t size_bytes, Device device)
      : allocator_(device_allocator(device)),
        charge_(StorageBudget::charge(size_bytes)),
        data_(allocator_.allocate(size_bytes, device.index)),
        size_bytes_(size_bytes),
        index_(device.index) {}
  ~DeviceBlock() { allocator_.release(data_, size_bytes_, index_); }
  DeviceBlock(const DeviceBlock&) = delete;
  DeviceBlock& operator=(const DeviceBlock&) = delete;
  void* data() const { return data_; }

 private:
  DeviceAllocator& allocator_;
  std::shared_ptr<const void> charge_;
  void* data_;
  std::size_t size_bytes_;
  int index_;
};

Atomic<std::uint64_t>& storages_made() {
  static Atomic<std::uint64_t> count{0};
  return count;
}

}  // namespace

Storage::Storage(Key) : id_(storages_made().fetch_add(1, std::memory_order_relaxed) + 1) {}

std::uint64_t Storage::made() { return storages_made().load(std::memory_order_relaxed); }

std::shared_ptr<Storage> Storage::allocate(std::size_t size_bytes, Device device) {
  if (!device.is_cpu()) {
    const std::size_t block_bytes = std::max(size_bytes, kAlignment);
    auto block = std::make_shared<const DeviceBlock>(block_bytes, device);
    void* const data = block->data();
    std::shared_ptr<Storage> storage = wrap(data, block_bytes, std::move(block));
    storage->device_ = device;
    return storage;
  }
  const int size_class = class_of(size_bytes);
  if (size_class >= kClasses) throw std::bad_alloc();
  std::shared_ptr<const void> charge = StorageBudget::charge(class_bytes(size_class));
  std::vector<void*> surplus;
  void* block = take(size_class, surplus);
  for (void* const other : surplus) std::free(other);
  if (block == nullptr) {
    block = allocate_block(class_bytes(size_class), size_bytes);
    if (block == nullptr) {
      trim_pool();
      block = allocate_block(class_bytes(size_class), size_bytes);
    }
    if (block == nullptr) {
      pool().with([&](FreeLists& lists) { lists.bytes_in_use -= class_bytes(size_class); });
      throw std::bad_alloc();
    }
  }
  std::shared_ptr<Storage> storage = std::make_shared<Storage>(Key());
  storage->data_ = block;
  storage->size_bytes_ = class_bytes(size_class);
  storage->size_class_ = size_class;
  storage->device_ = device;
  storage->owner_ = std::move(charge);
  return storage;
}

std::shared_ptr<Storage> Storage::wrap(void* data, std::size_t size_bytes,
                                       std::shared_ptr<const void> owner) {
  std::shared_ptr<Storage> storage = std::make_shared<Storage>(Key());
  storage->data_ = data;
  storage->size_bytes_ = size_bytes;
  storage->owner_ = std::move(owner);
  return storage;
}

Storage::~Storage() {
  if (size_class_ < 0) return;
  void* const block = followed_ == nullptr ? data_ : followed_->own_data;
  if (!give(size_class_, block)) std::free(block);
}

void Storage::follow(std::shared_ptr<Storage> other, std::size_t begin, std::size_t size_bytes) {
  WEFT_CHECK(followed_ == nullptr && other->followed_ == nullptr && other.get() != this);
  WEFT_CHECK(begin <= other->size_bytes_ && size_bytes <= other->size_bytes_ - begin);
  const std::uint64_t version = other->version();
  void* const data = static_cast<std::uint8_t*>(other->data_) + begin;
  followed_ = std::make_unique<Followed>(Followed{std::move(other), begin, version, data_});
  data_ = data;
  size_bytes_ = size_bytes;
}

std::size_t Storage::versioned_bytes() const {
  return followed_ == nullptr ? size_bytes_ : followed_->storage->size_bytes_;
}

std::uint64_t Storage::followed_writes() const {
  return followed_->storage->version() - followed_->version;
}

void Storage::bump_version() {
  if (followed_ != nullptr) return followed_->storage->bump_version();
  version_.fetch_add(1, std::memory_order_relaxed);
}

void Storage::note_write(std::size_t begin, std::size_t end, const char* writer) {
  if (followed_ != nullptr) {
    return followed_->storage->note_write(followed_->begin + begin, followed_->begin + end, writer);
  }
  notes_gate().with([&](Gate) {
    bump_version();
    // One of the last two writes again, as loops make them: it takes the place of the earlier one,
    // which a search would no longer find.
    const auto is_same = [&](std::size_t back) {
      if (writes_.size() < back) return false;
      const Write& write = writes_[writes_.size() - back];
      return write.begin == begin && write.end == end && write.writer == writer;
    };
    if (is_same(1) || is_same(2)) {
      if (!is_same(1)) std::swap(writes_[writes_.size() - 2], writes_.back());
      writes_.back().version = version();
      return;
    }
    if (writes_.size() == kWritesKept) {
      // The two oldest become one that takes in both, so that none is forgotten.
      Write& second = writes_[1];
      second.begin = std::min(second.begin, writes_[0].begin);
      second.end = std::max(second.end, writes_[0].end);
      writes_.erase(writes_.begin());
    }
    writes_.push_back({version(), begin, end, writer});
  });
}

const char* Storage::writer_since(std::uint64_t version, std::size_t begin, std::size_t end) const {
  if (followed_ != nullptr) {
    const std::uint64_t own = version_.load(std::memory_order_relaxed);
    const std::uint64_t theirs = followed_->version + (version > own ? version - own : 0);
    const char* const writer =
        followed_->storage->writer_since(theirs, followed_->begin + begin, followed_->begin + end);
    if (writer != nullptr) return writer;
  }
  return notes_gate().with([&](Gate) -> const char* {
    for (auto write = writes_.rbegin(); write != writes_.rend(); ++write) {
      if (write->version <= version) break;
      if (write->begin < end && begin < write->end) return write->writer;
    }
    return nullptr;
  });
}

std::size_t Storage::pooled_bytes() {
  return pool().with([](const FreeLists& lists) { return lists.bytes; });
}

void Storage::trim_pool() {
  std::array<FreeBlocks, kClasses> all;
  pool().with([&](FreeLists& lists) {
    std::swap(all, lists.blocks);
    lists.bytes = 0;
    lists.bytes_in_use_max = lists.bytes_in_use;
  });
  for (auto& blocks : all) {
    while (!blocks.empty()) std::free(blocks.take());
  }
}

}  // namespace weft
