// SharedMemory: memory of this process that other processes on the machine may be allowed to read.
//
// Its bytes can be passed to another process by descriptor and offset instead of a copy: a process
// that receives the descriptor may map it, read-only. It never shrinks, so a mapping of it is safe.
// The pages exist as long as a process maps them.
// Threads: make() and find() on any; the bytes belong to their maker.
#pragma once

#include <cstdint>
#include <memory>

#include "weft/base/bytes.h"

namespace weft {

class SharedMemory {
 public:
  // Zeroed. Null if the system provides none.
  static std::shared_ptr<SharedMemory> make(std::size_t bytes);
  // The one that contains all of `bytes`; null if none.
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
