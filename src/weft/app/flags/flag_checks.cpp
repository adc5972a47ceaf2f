#include "weft/app/flags/flag_checks.h"

#include <charconv>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "weft/base/printable.h"

namespace weft {
namespace {

// Nothing in `text` but a number from `least` to `most`; "nan" is none.
template <class Number>
bool is_within(const std::string& text, Number least, Number most) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [stop, fault] = std::from_chars(text.data(), end, value);
  return fault == std::errc() && stop == end && value >= least && value <= most;
}

template <class Number>
CLI::Validator range(std::string_view kind, Number least, Number most, const std::string& words) {
  CLI::Validator check;
  check.description(words);
  check.operation([kind, least, most, words](const std::string& text) {
    if (is_within(text, least, most)) return std::string();
    return fmt::format("expected {}, {}, got \"{}\"", kind, words, printable(text));
  });
  return check;
}

}  // namespace

CLI::Validator whole_number(std::int64_t least, std::int64_t most) {
  return range(
      "a whole number", least, most,
      most == kNoLimit ? fmt::format("{} or more", least) : fmt::format("{} to {}", least, most));
}

CLI::Validator any_number(double least, double most) {
  return range("a number", least, most, fmt::format("{} to {}", least, most));
}

}  // namespace weft
