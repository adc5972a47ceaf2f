#include "weft/app/compare/contender.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "weft/app/compare/suite.h"
#include "weft/base/printable.h"

namespace weft {
namespace {

constexpr const char* kVariantForm =
    "expected \"NAME: RECIPE key=value ...\", such as \"one per cent: r.toml "
    "group.wire=topk:ratio=0.01\"";

// The words of `text`, read as a shell reads them; nothing where a quote has no end.
std::optional<std::vector<std::string>> shell_words(std::string_view text) {
  std::vector<std::string> words;
  bool open = false;
  char quote = 0;
  for (const char character : text) {
    if (quote == 0 && (character == ' ' || character == '\t')) {
      open = false;
      continue;
    }
    if (!open) words.emplace_back();
    open = true;
    if (quote == 0 && (character == '"' || character == '\'')) {
      quote = character;
    } else if (character == quote) {
      quote = 0;
    } else {
      words.back() += character;
    }
  }
  if (quote != 0) return std::nullopt;
  return words;
}

std::string recipe_stem(const std::string& path) {
  return std::filesystem::path(path).stem().string();
}

std::string settings_text(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

Status check_contender_setting(std::string_view flag, const std::string& text) {
  const std::size_t sign = text.find('=');
  if (sign != std::string::npos && sign > 0) return {};
  return invalid_argument(fmt::format("{}: expected key=value, got '{}'", flag, printable(text)));
}

Result<Contender> contender_of_variant(const std::string& text) {
  Contender out;
  const std::size_t colon = text.find(": ");
  const std::string rest = colon == std::string::npos ? text : text.substr(colon + 2);
  if (colon != std::string::npos) out.name = text.substr(0, colon);
  std::optional<std::vector<std::string>> words = shell_words(rest);
  if (!words) {
    return invalid_argument(
        fmt::format("--variant: a quote has no end in '{}'; {}", printable(text), kVariantForm));
  }
  if (words->empty() || (colon != std::string::npos && out.name.empty())) {
    return invalid_argument(fmt::format("--variant: {}, got '{}'", kVariantForm, printable(text)));
  }
  out.recipe_path = words->front();
  out.settings.assign(words->begin() + 1, words->end());
  for (const std::string& setting : out.settings) {
    WEFT_TRY(check_contender_setting("--variant", setting));
  }
  if (!out.name.empty()) return out;
  out.name = recipe_stem(out.recipe_path);
  if (!out.settings.empty()) out.name += " " + settings_text(out.settings);
  return out;
}

struct VariedKey {
  std::string key;
  std::vector<std::string> values;

  // What distinguishes the contenders: "wire=bf16" of the key group.wire.
  std::string name_of(const std::string& value) const {
    return key.substr(key.rfind('.') + 1) + "=" + value;
  }
};

Result<VariedKey> varied_key(const std::string& text) {
  WEFT_TRY(check_contender_setting("--vary", text));
  const std::size_t sign = text.find('=');
  VariedKey out{text.substr(0, sign), {}};
  std::string_view rest = std::string_view(text).substr(sign + 1);
  while (true) {
    const std::size_t comma = rest.find(',');
    const std::string value(rest.substr(0, comma));
    if (value.empty()) {
      return invalid_argument(
          fmt::format("--vary: expected key=value,value, such as group.wire=f32,bf16, got '{}'",
                      printable(text)));
    }
    out.values.push_back(value);
    if (comma == std::string_view::npos) return out;
    rest.remove_prefix(comma + 1);
  }
}

Status check_contender_count(std::size_t count) {
  if (count <= kContendersMax) return {};
  return invalid_argument(
      fmt::format("compare: expected at most {} contenders, got {}; compare fewer values at a time",
                  kContendersMax, count));
}

// Every combination of the values, the last key's changing fastest. `named`: names begin with the
// recipe's.
Result<std::vector<Contender>> combinations(const std::string& recipe,
                                            const std::vector<VariedKey>& keys, bool named) {
  std::vector<Contender> out = {{named || keys.empty() ? recipe_stem(recipe) : "", recipe, {}}};
  for (const VariedKey& key : keys) {
    std::vector<Contender> longer;
    WEFT_TRY(check_contender_count(out.size() * key.values.size()));
    for (const Contender& one : out) {
      for (const std::string& value : key.values) {
        Contender& added = longer.emplace_back(one);
        added.name += (added.name.empty() ? "" : " ") + key.name_of(value);
        added.settings.push_back(key.key + "=" + value);
      }
    }
    out = std::move(longer);
  }
  return out;
}

// Recipes of one name in different folders are called by their paths.
void tell_stems_apart(std::vector<Contender>& contenders) {
  const std::vector<Contender> before = contenders;
  for (Contender& one : contenders) {
    const bool shared = std::any_of(before.begin(), before.end(), [&](const Contender& other) {
      return other.name == one.name && other.recipe_path != one.recipe_path;
    });
    if (shared && one.name.starts_with(recipe_stem(one.recipe_path))) {
      one.name.replace(0, recipe_stem(one.recipe_path).size(), one.recipe_path);
    }
  }
}

Status check_contender_names(const std::vector<Contender>& contenders) {
  for (const Contender& one : contenders) {
    if (!is_printable_text(one.name) || one.name.size() > kContenderNameMax * 4) {
      return invalid_argument(
          fmt::format("--variant: expected a name of printable characters, at most {}, got '{}'",
                      kContenderNameMax, printable(one.name, kContenderNameMax)));
    }
    const auto same = std::count_if(contenders.begin(), contenders.end(),
                                    [&](const Contender& other) { return other.name == one.name; });
    if (same > 1) {
      return invalid_argument(fmt::format(
          "compare: two contenders are called '{}'; give one another name with --variant \"NAME: "
          "RECIPE ...\"",
          one.name));
    }
  }
  return {};
}

bool take_seed(std::string_view text, std::int64_t& out) {
  const auto [stop, fault] = std::from_chars(text.data(), text.data() + text.size(), out);
  return fault == std::errc() && stop == text.data() + text.size() && out >= 0;
}

}  // namespace

Result<std::vector<Contender>> contenders_of(const ContenderTexts& texts) {
  std::vector<VariedKey> keys;
  for (const std::string& text : texts.varied) {
    WEFT_TRY_ASSIGN(VariedKey key, varied_key(text));
    keys.push_back(std::move(key));
  }
  std::vector<Contender> out;
  if (!texts.suite.empty()) {
    if (!keys.empty()) {
      return invalid_argument("--vary: expected none with --suite, whose contenders are given");
    }
    WEFT_TRY_ASSIGN(out, suite_contenders(texts.suite, texts.recipes));
  }
  for (const std::string& recipe : texts.recipes) {
    if (!texts.suite.empty()) break;
    WEFT_TRY_ASSIGN(std::vector<Contender> some,
                    combinations(recipe, keys, texts.recipes.size() > 1));
    out.insert(out.end(), some.begin(), some.end());
  }
  for (const std::string& text : texts.variants) {
    WEFT_TRY_ASSIGN(Contender one, contender_of_variant(text));
    out.push_back(std::move(one));
  }
  if (out.empty()) {
    return invalid_argument(
        "compare: expected a recipe, or --variant \"NAME: RECIPE key=value ...\", got none");
  }
  if (texts.recipes.empty() && !keys.empty()) {
    return invalid_argument("--vary: expected a recipe to vary besides --variant, got none");
  }
  WEFT_TRY(check_contender_count(out.size()));
  tell_stems_apart(out);
  WEFT_TRY(check_contender_names(out));
  return out;
}

Result<std::vector<std::int64_t>> compare_seeds(std::string_view text) {
  const std::size_t dots = text.find("..");
  std::int64_t first = 1;
  std::int64_t last = 0;
  const bool is_range = dots != std::string_view::npos;
  const bool read =
      is_range ? take_seed(text.substr(0, dots), first) && take_seed(text.substr(dots + 2), last)
               : take_seed(text, last);
  if (!read || last < first || last - first >= kCompareSeedsMax) {
    return invalid_argument(
        fmt::format("--seeds: expected how many, 1 to {}, or FIRST..LAST, such as 5..7, got '{}'",
                    kCompareSeedsMax, printable(text)));
  }
  std::vector<std::int64_t> out;
  for (std::int64_t seed = first; seed <= last; ++seed) out.push_back(seed);
  return out;
}

std::string shell_command(const std::vector<std::string>& arguments) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%";
  std::string out = "weft";
  for (const std::string& argument : arguments) {
    out += ' ';
    if (!argument.empty() && argument.find_first_not_of(kPlain) == std::string::npos) {
      out += argument;
      continue;
    }
    out += '\'';
    for (const char character : argument) {
      if (character == '\'') {
        out += "'\\''";
      } else {
        out += character;
      }
    }
    out += '\'';
  }
  return out;
}

}  // namespace weft
