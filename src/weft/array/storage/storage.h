// Storage: a block of bytes behind one or more Arrays, 64-byte aligned.
//
// Blocks come from a pool: a freed block goes to the free list of its size class and serves the
// next request of that class, so a training step after the first allocates nothing from the
// system. A thread gets a block that it freed itself, if there is one: what it writes there is
// still in its core's cache. The pool keeps kPoolBytesMax, or, together with the memory in use, the
// previous maximum in use. That is the CPU's memory; other devices have a DeviceAllocator, and
// data() is then an address that only kernels of the device may use.
// Contents of a new block are undefined. Foreign memory (shared memory, a mapped file) can be
// wrapped together with its owner.
// Threads: the pool may be used by any; the bytes follow their owners' rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "weft/array/storage/device.h"
#include "weft/base/thread.h"

namespace weft {

class Storage {
 public:
  static constexpr std::size_t kAlignment = 64;
  static constexpr std::size_t kPoolBytesMax = std::size_t{128} << 20;

  // A block of at least `size_bytes`. Throws std::invalid_argument for a device that the program
  // lacks.
  static std::shared_ptr<Storage> allocate(std::size_t size_bytes, Device device = {});
  // Host memory of someone else; `owner` is released with the last Array on it.
  static std::shared_ptr<Storage> wrap(void* data, std::size_t size_bytes,
                                       std::shared_ptr<const void> owner);

  // For allocate() and wrap() alone.
  class Key {
    friend class Storage;
    Key() = default;
  };
  explicit Storage(Key);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  void* data() const { return data_; }
  std::size_t size_bytes() const { return size_bytes_; }
  Device device() const { return device_; }
  // Whether the host may read and write the bytes.
  bool on_host() const { return device_.is_cpu(); }

  // Counts the writes in place that Array's own methods and the in-place kernels have made: code
  // that keeps a version can detect later that the bytes have changed.
  std::uint64_t version() const {
    const std::uint64_t own = version_.load(std::memory_order_relaxed);
    return followed_ == nullptr ? own : own + followed_writes();
  }
  void bump_version();
  // The same for a write that can be blamed: `writer`, a literal, wrote bytes [begin, end).
  void note_write(std::size_t begin, std::size_t end, const char* writer);
  // The operation that reported a write of bytes [begin, end) since `version`; null if there is
  // none. Only the last kWritesKept reports are kept. The owner's thread.
  const char* writer_since(std::uint64_t version, std::size_t begin, std::size_t end) const;

  // From now on the bytes of this storage are the bytes of `other` from `begin` on, `size_bytes` of
  // them: arrays of either see writes to the other, and a write that is reported at one is known at
  // the other. The values are not copied. Pointers into the old bytes stay valid and refer to the
  // old values. The owner's thread. REQUIRES: neither storage follows another.
  void follow(std::shared_ptr<Storage> other, std::size_t begin, std::size_t size_bytes);
  // How many bytes the version counts the writes of: more than size_bytes() in one that follows.
  std::size_t versioned_bytes() const;

  // Storages are numbered in the order in which they are made, from 1.
  std::uint64_t id() const { return id_; }
  // How many have been made so far, by allocate() and wrap().
  static std::uint64_t made();

  // The bytes in the free lists, and a function that returns all of them to the system.
  static std::size_t pooled_bytes();
  static void trim_pool();

 private:
  std::uint64_t followed_writes() const;
  void* data_ = nullptr;
  std::size_t size_bytes_ = 0;
  int size_class_ = -1;  // -1: foreign memory
  Device device_;
  struct Write {
    std::uint64_t version;  // after the write
    std::size_t begin;
    std::size_t end;
    const char* writer;
  };
  static constexpr std::size_t kWritesKept = 64;
  Atomic<std::uint64_t> version_{0};
  std::uint64_t id_;
  std::vector<Write> writes_;  // oldest first
  std::shared_ptr<const void> owner_;
  struct Followed {
    std::shared_ptr<Storage> storage;
    std::size_t begin;
    std::uint64_t version;  // of `storage` when this began to follow it
    void* own_data;
  };
  std::unique_ptr<const Followed> followed_;
};

}  // namespace weft
