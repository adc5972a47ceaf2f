// ProgramRecipe: a recipe that names a program of this machine in place of a trainer of Weft, so
// that `weft compare` can measure what Weft cannot train.
//
//   [program]
//   command = ["{python}", "{recipe}/train.py", "--seed", "{seed}", "--results", "{results}"]
//   timeout_s = 3600      # of one run
//   rounds = 20           # for {rounds}; --rounds sets another
//   [program.options]
//   rate = 0.1            # for {rate}; --set program.options.rate=0.2 sets another
//
// Such a recipe is a type of its own, and Recipe has no place for a command: parse_recipe(), which
// reads what peers, checkpoints and all other commands have, refuses a text with [program]. So
// nothing that comes from elsewhere can start a process.
//
// Where it stands: a file that a person names to `weft compare` -> here -> app/program.
// Threads: values. Fails: kInvalidArgument with the file, the line or the key, and the remedy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "weft/base/status.h"
#include "weft/train/recipe/recipe.h"

namespace weft {

inline constexpr std::size_t kProgramArgumentsMax = 256;
inline constexpr std::size_t kProgramArgumentBytesMax = 4096;
inline constexpr std::size_t kProgramOptionsMax = 64;
inline constexpr std::int64_t kProgramTimeoutMax_s = 30 * 86400;

using ProgramOption = std::variant<std::int64_t, double, bool, std::string>;

struct ProgramRecipe {
  // The program and its arguments, with names in braces for what differs between runs; "{{" is a
  // brace.
  std::vector<std::string> command;
  std::int64_t timeout_s = 3600;
  std::optional<std::int64_t> rounds;
  std::vector<std::pair<std::string, ProgramOption>> options;  // by name
};

// The names of what a run gives besides program.options: "seed", "results", ...
std::span<const std::string_view> program_places();

// Nothing if the text has no [program].
Result<std::optional<ProgramRecipe>> parse_program_recipe(std::string_view text,
                                                          std::string_view file_name);
Result<std::optional<ProgramRecipe>> load_program_recipe(const std::string& path);

// The keys are program.rounds, program.timeout_s and program.options.NAME of an option that there
// is, which keeps its type.
Status apply_program_setting(ProgramRecipe& recipe, const RecipeSetting& setting);

std::string option_value_text(const ProgramOption& option);

// Each key with its value as TOML writes it, in a fixed order.
std::vector<std::pair<std::string, std::string>> program_texts(const ProgramRecipe& recipe);

// `text` with each {name} replaced by `value_of` the name, which gives nothing for a name that
// there is not; "{{" and "}}" are braces.
using PlaceValue = std::function<std::optional<std::string>(std::string_view name)>;
Result<std::string> with_places(std::string_view text, const PlaceValue& value_of);

}  // namespace weft
