// Status and Result<T>: how everything outside the learning column reports failure.
//
// A code tells the caller how to react; the message has the form "what: expected X, got Y" and,
// where there is one, the remedy. Both types are [[nodiscard]]: ignoring one does not compile.
// Threads: values; share them like any other value.
// Fails: reading the value of a failed Result throws std::logic_error with the Status's text.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "weft/base/check.h"

namespace weft {

enum class Code : unsigned char {
  kOk,
  kInvalidArgument,  // fix the call
  kUnavailable,      // go elsewhere, or back off and try again
  kTimeout,          // retry
  kCorrupt,          // drop the data and score its sender
  kAborted,          // the view changed: run the round again
  kInternal,         // our bug
};

// "ok", "invalid argument", ...: the text for people.
std::string_view to_string(Code code);

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }

  // The same code with `context` and ": " put before the message; ok stays ok.
  Status with_context(std::string_view context) const;

  // "corrupt: frame length: expected at most 1048576, got 4294967295".
  std::string to_string() const;

 private:
  Code code_ = Code::kOk;
  std::string message_;
};

Status invalid_argument(std::string message);
Status unavailable(std::string message);
Status timed_out(std::string message);
Status corrupt(std::string message);
Status aborted(std::string message);
Status internal_error(std::string message);

namespace internal {
// Throw std::logic_error: the Result that was read holds this Status; one was made of an ok Status.
[[noreturn]] void throw_no_value(const Status& status);
[[noreturn]] void throw_ok_status();
}  // namespace internal

// A T, or the Status with the reason why there is none (never an ok Status).
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT(google-explicit-constructor)
  Result(Status status) : status_(std::move(status)) {  // NOLINT(google-explicit-constructor)
    if (status_.ok()) internal::throw_ok_status();
  }

  bool ok() const { return value_.has_value(); }
  const Status& status() const& { return status_; }
  Status status() && { return std::move(status_); }

  // Throws std::logic_error unless ok(). A temporary returns by value, so that `for (x :
  // *parse(...))` and references to it do not dangle.
  T& value() & {
    if (!ok()) internal::throw_no_value(status_);
    return *value_;
  }
  const T& value() const& {
    if (!ok()) internal::throw_no_value(status_);
    return *value_;
  }
  T value() && {
    if (!ok()) internal::throw_no_value(status_);
    return std::move(*value_);
  }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T operator*() && { return std::move(*this).value(); }

 private:
  Status status_;
  std::optional<T> value_;
};

namespace internal {
inline Status as_status(Status status) { return status; }
template <class T>
Status as_status(const Result<T>& result) {
  return result.ok() ? Status() : result.status();
}
}  // namespace internal

}  // namespace weft

#define WEFT_CONCAT_INNER(a, b) a##b
#define WEFT_CONCAT(a, b) WEFT_CONCAT_INNER(a, b)

// Returns from the calling function if `expr` (a Status or a Result) is not ok.
#define WEFT_TRY(expr)                                                                       \
  do {                                                                                       \
    if (::weft::Status weft_status = ::weft::internal::as_status(expr); !weft_status.ok()) { \
      return weft_status;                                                                    \
    }                                                                                        \
  } while (false)

// Assigns the value of the Result `expr` to `lhs` (which may declare a variable), or returns.
#define WEFT_TRY_ASSIGN(lhs, expr) \
  WEFT_TRY_ASSIGN_INNER(WEFT_CONCAT(weft_result_, __COUNTER__), lhs, expr)
#define WEFT_TRY_ASSIGN_INNER(name, lhs, expr) \
  auto name = (expr);                          \
  if (!name.ok()) return name.status();        \
  lhs = std::move(name).value()
