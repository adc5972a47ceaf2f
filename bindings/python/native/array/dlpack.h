// DLPack, the exchange of arrays between frameworks in one process without a copy.
//
// The layout of the structs is that of the standard (dmlc/dlpack, version 0): what lies in a
// capsule named "dltensor" until a consumer takes it and renames it "used_dltensor".
// Threads: the GIL is held.
// Fails: StatusError (invalid argument) for devices, types and orders that Weft lacks; the owner
// keeps its memory then.
#pragma once

#include <cstdint>

#include <pybind11/pybind11.h>

#include "weft/autograd/tensor.h"

namespace weft::python {

struct DLDevice {
  std::int32_t type;  // 1: CPU
  std::int32_t id;
};
struct DLDataType {
  std::uint8_t code;  // 0 signed, 1 unsigned, 2 float, 4 bfloat, 6 bool
  std::uint8_t bits;
  std::uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  std::int32_t ndim;
  DLDataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null: row-major
  std::uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor tensor;
  void* context;
  void (*deleter)(DLManagedTensor* self);
};

// The tensor of an object with __dlpack__(), or of a capsule. Shares the memory, which lives as
// long as the tensor.
Tensor tensor_from_dlpack(const pybind11::object& source);
// A capsule that shares the tensor's memory. Refuses tensors that require grad.
pybind11::capsule tensor_to_dlpack(const Tensor& tensor);

}  // namespace weft::python
