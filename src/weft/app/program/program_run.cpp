#include "weft/app/program/program_run.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "weft/app/program/program_process.h"
#include "weft/app/program/program_results.h"
#include "weft/app/terminal/environment.h"
#include "weft/base/bytes.h"
#include "weft/base/file.h"
#include "weft/base/hash.h"
#include "weft/base/printable.h"
#include "weft/base/version.h"

namespace weft {
namespace {

constexpr int kProgramKeyFormat = 1;
constexpr std::size_t kHashedFileMax = std::size_t{16} << 20;
constexpr std::size_t kShownLineMax = 200;
constexpr const char* kResultsName = "results.jsonl";

std::string absolute_folder_of(const std::string& file) {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::absolute(file, error);
  return (error ? std::filesystem::path(file) : path).parent_path().lexically_normal().string();
}

// The package of a build tree, build/release/python, is found after what PYTHONPATH names.
std::vector<std::string> program_environment() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string folder = (self.parent_path() / "python").string();
  if (error || !is_file(folder + "/weft/__init__.py")) return {};
  const std::string before = environment_variable("PYTHONPATH");
  return {"PYTHONPATH=" + (before.empty() ? folder : before + ":" + folder)};
}

std::map<std::string, std::string, std::less<>> place_values(const ProgramRun& run,
                                                             const std::string& out) {
  const std::string python = environment_variable("WEFT_PYTHON");
  std::map<std::string, std::string, std::less<>> values = {
      {"out", out},
      {"results", out + "/" + kResultsName},
      {"seed", std::to_string(run.seed)},
      {"peers", std::to_string(run.peers)},
      {"python", python.empty() ? "python3" : python},
      {"recipe", absolute_folder_of(run.recipe_path)}};
  if (run.recipe.rounds) values["rounds"] = std::to_string(*run.recipe.rounds);
  for (const auto& [name, option] : run.recipe.options) values[name] = option_value_text(option);
  return values;
}

std::string known_names(const ProgramRun& run) {
  std::string out;
  for (const std::string_view name : program_places()) {
    out += fmt::format("{}{{{}}}", out.empty() ? "" : ", ", name);
  }
  for (const auto& [name, option] : run.recipe.options) out += fmt::format(", {{{}}}", name);
  return out;
}

std::string key_part(std::string_view text) { return fmt::format("{}:{}", text.size(), text); }

// Why a program that ended did not succeed; empty: it did.
std::string end_fault(const ProgramRun& run, const ProgramEnd& end, const std::string& out) {
  std::string fault;
  if (end.timed_out) {
    fault = fmt::format("the program took longer than program.timeout_s = {} and was ended",
                        run.recipe.timeout_s);
  } else if (end.exit_code > 128) {
    fault = fmt::format("the program was ended by signal {}", end.exit_code - 128);
  } else if (end.exit_code != 0) {
    fault = fmt::format("the program ended with exit code {}", end.exit_code);
  } else {
    return "";
  }
  const std::string last = last_line(end.tail);
  if (last.empty()) return fault + "; it has printed nothing";
  return fmt::format("{}; its last line was \"{}\" ({}/output.txt)", fault,
                     printable(last, kShownLineMax), out);
}

ProgramResults read_results(const std::string& path) {
  ProgramResults none;
  std::error_code error;
  // A link or a queue is not followed or waited for.
  const std::filesystem::file_status kind = std::filesystem::symlink_status(path, error);
  if (!std::filesystem::is_regular_file(kind)) {
    none.fault = fmt::format(
        "{}: {}; the program writes a line of JSON there for each measurement", path,
        std::filesystem::exists(kind) ? "is no regular file" : "the program has not written it");
    return none;
  }
  const Result<Bytes> bytes = read_file(path, kRunFileBytesMax);
  if (!bytes.ok()) {
    none.fault = bytes.status().message();
    return none;
  }
  return parse_program_results(to_text(*bytes), path);
}

}  // namespace

Result<ProgramRecipe> configured_program(ProgramRecipe recipe,
                                         const std::vector<std::string>& settings,
                                         std::optional<std::int64_t> rounds) {
  for (const std::string& text : settings) {
    WEFT_TRY_ASSIGN(const RecipeSetting setting, parse_setting(text));
    WEFT_TRY(apply_program_setting(recipe, setting));
  }
  if (rounds) {
    WEFT_TRY(
        apply_program_setting(recipe, {"program.rounds", std::to_string(*rounds), "--rounds"}));
  }
  return recipe;
}

Result<std::vector<std::string>> program_arguments(const ProgramRun& run, const std::string& out) {
  const auto values = place_values(run, out);
  bool has_seed = false;
  bool has_results = false;
  const auto value_of = [&](std::string_view name) -> std::optional<std::string> {
    has_seed = has_seed || name == "seed";
    has_results = has_results || name == "results" || name == "out";
    const auto found = values.find(name);
    if (found == values.end()) return std::nullopt;
    return found->second;
  };
  std::vector<std::string> arguments;
  for (std::size_t i = 0; i < run.recipe.command.size(); ++i) {
    const Result<std::string> argument = with_places(run.recipe.command[i], value_of);
    if (!argument.ok()) {
      const bool is_rounds =
          run.recipe.command[i].find("{rounds}") != std::string::npos && !run.recipe.rounds;
      return invalid_argument(fmt::format(
          "{}: program.command[{}]: {}; {}", run.recipe_path, i, argument.status().message(),
          is_rounds ? "set program.rounds or --rounds"
                    : fmt::format("there are {}", known_names(run))));
    }
    arguments.push_back(*argument);
  }
  if (!has_seed || !has_results) {
    return invalid_argument(fmt::format(
        "{}: program.command: expected {}", run.recipe_path,
        has_seed ? "{results}, where the program writes what it measures; or {out}, its folder"
                 : "{seed}, by which the runs of a comparison differ"));
  }
  return arguments;
}

Result<std::string> program_key(const ProgramRun& run) {
  WEFT_TRY_ASSIGN(const std::vector<std::string> arguments, program_arguments(run, "OUT"));
  std::string all = fmt::format("weft compare program {} {}\n", kProgramKeyFormat, version());
  for (const std::string& argument : arguments) {
    all += key_part(argument);
    if (!is_file(argument)) continue;
    // A file that is too large or cannot be read is the program's business.
    const Result<Bytes> bytes = read_file(argument, kHashedFileMax);
    if (bytes.ok()) all += key_part(to_hex(sha256(*bytes)));
  }
  return to_hex(sha256(as_bytes(all)));
}

Result<ComparedRun> run_program_contender(const ProgramRun& run, const std::string& out,
                                          const std::function<bool()>& stop_asked,
                                          ComparedRun planned) {
  ProgramStart start;
  WEFT_TRY_ASSIGN(start.arguments, program_arguments(run, out));
  start.environment = program_environment();
  start.limit = std::chrono::seconds(run.recipe.timeout_s);
  start.stop_asked = stop_asked;
  Result<ProgramEnd> ended = run_program(start);
  if (!ended.ok()) return ended.status().with_context(run.recipe_path);
  WEFT_TRY(write_file_atomically(out + "/output.txt", as_bytes(ended->tail)));
  if (ended->stopped) return aborted("interrupted");
  ProgramResults results = read_results(out + "/" + kResultsName);
  planned.fault = end_fault(run, *ended, out);
  if (planned.fault.empty()) planned.fault = results.fault;
  planned.seconds = ended->seconds;
  planned.measured = std::move(results.measured);
  planned.training = std::move(results.training);
  for (const std::vector<RunPoint>* points : {&planned.measured, &planned.training}) {
    if (points->empty()) continue;
    const RunPoint& last = points->back();
    planned.rounds =
        std::max(planned.rounds, static_cast<std::int64_t>(std::min(last.round, 1e15)));
    planned.virtual_seconds = std::max(planned.virtual_seconds, last.virtual_seconds);
    planned.bytes_sent = std::max(planned.bytes_sent, last.bytes_sent);
    planned.samples = std::max(planned.samples, last.samples);
  }
  return planned;
}

}  // namespace weft
