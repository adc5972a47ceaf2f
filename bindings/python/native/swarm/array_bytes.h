// ArrayBytes: the memory of an array of NumPy, PyTorch or whoever else speaks the buffer protocol
// or DLPack, borrowed without a copy.
//
// Where it stands: bind_swarm.cpp. Threads: made and destroyed under the interpreter's lock; the
// memory itself may be read and written without it.
// Fails: TypeError for what is no array, ValueError where the memory is not one piece in the
// machine's order, on a device, or read-only where it is to be written.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include <pybind11/pybind11.h>

#include "weft/base/bytes.h"

namespace weft::python {

enum class Access : unsigned char { kRead, kWrite };

class ArrayBytes {
 public:
  // Keeps `array` alive as long as this lives.
  ArrayBytes(const pybind11::handle& array, Access access);
  ~ArrayBytes();
  ArrayBytes(ArrayBytes&&) noexcept;
  ArrayBytes& operator=(ArrayBytes&&) noexcept;

  std::size_t size_bytes() const;
  ByteSpan bytes() const;
  // TypeError unless the elements are float32.
  std::span<const float> floats() const;
  // REQUIRES: Access::kWrite.
  std::span<float> writable_floats() const;

 private:
  struct Memory;
  std::unique_ptr<Memory> memory_;
};

}  // namespace weft::python
