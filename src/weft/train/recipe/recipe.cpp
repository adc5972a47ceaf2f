#include "weft/train/recipe/recipe.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

#include <fmt/format.h>

#include "weft/base/nearest_name.h"
#include "weft/base/printable.h"
#include "weft/base/utf8.h"
#include "weft/codec/codec.h"
#include "weft/gate/gate.h"
#include "weft/peer/admission.h"
#include "weft/train/recipe/recipe_aliases.h"
#include "weft/train/recipe/recipe_data.h"
#include "weft/train/recipe/toml_document.h"
#include "weft/train/recipe/validation.h"

namespace weft {
namespace {

constexpr std::int64_t kTextMax = 200;  // characters, where a key has no limit of its own

const RecipeKey* find_key(std::string_view name) {
  for (const RecipeKey& key : recipe_keys()) {
    if (key.name == name) return &key;
  }
  return nullptr;
}

Status unknown_key(std::string_view where, std::string_view name) {
  const std::string meant = recipe_key_meant(name);
  return invalid_argument(fmt::format("{}: unknown key \"{}\"; {}", where, name,
                                      meant.empty() ? "`weft recipe` lists every key" : meant));
}

// Keys without a bound of their own have the largest number that is exact.
std::string range_text(const RecipeKey& key) {
  constexpr double kUnbounded = 9.0e15;
  if (key.max >= kUnbounded) return fmt::format("{} or more", key.min);
  return fmt::format("{} to {}", key.min, key.max);
}

Status out_of_range(std::string_view where, const RecipeKey& key, std::string_view value) {
  return invalid_argument(fmt::format("{}: {}: expected {}, got {}; {}", where, key.name,
                                      range_text(key), value, key.help));
}

Status wrong_type(std::string_view where, const RecipeKey& key, std::string_view expected,
                  std::string_view got) {
  return invalid_argument(
      fmt::format("{}: {}: expected {}, got {}", where, key.name, expected, got));
}

// "a|b|c" apart.
std::vector<std::string_view> split_choices(std::string_view choices) {
  std::vector<std::string_view> split;
  while (!choices.empty()) {
    const std::size_t bar = choices.find('|');
    split.push_back(choices.substr(0, bar));
    choices = bar == std::string_view::npos ? std::string_view() : choices.substr(bar + 1);
  }
  return split;
}

// A value as it was written, before it is known which type the key has.
using Written = std::variant<std::int64_t, double, bool, std::string>;

std::string describe_value(const Written& value) {
  if (const auto* text = std::get_if<std::string>(&value))
    return fmt::format("\"{}\"", printable(*text));
  return std::visit([](const auto& plain) { return fmt::format("{}", plain); }, value);
}

Status put_number(Recipe& recipe, const RecipeKey& key, const Written& value,
                  std::string_view where) {
  const RecipeSlot slot = key.slot(recipe);
  const auto* whole = std::get_if<std::int64_t>(&value);
  const auto* real = std::get_if<double>(&value);
  if (auto* const* out = std::get_if<std::int64_t*>(&slot)) {
    if (whole == nullptr) return wrong_type(where, key, "a whole number", describe_value(value));
    const auto as_real = static_cast<double>(*whole);
    if (as_real < key.min || as_real > key.max)
      return out_of_range(where, key, describe_value(value));
    **out = *whole;
    return {};
  }
  if (whole == nullptr && real == nullptr) {
    return wrong_type(where, key, "a number", describe_value(value));
  }
  const double number = whole != nullptr ? static_cast<double>(*whole) : *real;
  if (!(number >= key.min && number <= key.max))
    return out_of_range(where, key, describe_value(value));
  *std::get<double*>(slot) = number;
  return {};
}

Status put(Recipe& recipe, const RecipeKey& key, const Written& value, std::string_view where) {
  const RecipeSlot slot = key.slot(recipe);
  if (auto* const* out = std::get_if<bool*>(&slot)) {
    const auto* flag = std::get_if<bool>(&value);
    if (flag == nullptr) return wrong_type(where, key, "true or false", describe_value(value));
    **out = *flag;
    return {};
  }
  if (auto* const* out = std::get_if<std::string*>(&slot)) {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr) return wrong_type(where, key, "a text in quotes", describe_value(value));
    const std::vector<std::string_view> choices = split_choices(key.choices);
    if (!choices.empty() && std::find(choices.begin(), choices.end(), *text) == choices.end()) {
      return wrong_type(where, key, fmt::format("one of {}", key.choices),
                        describe_value(value) + did_you_mean(*text, choices));
    }
    const std::int64_t most = key.max > 0 ? static_cast<std::int64_t>(key.max) : kTextMax;
    if (count_characters(*text) > most || !is_printable_text(*text)) {
      return wrong_type(where, key, fmt::format("at most {} printable characters", most),
                        describe_value(value));
    }
    **out = *text;
    return {};
  }
  return put_number(recipe, key, value, where);
}

class TomlReader {
 public:
  TomlReader(Recipe& recipe, std::string_view file_name) : recipe_(recipe), file_(file_name) {}

  Status read(const toml::table& table, const std::string& prefix) {
    for (const auto& [key, node] : table) {
      const std::string name =
          prefix.empty() ? std::string(key.str()) : fmt::format("{}.{}", prefix, key.str());
      const std::string where = fmt::format("{}:{}", file_, key.source().begin.line);
      WEFT_TRY(read_node(node, name, where));
    }
    return {};
  }

 private:
  Status read_node(const toml::node& node, const std::string& name, const std::string& where) {
    const RecipeKey* key = find_key(name);
    if (const toml::table* inner = node.as_table(); inner != nullptr && key == nullptr) {
      const bool section =
          std::any_of(recipe_keys().begin(), recipe_keys().end(), [&](const RecipeKey& known) {
            return known.name.substr(0, name.size() + 1) == name + ".";
          });
      if (!section) return unknown_section(where, name, *inner);
      return read(*inner, name);
    }
    if (key == nullptr) return unknown_key(where, name);
    if (const auto* whole = node.as_integer()) return put(recipe_, *key, whole->get(), where);
    if (const auto* real = node.as_floating_point()) return put(recipe_, *key, real->get(), where);
    if (const auto* flag = node.as_boolean()) return put(recipe_, *key, flag->get(), where);
    if (const auto* text = node.as_string()) return put(recipe_, *key, text->get(), where);
    return wrong_type(where, *key, "a number, a text, true or false", "an array, table or date");
  }

  static Status unknown_section(std::string_view where, std::string_view name,
                                const toml::table& keys) {
    std::vector<std::string_view> sections;
    for (const RecipeKey& key : recipe_keys()) {
      sections.push_back(key.name.substr(0, key.name.find('.')));
    }
    const std::string_view nearest = nearest_name(name, sections);
    std::string remedy = nearest.empty() ? std::string("`weft recipe` lists them")
                                         : fmt::format("did you mean [{}]?", nearest);
    for (const auto& [key, node] : keys) {
      // Whoever writes [training] most likely has names for its keys, too, that others use.
      const std::optional<RecipeAlias> alias = recipe_alias(key.str());
      if (alias) remedy += fmt::format("; \"{}\" is called \"{}\" here", key.str(), alias->key);
    }
    return invalid_argument(fmt::format("{}: unknown section [{}]; {}", where, name, remedy));
  }

  Recipe& recipe_;
  std::string_view file_;
};

// What `text` means for a key of this type: --set and the environment need no quotes.
Written written_value(const RecipeSlot& slot, const std::string& text) {
  if (std::holds_alternative<std::string*>(slot)) {
    const bool quotes = text.size() >= 2 && text.front() == '"' && text.back() == '"';
    return quotes ? text.substr(1, text.size() - 2) : text;
  }
  if (text == "true") return true;
  if (text == "false") return false;
  std::int64_t whole = 0;
  const char* const end = text.data() + text.size();
  if (const auto [stop, fault] = std::from_chars(text.data(), end, whole);
      fault == std::errc() && stop == end) {
    return whole;
  }
  double real = 0;
  if (const auto [stop, fault] = std::from_chars(text.data(), end, real);
      fault == std::errc() && stop == end && std::isfinite(real)) {
    return real;
  }
  return text;
}

Status names_a_program(std::string_view where) {
  return invalid_argument(
      fmt::format("{}: [program] names a program of this machine; only `weft compare` starts one, "
                  "for a recipe on its command line; remove the section, or use `weft compare`",
                  where));
}

std::string environment_name(std::string_view key) {
  std::string out = "WEFT_";
  for (const char letter : key) {
    out += letter == '.' ? '_'
                         : static_cast<char>(letter >= 'a' && letter <= 'z' ? letter - 32 : letter);
  }
  return out;
}

}  // namespace

Result<Recipe> parse_recipe(std::string_view text, std::string_view file_name) {
  WEFT_TRY_ASSIGN(const toml::table table, parse_toml(text, file_name));
  if (const auto program = table.find("program"); program != table.end()) {
    return names_a_program(fmt::format("{}:{}", file_name, program->first.source().begin.line));
  }
  Recipe recipe;
  TomlReader reader(recipe, file_name);
  WEFT_TRY(reader.read(table, ""));
  return recipe;
}

Result<Recipe> load_recipe(const std::string& path) {
  WEFT_TRY_ASSIGN(const std::string text, read_recipe_text(path));
  return parse_recipe(text, path);
}

Status apply_setting(Recipe& recipe, const RecipeSetting& setting) {
  const RecipeKey* key = find_key(setting.key);
  if (key == nullptr) return unknown_key(setting.source, setting.key);
  return put(recipe, *key, written_value(key->slot(recipe), setting.value), setting.source);
}

Result<RecipeSetting> parse_setting(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return invalid_argument(
        fmt::format("--set: expected key=value, such as run.steps=300, got \"{}\"", text));
  }
  return RecipeSetting{std::string(text.substr(0, equals)), std::string(text.substr(equals + 1)),
                       "--set"};
}

Result<std::vector<RecipeSetting>> settings_of_environment(
    std::span<const std::pair<std::string, std::string>> variables) {
  std::vector<RecipeSetting> settings;
  std::vector<std::string> names;
  for (const RecipeKey& key : recipe_keys()) names.push_back(environment_name(key.name));
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  for (const auto& [name, value] : variables) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found != names.end()) {
      const auto index = static_cast<std::size_t>(found - names.begin());
      settings.push_back({std::string(recipe_keys()[index].name), value, name});
      continue;
    }
    const std::size_t section_end = name.find('_', 5);
    const bool looks_like_key =
        name != "WEFT_DATA_DIR" && section_end != std::string::npos &&
        std::any_of(names.begin(), names.end(), [&, &given = name](const std::string& known) {
          return known.compare(0, section_end + 1, given, 0, section_end + 1) == 0;
        });
    if (!looks_like_key) continue;
    const std::optional<RecipeAlias> alias = recipe_alias(name.substr(section_end + 1));
    const std::string alias_name = alias ? environment_name(alias->key) : std::string();
    const std::string_view nearest = alias ? alias_name : nearest_name(name, candidates);
    return invalid_argument(fmt::format(
        "environment: {} names no recipe key; {}", name,
        nearest.empty() ? "`weft recipe` lists them" : fmt::format("did you mean {}?", nearest)));
  }
  return settings;
}

static Status check_wait(const Recipe& recipe) {
  const Recipe::Group& group = recipe.group;
  if (group.wait == "deadline" && group.audit) {
    return invalid_argument(
        "group.audit: expected group.wait = \"all\", got \"deadline\"; what stands in for a late "
        "member is not in its log");
  }
  const Result<Gate> gate = Gate::parse(group.late);
  if (!gate.ok()) return gate.status().with_context("group.late");
  if (gate->keeps() && recipe.local.steps > 1) {
    return invalid_argument(fmt::format(
        "group.late: expected \"drop\" with local.steps above 1, got \"{}\"", gate->text()));
  }
  return {};
}

static Status check_local(const Recipe::Local& local) {
  if (!local.overlap) return {};
  if (local.steps == 1) {
    return invalid_argument("local.overlap: expected local.steps above 1, got 1");
  }
  if (overlap_is_stable(outer_options(local))) return {};
  return invalid_argument(
      fmt::format("local.overlap: a mean that is applied one round late diverges with "
                  "local.outer_rate = {} and local.outer_momentum = {}; try 0.4 and 0.5, or "
                  "local.outer = \"plain\" with a rate below 1",
                  local.outer_rate, local.outer_momentum));
}

static Status check_wire(const Recipe::Group& group) {
  const Result<Codec> codec = Codec::parse(group.wire);
  if (!codec.ok()) return codec.status().with_context("group.wire");
  if (codec->sum() == CodecSum::kMajority && group.wait == "deadline") {
    return invalid_argument(
        fmt::format("group.wire: expected group.wait = \"all\" with \"{}\", got \"deadline\"; the "
                    "majority is one of all members",
                    group.wire));
  }
  return {};
}

Status check_recipe(const Recipe& recipe) {
  const Recipe::Group& group = recipe.group;
  WEFT_TRY(check_wire(group));
  if (group.suspicion_timeout_ms < 2 * group.heartbeat_interval_ms) {
    return invalid_argument(fmt::format(
        "group.suspicion_timeout_ms: expected at least twice group.heartbeat_interval_ms ({} ms), "
        "got {} ms; one lost heartbeat must not cost a member its place",
        group.heartbeat_interval_ms, group.suspicion_timeout_ms));
  }
  if (group.on_split == "merge" && group.on_quorum_lost != "wait") {
    return invalid_argument(
        "group.on_quorum_lost: expected \"wait\" with group.on_split = \"merge\", since a member "
        "that exits cannot train on; set group.on_quorum_lost = \"wait\"");
  }
  if (group.on_split == "merge" && group.lone_survivor) {
    return invalid_argument(
        "group.lone_survivor: expected false with group.on_split = \"merge\", which lets either of "
        "two members go on and makes one model of both");
  }
  const Result<std::set<PeerId>> allowed = parse_allow_list(group.allow);
  if (!allowed.ok()) return allowed.status().with_context("group.allow");
  if (group.invite == "allowlist" && allowed->empty()) {
    return invalid_argument(
        "group.allow: expected the ids of the peers that group.invite = \"allowlist\" lets in, got "
        "none; `weft id OUT` tells the id of the peer whose folder is OUT");
  }
  if (recipe.data.name == "synthetic" && recipe.data.synthetic_samples < recipe.run.global_batch) {
    return invalid_argument(
        fmt::format("run.global_batch: expected at most data.synthetic_samples ({}), got {}",
                    recipe.data.synthetic_samples, recipe.run.global_batch));
  }
  if (recipe.optimizer.nesterov && recipe.optimizer.momentum == 0) {
    return invalid_argument(
        "optimizer.nesterov: expected a momentum above 0; set optimizer.momentum");
  }
  WEFT_TRY(check_data_keys(recipe));
  WEFT_TRY(check_wait(recipe));
  WEFT_TRY(check_gossip(recipe));
  WEFT_TRY(check_mix(recipe));
  WEFT_TRY(check_aggregate(recipe));
  WEFT_TRY(check_validation(recipe));
  return check_local(recipe.local);
}

OuterOptions outer_options(const Recipe::Local& local) {
  return {local.outer == "nesterov", local.outer_rate, local.outer_momentum};
}

std::string recipe_value(const Recipe& recipe, const RecipeKey& key) {
  Recipe copy = recipe;
  return std::visit(
      [](auto* value) -> std::string {
        using Value = std::remove_pointer_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, std::string>) {
          return toml_quoted(*value);
        } else {
          return fmt::format("{}", *value);
        }
      },
      key.slot(copy));
}

std::string canonical_text(const Recipe& recipe) {
  std::string out;
  for (const RecipeKey& key : recipe_keys()) {
    out += fmt::format("{} = {}\n", key.name, recipe_value(recipe, key));
  }
  return out;
}

Hash256 recipe_hash(const Recipe& recipe) {
  const std::string text = canonical_text(recipe);
  return sha256(as_bytes(text));
}

std::string first_difference(const Recipe& a, const Recipe& b) {
  for (const RecipeKey& key : recipe_keys()) {
    constexpr std::string_view kFree[] = {"run.steps",
                                          "run.name",
                                          "run.round_seconds_min",
                                          "run.evaluate",
                                          "run.capture",
                                          "run.on_not_finite",
                                          "run.evaluate_every_steps",
                                          "run.micro_batch",
                                          "run.early_stop_patience"};
    const bool free = std::ranges::find(kFree, key.name) != std::end(kFree) ||
                      key.name.starts_with("group.") || key.name.starts_with("checkpoint.");
    if (!free && recipe_value(a, key) != recipe_value(b, key)) return std::string(key.name);
  }
  return "";
}

std::string recipe_key_table() {
  std::string out = "| key | default | allowed | meaning |\n|---|---|---|---|\n";
  const Recipe defaults;
  for (const RecipeKey& key : recipe_keys()) {
    Recipe copy;
    const RecipeSlot slot = key.slot(copy);
    std::string allowed = range_text(key);
    if (std::holds_alternative<bool*>(slot)) allowed = "true, false";
    if (std::holds_alternative<std::string*>(slot)) {
      allowed = key.choices.empty() ? std::string("text") : std::string(key.choices);
      std::replace(allowed.begin(), allowed.end(), '|', ' ');
    }
    out += fmt::format("| `{}` | `{}` | {} | {} |\n", key.name, recipe_value(defaults, key),
                       allowed, key.help);
  }
  return out;
}

}  // namespace weft
