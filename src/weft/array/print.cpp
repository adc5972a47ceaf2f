#include "weft/array/print.h"

#include <ostream>
#include <type_traits>

#include <fmt/format.h>

namespace weft {
namespace {

constexpr std::int64_t kWholeMax = 1000;
constexpr std::int64_t kEdge = 3;

template <class T>
void append_value(std::string& text, const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    text += value ? "true" : "false";
  } else if constexpr (std::is_integral_v<T>) {
    text += std::to_string(value);
  } else {
    fmt::format_to(std::back_inserter(text), "{:.6g}", static_cast<double>(value));
  }
}

template <class T>
void append(std::string& text, const Array& array, bool cut) {
  if (array.ndim() == 0) return append_value(text, *array.data<T>());
  text += '[';
  const std::int64_t count = array.shape()[0];
  for (std::int64_t i = 0; i < count; ++i) {
    if (i > 0) text += ", ";
    if (cut && count > 2 * kEdge && i == kEdge) {
      text += "..., ";
      i = count - kEdge;
    }
    append<T>(text, array.select(0, i), cut);
  }
  text += ']';
}

}  // namespace

std::string to_string(const Array& array) {
  if (!array.defined()) return "undefined";
  const Array values = array.strided().to(Device::cpu());
  std::string text;
  with_dtype(values.dtype(),
             [&](auto type) { append<decltype(type)>(text, values, values.size() > kWholeMax); });
  return text;
}

std::ostream& operator<<(std::ostream& out, const Array& array) { return out << to_string(array); }

}  // namespace weft
