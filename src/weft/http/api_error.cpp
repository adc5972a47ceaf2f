#include "weft/http/api_error.h"

#include <fmt/format.h>

#include "weft/http/json_text.h"

namespace weft {
namespace {

std::string quoted_or_null(const std::string& text) {
  return text.empty() ? "null" : json_quoted(text);
}

}  // namespace

std::string error_json(const ApiError& error) {
  return fmt::format("{{\"error\":{{\"message\":{},\"type\":\"{}\",\"param\":{},\"code\":{}}}}}",
                     json_quoted(error.message),
                     error.status < 500 ? "invalid_request_error" : "server_error",
                     quoted_or_null(error.param), quoted_or_null(error.code));
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
