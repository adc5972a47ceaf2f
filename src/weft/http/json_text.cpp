#include "weft/http/json_text.h"

#include <nlohmann/json.hpp>

namespace weft {

std::string json_quoted(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace weft
