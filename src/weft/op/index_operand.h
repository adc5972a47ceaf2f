// IndexOperand: positions, class numbers or a mask that an operation takes: an Array or a Tensor of
// an integer type or bool. No gradient flows to it.
#pragma once

#include <string>
#include <utility>

#include "weft/autograd/tensor.h"

namespace weft {

class IndexOperand {
 public:
  IndexOperand(Array array) : array_(std::move(array)) {}  // NOLINT(google-explicit-constructor)
  // NOLINTNEXTLINE(google-explicit-constructor)
  IndexOperand(const Tensor& tensor) : array_(tensor.array()) {}

  bool defined() const { return array_.defined(); }
  const Array& array() const { return array_; }
  const Shape& shape() const { return array_.shape(); }
  int ndim() const { return array_.ndim(); }

  // Contiguous i64. Throws std::invalid_argument "[op] expected i64 WHAT, got ..." unless the type
  // is an integer one (bool is not one).
  Array indexes(const char* op, const std::string& what) const;
  // Throws unless it is bool: "[op] expected a bool mask, got ...".
  const Array& mask(const char* op) const;

 private:
  Array array_;
};

// Throws unless elements of type `dtype` can hold `value`; floats hold any.
void check_holds(const char* op, DType dtype, double value);
// Throws for bool, which does not add up.
void check_adds(const char* op, DType dtype);

}  // namespace weft
