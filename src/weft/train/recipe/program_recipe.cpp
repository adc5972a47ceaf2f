#include "weft/train/recipe/program_recipe.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <system_error>

#include <fmt/format.h>

#include "weft/base/nearest_name.h"
#include "weft/base/printable.h"
#include "weft/train/recipe/toml_document.h"

namespace weft {
namespace {

constexpr std::size_t kOptionNameMax = 40;
constexpr std::string_view kOptionPrefix = "program.options.";
constexpr double kRoundsMax = 1e9;

constexpr std::array<std::string_view, 7> kProgramPlaces = {"out",     "peers",  "python", "recipe",
                                                            "results", "rounds", "seed"};
constexpr std::array<std::string_view, 4> kProgramKeys = {"command", "options", "rounds",
                                                          "timeout_s"};

Status wrong(std::string_view where, std::string_view key, std::string_view expected,
             std::string_view got) {
  return invalid_argument(fmt::format("{}: {}: expected {}, got {}", where, key, expected, got));
}

bool is_option_name(std::string_view name) {
  if (name.empty() || name.size() > kOptionNameMax) return false;
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (!is_letter(name[0]) && name[0] != '_') return false;
  return std::all_of(name.begin(), name.end(),
                     [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; });
}

bool is_program_text(std::string_view text) {
  return text.size() <= kProgramArgumentBytesMax && is_printable_text(text);
}

std::string text_limit() {
  return fmt::format("a text of at most {} printable bytes", kProgramArgumentBytesMax);
}

// Reads one [program] with the place of each key for messages.
class ProgramReader {
 public:
  explicit ProgramReader(std::string_view file) : file_(file) {}

  Result<ProgramRecipe> read(const toml::table& table) {
    for (const auto& [key, node] : table) {
      const std::string where = place_of(key);
      if (key.str() == "command") {
        WEFT_TRY(read_command(node, where));
      } else if (key.str() == "options") {
        WEFT_TRY(read_options(node, where));
      } else if (key.str() == "rounds" || key.str() == "timeout_s") {
        const auto* whole = node.as_integer();
        const std::string name = "program." + std::string(key.str());
        if (whole == nullptr) return wrong(where, name, "a whole number", "something else");
        WEFT_TRY(apply_program_setting(recipe_,
                                       {name, std::to_string(whole->get()), std::string(where)}));
      } else {
        return invalid_argument(fmt::format(
            "{}: unknown key \"program.{}\"; expected command, timeout_s, rounds or options{}",
            where, printable(key.str()), did_you_mean(key.str(), kProgramKeys)));
      }
    }
    if (recipe_.command.empty()) {
      return wrong(file_, "program.command", "a list of texts, the program and its arguments",
                   "none");
    }
    return recipe_;
  }

 private:
  std::string place_of(const toml::key& key) const {
    return fmt::format("{}:{}", file_, key.source().begin.line);
  }

  Status read_command(const toml::node& node, const std::string& where) {
    const std::string expected =
        fmt::format("a list of 1 to {} texts, the program and its arguments", kProgramArgumentsMax);
    const toml::array* const list = node.as_array();
    if (list == nullptr) return wrong(where, "program.command", expected, "something else");
    if (list->empty() || list->size() > kProgramArgumentsMax) {
      return wrong(where, "program.command", expected, fmt::format("{}", list->size()));
    }
    for (const toml::node& each : *list) {
      const auto* const text = each.as_string();
      if (text == nullptr || !is_program_text(text->get())) {
        return wrong(where, fmt::format("program.command[{}]", recipe_.command.size()),
                     text_limit(), text == nullptr ? "no text; put it in quotes" : "another text");
      }
      recipe_.command.push_back(text->get());
    }
    return {};
  }

  Status read_options(const toml::node& node, const std::string& where) {
    const toml::table* const table = node.as_table();
    if (table == nullptr) return wrong(where, "program.options", "a section", "a value");
    if (table->size() > kProgramOptionsMax) {
      return wrong(where, "program.options", fmt::format("at most {}", kProgramOptionsMax),
                   fmt::format("{}", table->size()));
    }
    for (const auto& [key, value] : *table) WEFT_TRY(read_option(key, value));
    std::sort(recipe_.options.begin(), recipe_.options.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    return {};
  }

  Status read_option(const toml::key& key, const toml::node& node) {
    const std::string where = place_of(key);
    const std::string name(key.str());
    if (!is_option_name(name)) {
      return wrong(where, "program.options",
                   fmt::format("names of at most {} letters, digits and _", kOptionNameMax),
                   fmt::format("\"{}\"", printable(name)));
    }
    if (std::find(kProgramPlaces.begin(), kProgramPlaces.end(), name) != kProgramPlaces.end()) {
      return invalid_argument(
          fmt::format("{}: {}{}: a run gives {{{}}} by itself; choose another name", where,
                      kOptionPrefix, name, name));
    }
    ProgramOption option;
    const auto* const real = node.as_floating_point();
    const auto* const text = node.as_string();
    if (const auto* whole = node.as_integer()) {
      option = whole->get();
    } else if (real != nullptr && std::isfinite(real->get())) {
      option = real->get();
    } else if (const auto* flag = node.as_boolean()) {
      option = flag->get();
    } else if (text != nullptr && is_program_text(text->get())) {
      option = text->get();
    } else {
      return wrong(where, std::string(kOptionPrefix) + name,
                   "a finite number, true, false or " + text_limit(), "something else");
    }
    recipe_.options.emplace_back(name, std::move(option));
    return {};
  }

  std::string_view file_;
  ProgramRecipe recipe_;
};

template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, fault] = std::from_chars(text.data(), end, number);
  if (fault != std::errc() || stop != end || text.empty()) return std::nullopt;
  return number;
}

Result<std::int64_t> whole_setting(const RecipeSetting& setting, std::int64_t most) {
  const std::optional<std::int64_t> number = number_in<std::int64_t>(setting.value);
  if (number && *number >= 1 && *number <= most) return *number;
  return wrong(setting.source, setting.key, fmt::format("a whole number from 1 to {}", most),
               printable(setting.value));
}

// `text` as a value of the type that `option` has.
Status put_option(ProgramOption& option, const RecipeSetting& setting) {
  const auto refuse = [&](std::string_view expected) {
    return wrong(setting.source, setting.key, expected, printable(setting.value));
  };
  if (auto* whole = std::get_if<std::int64_t>(&option)) {
    const auto number = number_in<std::int64_t>(setting.value);
    if (!number) return refuse("a whole number");
    *whole = *number;
  } else if (auto* real = std::get_if<double>(&option)) {
    const auto number = number_in<double>(setting.value);
    if (!number || !std::isfinite(*number)) return refuse("a number");
    *real = *number;
  } else if (auto* flag = std::get_if<bool>(&option)) {
    if (setting.value != "true" && setting.value != "false") return refuse("true or false");
    *flag = setting.value == "true";
  } else {
    if (!is_program_text(setting.value)) return refuse(text_limit());
    option = setting.value;
  }
  return {};
}

}  // namespace

std::span<const std::string_view> program_places() { return kProgramPlaces; }

Result<std::optional<ProgramRecipe>> parse_program_recipe(std::string_view text,
                                                          std::string_view file_name) {
  WEFT_TRY_ASSIGN(const toml::table table, parse_toml(text, file_name));
  const auto program = table.find("program");
  if (program == table.end()) return std::optional<ProgramRecipe>();
  const toml::table* const keys = program->second.as_table();
  if (keys == nullptr) return wrong(file_name, "program", "a section [program]", "a value");
  for (const auto& [key, node] : table) {
    if (key.str() == "program") continue;
    return invalid_argument(fmt::format(
        "{}:{}: [{}] beside [program]: a program reads none of Weft's keys; put what it needs into "
        "[program.options]",
        file_name, key.source().begin.line, printable(key.str())));
  }
  WEFT_TRY_ASSIGN(ProgramRecipe recipe, ProgramReader(file_name).read(*keys));
  return std::optional<ProgramRecipe>(std::move(recipe));
}

Result<std::optional<ProgramRecipe>> load_program_recipe(const std::string& path) {
  WEFT_TRY_ASSIGN(const std::string text, read_recipe_text(path));
  return parse_program_recipe(text, path);
}

Status apply_program_setting(ProgramRecipe& recipe, const RecipeSetting& setting) {
  if (setting.key == "program.rounds") {
    WEFT_TRY_ASSIGN(recipe.rounds, whole_setting(setting, static_cast<std::int64_t>(kRoundsMax)));
    return {};
  }
  if (setting.key == "program.timeout_s") {
    WEFT_TRY_ASSIGN(recipe.timeout_s, whole_setting(setting, kProgramTimeoutMax_s));
    return {};
  }
  std::vector<std::string> known = {"program.rounds", "program.timeout_s"};
  for (auto& [name, option] : recipe.options) {
    if (setting.key == std::string(kOptionPrefix) + name) return put_option(option, setting);
    known.push_back(std::string(kOptionPrefix) + name);
  }
  return invalid_argument(fmt::format("{}: \"{}\" is no setting of this program; expected {}{}",
                                      setting.source, printable(setting.key),
                                      fmt::join(known, ", "), did_you_mean(setting.key, known)));
}

std::string option_value_text(const ProgramOption& option) {
  if (const auto* text = std::get_if<std::string>(&option)) return *text;
  return std::visit(
      [](const auto& plain) {
        if constexpr (std::is_same_v<std::decay_t<decltype(plain)>, std::string>)
          return plain;
        else
          return fmt::format("{}", plain);
      },
      option);
}

std::vector<std::pair<std::string, std::string>> program_texts(const ProgramRecipe& recipe) {
  std::string command;
  for (const std::string& part : recipe.command) {
    command += (command.empty() ? "[" : ", ") + toml_quoted(part);
  }
  std::vector<std::pair<std::string, std::string>> out = {{"program.command", command + "]"}};
  for (const auto& [name, option] : recipe.options) {
    const auto* text = std::get_if<std::string>(&option);
    out.emplace_back(std::string(kOptionPrefix) + name,
                     text != nullptr ? toml_quoted(*text) : option_value_text(option));
  }
  if (recipe.rounds) out.emplace_back("program.rounds", std::to_string(*recipe.rounds));
  out.emplace_back("program.timeout_s", std::to_string(recipe.timeout_s));
  return out;
}

Result<std::string> with_places(std::string_view text, const PlaceValue& value_of) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char letter = text[at];
    if (letter != '{' && letter != '}') {
      out += letter;
      continue;
    }
    if (at + 1 < text.size() && text[at + 1] == letter) {
      out += letter;
      ++at;
      continue;
    }
    const std::size_t end = letter == '{' ? text.find('}', at) : std::string_view::npos;
    if (end == std::string_view::npos) {
      return invalid_argument(
          fmt::format("a {} without its other half in \"{}\"; write {}{} for the brace itself",
                      letter == '{' ? "{" : "}", printable(text), letter, letter));
    }
    const std::string_view name = text.substr(at + 1, end - at - 1);
    const std::optional<std::string> value = value_of(name);
    if (!value) {
      return invalid_argument(
          fmt::format("nothing is called {{{}}} in \"{}\"", printable(name), printable(text)));
    }
    out += *value;
    at = end;
  }
  return out;
}

}  // namespace weft
