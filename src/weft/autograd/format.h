// Arrays, Tensors, shapes and element types for {fmt}: fmt::print("{}", x).
//
// The text is that of to_string(), and takes a string's width and fill ("{:>20}"). The one public
// header that weft/weft.h leaves out: it includes <fmt/format.h>, which programs need not have.
#pragma once

#include <string_view>

#include <fmt/format.h>

#include "weft/array/print.h"
#include "weft/autograd/tensor.h"

namespace weft::internal {

template <class Value>
struct TextFormatter : fmt::formatter<std::string_view> {
  template <class Context>
  auto format(const Value& value, Context& context) const {
    using weft::to_string;
    return fmt::formatter<std::string_view>::format(to_string(value), context);
  }
};

}  // namespace weft::internal

template <>
struct fmt::formatter<weft::Array> : weft::internal::TextFormatter<weft::Array> {};
template <>
struct fmt::formatter<weft::Tensor> : weft::internal::TextFormatter<weft::Tensor> {};
template <>
struct fmt::formatter<weft::Dims> : weft::internal::TextFormatter<weft::Dims> {};
template <>
struct fmt::formatter<weft::DType> : weft::internal::TextFormatter<weft::DType> {};
