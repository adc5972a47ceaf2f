// How numbers are written in tables.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

#include "weft/data/csv.h"

namespace weft {
namespace {

constexpr std::size_t kNumberLettersMax = 400;
constexpr std::size_t kGroupDigits = 3;
// What stands between thousands beside a point or a comma: blanks of three kinds and an apostrophe.
constexpr std::string_view kGroupMarks[] = {" ", "'", "\xC2\xA0", "\xE2\x80\xAF"};

bool to_number(std::string_view text, double& value) {
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(value);
}

std::size_t leading_digits(std::string_view text) {
  std::size_t count = 0;
  while (count < text.size() && text[count] >= '0' && text[count] <= '9') ++count;
  return count;
}

// "1.234.567,5" without its marks, "1234567.5"; empty where the marks do not stand between groups
// of three digits.
std::string without_groups(std::string_view text, std::string_view mark, char decimal) {
  std::string plain;
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) {
    plain = text.front();
    text.remove_prefix(1);
  }
  const std::size_t first = leading_digits(text);
  if (first == 0 || first > kGroupDigits || text.front() == '0') return "";
  plain += text.substr(0, first);
  text.remove_prefix(first);
  while (text.starts_with(mark)) {
    text.remove_prefix(mark.size());
    if (leading_digits(text) != kGroupDigits) return "";
    plain += text.substr(0, kGroupDigits);
    text.remove_prefix(kGroupDigits);
  }
  if (text.empty()) return plain;
  if (text.front() != decimal || leading_digits(text.substr(1)) + 1 != text.size()) return "";
  plain += '.';
  plain += text.substr(1);
  return plain;
}

bool grouped_number(std::string_view text, char decimal, double& value) {
  const std::string_view other = decimal == '.' ? "," : ".";
  const auto parsed = [&](std::string_view mark) {
    if (text.find(mark) == std::string_view::npos) return false;
    const std::string plain = without_groups(text, mark, decimal);
    return !plain.empty() && to_number(plain, value);
  };
  return parsed(other) || std::any_of(std::begin(kGroupMarks), std::end(kGroupMarks), parsed);
}

}  // namespace

bool parse_csv_number(std::string_view text, char decimal, double& value) {
  if (text.size() > kNumberLettersMax) return decimal == '.' && to_number(text, value);
  if (decimal == '.') return to_number(text, value) || grouped_number(text, decimal, value);
  if (text.find('.') == std::string_view::npos) {
    std::string plain(text);
    std::replace(plain.begin(), plain.end(), decimal, '.');
    if (to_number(plain, value)) return true;
  }
  return grouped_number(text, decimal, value);
}

}  // namespace weft
