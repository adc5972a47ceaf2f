#include "weft/serve/json_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace weft {

std::string json_quoted(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string error_json(int status, std::string_view message) {
  return fmt::format("{{\"error\":{{\"message\":{},\"type\":\"{}\",\"code\":{}}}}}\n",
                     json_quoted(message), status < 500 ? "invalid_request_error" : "server_error",
                     status);
}

}  // namespace weft
