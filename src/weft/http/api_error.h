// ApiError: why a request is refused, and the answer for it in the form of OpenAI's API.
//
//   {"error": {"message": text, "type": "invalid_request_error" or "server_error",
//              "param": the field's name or null, "code": text or null}}
//
// Threads: pure functions.
#pragma once

#include <string>

#include "weft/http/http_response.h"

namespace weft {

struct ApiError {
  int status = 400;
  std::string message;
  std::string param = {};  // the field that is at fault; empty: null
  std::string code = {};   // for programs, such as "model_not_found"; empty: null
};

// One line.
std::string error_json(const ApiError& error);
HttpResponse error_response(const ApiError& error);
// 503: there is no room now, for the reason in `message`; the client may try again in a second.
HttpResponse busy_response(const std::string& message);

}  // namespace weft
