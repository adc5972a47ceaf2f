#include "weft/optim/parameter_group.h"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace weft {
namespace {

constexpr std::string_view kBlanks = " \t";
constexpr std::string_view kKindPrefix = "kind:";

// The text up to the first of `stops`, which it takes off `text`.
std::string_view take_until(std::string_view& text, std::string_view stops) {
  const std::size_t stop = text.find_first_of(stops);
  const std::string_view part = text.substr(0, stop);
  text = stop == std::string_view::npos ? std::string_view() : text.substr(stop + 1);
  return part;
}

Result<double> number_of(std::string_view word, std::string_view digits) {
  double value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stopped, fault] = std::from_chars(digits.data(), end, value);
  if (fault != std::errc() || stopped != end || !std::isfinite(value) || value < 0) {
    return invalid_argument(
        fmt::format("parameter groups: expected a number of at least 0 in \"{}\"", word));
  }
  return value;
}

Status read_word(std::string_view word, ParameterGroup& group) {
  if (word == "frozen") {
    group.frozen = true;
    return {};
  }
  if (word.starts_with("rate=")) {
    WEFT_TRY_ASSIGN(group.rate_factor, number_of(word, word.substr(5)));
    return {};
  }
  if (word.starts_with("decay=")) {
    WEFT_TRY_ASSIGN(const double decay, number_of(word, word.substr(6)));
    group.weight_decay = decay;
    return {};
  }
  return invalid_argument(fmt::format(
      "parameter groups: expected rate=NUMBER, decay=NUMBER or frozen, got \"{}\"", word));
}

Status read_pattern(std::string_view word, ParameterGroup& group) {
  if (!word.starts_with(kKindPrefix)) {
    group.pattern = std::string(word);
    return {};
  }
  const std::string_view name = word.substr(kKindPrefix.size());
  for (const ParameterKind kind :
       {ParameterKind::kWeight, ParameterKind::kBias, ParameterKind::kNorm}) {
    if (to_string(kind) != name) continue;
    group.kind = kind;
    return {};
  }
  return invalid_argument(fmt::format(
      "parameter groups: expected kind:weight, kind:bias or kind:norm, got \"{}\"", word));
}

}  // namespace

Result<std::vector<ParameterGroup>> parse_parameter_groups(std::string_view text) {
  std::vector<ParameterGroup> groups;
  while (!text.empty()) {
    std::string_view part = take_until(text, ";");
    ParameterGroup group;
    int words = 0;
    while (!part.empty()) {
      const std::string_view word = take_until(part, kBlanks);
      if (word.empty()) continue;
      WEFT_TRY(words == 0 ? read_pattern(word, group) : read_word(word, group));
      ++words;
    }
    if (words == 1) {
      return invalid_argument(fmt::format(
          "parameter groups: expected rate=, decay= or frozen after \"{}\"", group.pattern));
    }
    if (words > 0) groups.push_back(std::move(group));
  }
  return groups;
}

bool matches_pattern(std::string_view pattern, std::string_view name) {
  std::size_t at = 0;
  std::size_t read = 0;
  std::size_t star = std::string_view::npos;
  std::size_t star_read = 0;
  while (read < name.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      star_read = read;
    } else if (at < pattern.size() && (pattern[at] == '?' || pattern[at] == name[read])) {
      ++at;
      ++read;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      read = ++star_read;
    } else {
      return false;
    }
  }
  while (at < pattern.size() && pattern[at] == '*') ++at;
  return at == pattern.size();
}

bool belongs_to(const ParameterGroup& group, const LayoutEntry& entry) {
  if (group.kind.has_value() && *group.kind != entry.kind) return false;
  return matches_pattern(group.pattern, entry.name);
}

}  // namespace weft
