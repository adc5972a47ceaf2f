// Contender: one way of training that `weft compare` measures: a recipe with settings, under a
// name.
//
//   variant := [name ": "] recipe {" " key "=" value}
//   vary    := key "=" value {"," value}
//
// A variant is read in words as a shell reads them: single and double quotes keep blanks together,
// so that "clipped: mnist.toml optimizer.clip_norm=1 'run.name=with a clip'" is one contender. Each
// `vary` makes one contender of every recipe for each of its values, several of them for each
// combination; a value cannot contain a comma there, but it can in a variant.
//
// Where it stands: compare_command.h -> here. Threads: pure functions. Fails: kInvalidArgument with
// the flag, what it got and the remedy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/status.h"

namespace weft {

inline constexpr std::size_t kContendersMax = 64;
inline constexpr std::size_t kContenderNameMax = 80;  // characters
inline constexpr std::int64_t kCompareSeedsMax = 1000;

struct Contender {
  std::string name;
  std::string recipe_path;
  std::vector<std::string> settings;  // "key=value", beyond those for all contenders

  friend bool operator==(const Contender&, const Contender&) = default;
};

struct ContenderTexts {
  std::vector<std::string> recipes;   // paths
  std::vector<std::string> variants;  // --variant
  std::vector<std::string> varied;    // --vary
  std::string suite = {};             // --suite
};

// All contenders, with different names: recipes first, each with its combinations of `varied`.
Result<std::vector<Contender>> contenders_of(const ContenderTexts& texts);

// --seeds: "3" is the seeds 1, 2 and 3; "5..7" the seeds from 5 to 7.
Result<std::vector<std::int64_t>> compare_seeds(std::string_view text);

// "weft compare ..." with quotes where a shell needs them.
std::string shell_command(const std::vector<std::string>& arguments);

}  // namespace weft
