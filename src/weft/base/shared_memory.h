// SharedMemory: memory of this process that other processes of the machine may be let read.
//
// What lies in it can be named to another process by descriptor and offset instead of being copied
// to it: who is given the descriptor may map it, for reading only. It never shrinks, so a mapping
// of it is safe. The pages live as long as anybody maps them.
// Threads: make() and find() on any; the bytes belong to whoever made them.
#pragma once

#include <cstdint>
#include <memory>

#include "weft/base/bytes.h"

namespace weft {

class SharedMemory {
 public:
  // Zeroed. Null where the system gives none.
  static std::shared_ptr<SharedMemory> make(std::size_t bytes);
  // The one in which all of `bytes` lie; null if none.
  static std::shared_ptr<const SharedMemory> find(ByteSpan bytes);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  MutableByteSpan bytes() const { return bytes_; }
  // Sealed against shrinking, growing, and being written to by others.
  int descriptor() const { return descriptor_; }

 private:
  SharedMemory(int descriptor, MutableByteSpan bytes) : descriptor_(descriptor), bytes_(bytes) {}

  const int descriptor_;
  const MutableByteSpan bytes_;
};

}  // namespace weft
