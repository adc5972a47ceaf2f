// MemoryFormat: an order of elements that strides cannot describe, chosen by a kernel library
// (for example channels in blocks of 8). Opaque to everyone but the kernels that made it.
#pragma once

#include <cstddef>
#include <string>

namespace weft {

class Array;

class MemoryFormat {
 public:
  virtual ~MemoryFormat() = default;
  // Bytes of the whole array in this order, padding included.
  virtual std::size_t size_bytes() const = 0;
  // A new contiguous array with the values of `blocked`, which is in this order.
  virtual Array to_strided(const Array& blocked) const = 0;
};

}  // namespace weft
