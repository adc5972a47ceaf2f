#include "weft/base/exception_status.h"

#include <new>

#include <fmt/format.h>

namespace weft {

Status exception_status(std::string_view what, const std::exception& fault) {
  if (dynamic_cast<const std::bad_alloc*>(&fault) == nullptr) {
    return internal_error(fmt::format("{}: {}", what, fault.what()));
  }
  return unavailable(
      fmt::format("{}: not enough memory; smaller batches or a smaller model take less", what));
}

}  // namespace weft
