// The text with which a call is refused. For tests.
#pragma once

#include <stdexcept>
#include <string>

namespace weft {

// The text of the std::invalid_argument that `call` throws, or "not refused".
template <class Call>
std::string refusal(const Call& call) {
  try {
    call();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "not refused";
}

}  // namespace weft
