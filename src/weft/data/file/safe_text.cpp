#include "weft/data/safe_text.h"

#include "weft/base/printable.h"

namespace weft {

std::string safe_text(std::string_view text, std::size_t characters_max) {
  return printable(text, characters_max);
}

}  // namespace weft
