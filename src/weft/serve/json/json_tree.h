// A request's body as a tree of JSON values, within bounds.
//
// Include it in sources only: nlohmann-json is a heavy header.
// Threads: pure functions. Fails: by an ApiError of status 400.
#pragma once

#include <string_view>
#include <variant>

#include <nlohmann/json.hpp>

#include "weft/http/api_error.h"

namespace weft {

// An object in which no key occurs twice, at any depth, and nothing is deeper than `depth_max`
// objects or arrays. A proxy that checks a request and this server could read different values of a
// repeated key.
std::variant<nlohmann::json, ApiError> parse_json_object(std::string_view body, int depth_max);

}  // namespace weft
