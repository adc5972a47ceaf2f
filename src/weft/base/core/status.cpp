#include "weft/base/status.h"

#include <stdexcept>

namespace weft {

std::string_view to_string(Code code) {
  switch (code) {
    case Code::kOk:
      return "ok";
    case Code::kInvalidArgument:
      return "invalid argument";
    case Code::kUnavailable:
      return "unavailable";
    case Code::kTimeout:
      return "timeout";
    case Code::kCorrupt:
      return "corrupt";
    case Code::kAborted:
      return "aborted";
    case Code::kInternal:
      return "internal error";
  }
  return "unknown code";
}

Status Status::with_context(std::string_view context) const {
  if (ok()) return {};
  return {code_, std::string(context) + ": " + message_};
}

std::string Status::to_string() const {
  if (ok()) return "ok";
  return std::string(weft::to_string(code_)) + ": " + message_;
}

Status invalid_argument(std::string message) {
  return {Code::kInvalidArgument, std::move(message)};
}
Status unavailable(std::string message) { return {Code::kUnavailable, std::move(message)}; }
Status timed_out(std::string message) { return {Code::kTimeout, std::move(message)}; }
Status corrupt(std::string message) { return {Code::kCorrupt, std::move(message)}; }
Status aborted(std::string message) { return {Code::kAborted, std::move(message)}; }
Status internal_error(std::string message) { return {Code::kInternal, std::move(message)}; }

void internal::throw_no_value(const Status& status) {
  throw std::logic_error("[result] expected a value, got the failure \"" + status.to_string() +
                         "\"; ask ok() before reading a Result, or use WEFT_TRY_ASSIGN");
}

void internal::throw_ok_status() {
  throw std::logic_error(
      "[result] expected a value or the Status of a failure, got a Status that is ok");
}

}  // namespace weft
