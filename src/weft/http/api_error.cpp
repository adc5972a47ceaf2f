#include "weft/http/api_error.h"

#include <nlohmann/json.hpp>

namespace weft {

std::string error_json(const ApiError& error) {
  using Json = nlohmann::ordered_json;
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? Json(nullptr) : Json(text);
  };
  const Json answer = {{"error",
                        {{"message", error.message},
                         {"type", error.status < 500 ? "invalid_request_error" : "server_error"},
                         {"param", text_or_null(error.param)},
                         {"code", text_or_null(error.code)}}}};
  return answer.dump(-1, ' ', false, Json::error_handler_t::replace);
}

HttpResponse error_response(const ApiError& error) {
  return {.status = error.status, .body = error_json(error) + "\n"};
}

HttpResponse busy_response(const std::string& message) {
  HttpResponse busy = error_response({.status = 503, .message = message});
  busy.headers.emplace_back("Retry-After", "1");
  return busy;
}

}  // namespace weft
