#include "weft/base/text/option_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace weft {

static Status set_option(std::string_view owner, std::span<const Option> options,
                         std::string_view text, std::vector<double>& values) {
  const std::size_t equals = std::min(text.find('='), text.size());
  const std::string_view name = text.substr(0, equals);
  const auto option = std::ranges::find(options, name, &Option::name);
  if (option == options.end() || equals == text.size()) {
    std::vector<std::string_view> known;
    for (const Option& each : options) known.push_back(each.name);
    return invalid_argument(
        fmt::format("{}: expected {}, got \"{}\"", owner,
                    known.empty() ? std::string("no option")
                                  : fmt::format("{}=NUMBER", fmt::join(known, "=NUMBER or ")),
                    text));
  }
  const std::string_view number = text.substr(equals + 1);
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  const bool read = error == std::errc() && end == number.data() + number.size();
  if (!read || !(value >= option->min && value <= option->max) ||
      (option->whole && value != std::floor(value))) {
    return invalid_argument(fmt::format("{}: {}: expected a {}number from {} to {}, got \"{}\"",
                                        owner, name, option->whole ? "whole " : "", option->min,
                                        option->max, number));
  }
  values[static_cast<std::size_t>(option - options.begin())] = value;
  return {};
}

Result<std::vector<double>> parse_options(std::string_view owner, std::span<const Option> options,
                                          std::span<const std::string_view> texts) {
  std::vector<double> values;
  for (const Option& option : options) values.push_back(option.fallback);
  for (const std::string_view text : texts) WEFT_TRY(set_option(owner, options, text, values));
  return values;
}

std::string format_options(std::span<const Option> options, std::span<const double> values) {
  std::string text;
  for (std::size_t i = 0; i < options.size(); ++i) {
    if (values[i] == options[i].fallback) continue;
    text += fmt::format(":{}={}", options[i].name, values[i]);
  }
  return text;
}

std::vector<std::string_view> split_words(std::string_view text, char mark) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(mark), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

}  // namespace weft
