#include "weft/serve/json/json_tree.h"

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace weft {
namespace {

using nlohmann::json;

constexpr std::size_t kShownKeyMax = 64;

// Looks at what the parser finds; false once there is a fault, from where on nothing is kept.
class TreeGuard {
 public:
  explicit TreeGuard(int depth_max) : depth_max_(depth_max) {}

  bool take(int depth, json::parse_event_t event, const json& value) {
    using Event = json::parse_event_t;
    if (fault_.has_value()) return false;
    if (event == Event::object_start || event == Event::array_start) {
      if (depth >= depth_max_) {
        fault_ = ApiError{.message = fmt::format("body: expected at most {} arrays or objects "
                                                 "within one another",
                                                 depth_max_)};
      }
      if (event == Event::object_start) keys_.emplace_back();
    } else if (event == Event::object_end) {
      keys_.pop_back();
    } else if (event == Event::key && !keys_.back().insert(value.get<std::string>()).second) {
      const std::string key = value.get_ref<const std::string&>().substr(0, kShownKeyMax);
      fault_ = ApiError{.message = key + ": expected once, got it twice", .param = key};
    }
    return !fault_.has_value();
  }
  const std::optional<ApiError>& fault() const { return fault_; }

 private:
  const int depth_max_;
  std::vector<std::set<std::string>> keys_;  // of the open objects
  std::optional<ApiError> fault_;
};

}  // namespace

std::variant<json, ApiError> parse_json_object(std::string_view body, int depth_max) {
  TreeGuard guard(depth_max);
  json tree = json::parse(
      body,
      [&](int depth, json::parse_event_t event, json& value) {
        return guard.take(depth, event, value);
      },
      /*allow_exceptions=*/false);
  if (guard.fault().has_value()) return *guard.fault();
  if (tree.is_discarded()) return ApiError{.message = "body: expected JSON"};
  if (!tree.is_object()) return ApiError{.message = "body: expected an object"};
  return tree;
}

}  // namespace weft
