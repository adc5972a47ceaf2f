#include "weft/app/own_data_commands.h"

#include <filesystem>
#include <system_error>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "weft/app/flags/flag_checks.h"
#include "weft/app/member/local_peers.h"
#include "weft/app/terminal/environment.h"
#include "weft/app/terminal/output_files.h"
#include "weft/app/terminal/slow_notice.h"
#include "weft/app/terminal/standard_output.h"
#include "weft/base/file.h"
#include "weft/base/log.h"
#include "weft/base/parallel.h"
#include "weft/data/file_ending.h"
#include "weft/data/look/look.h"
#include "weft/data/safe_text.h"
#include "weft/data/text_file.h"
#include "weft/train/event/event.h"
#include "weft/train/recipe/new_recipe.h"
#include "weft/train/run/try_recipe.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr int kTrialSteps = 3;

// "shapes" of "a/shapes/", "prices" of "prices.csv", "story" of "story.txt.gz".
std::string stem_of(const std::string& path) {
  fs::path name = fs::path(path).filename().empty() ? fs::path(path).parent_path().filename()
                                                    : fs::path(path).filename();
  if (!is_folder(path)) {
    name = name.stem();
    if (has_ending(name.string(), ".txt")) name = name.stem();
  }
  if (name.empty() || name == "." || name == "..") return "data";
  return name.string();
}

bool is_own_data(const std::string& path) {
  if (is_folder(path)) return true;
  return is_table_name(path) || is_text_name(path) || has_ending(path, ".bin");
}

struct Written {
  DataLook look;
  NewRecipe made;
  RecipeTrial trial;
};

// Looks at the data, makes a recipe and tries it; nothing is written yet.
Result<Written> make_and_try(const std::string& path, const std::string& target) {
  const SystemClock clock;
  Written written;
  const SlowNotice notice("looking at " + safe_text(path, 200) + " and trying a recipe");
  WEFT_TRY_ASSIGN(written.look, look_at_data(path));
  WEFT_TRY_ASSIGN(written.made, new_recipe(written.look, target));
  set_thread_count(threads_for(1));
  WEFT_TRY_ASSIGN(written.trial,
                  try_recipe(written.made.recipe, data_places(), clock, kTrialSteps));
  return written;
}

Status write_recipe(const std::string& path, const std::string& text) {
  const std::string_view view = text;
  return write_output_file(path, as_bytes(view));
}

std::string how_long(double seconds) {
  if (seconds < 100) return fmt::format("{:.0f} s", std::max(1.0, seconds));
  return seconds < 6000 ? fmt::format("{:.0f} min", seconds / 60)
                        : fmt::format("{:.1f} h", seconds / 3600);
}

std::string trial_text(const Written& written) {
  const Recipe& recipe = written.made.recipe;
  const double all = written.trial.seconds_a_step * static_cast<double>(recipe.run.steps);
  const std::string target = recipe.data.target.empty()
                                 ? ""
                                 : fmt::format(", learning \"{}\"", safe_text(recipe.data.target));
  return fmt::format(
      "{} on {}{}: tried {} steps, loss {:.4g} and then {:.4g}; all {} steps take about {} here\n",
      recipe.model.name, safe_text(written.look.path), target, written.trial.steps,
      written.trial.first_loss, written.trial.last_loss, recipe.run.steps, how_long(all));
}

std::string oddities_text(const DataLook& look) {
  std::string text;
  for (const std::string& oddity : look.oddities) text += fmt::format("odd: {}\n", oddity);
  return text;
}

std::string new_json(const Written& written, const std::string& path) {
  const Recipe& recipe = written.made.recipe;
  Event event("new");
  event.with("recipe", path)
      .with("data_kind", std::string(to_string(written.look.kind)))
      .with("model", recipe.model.name)
      .with("steps", recipe.run.steps)
      .with("global_batch", recipe.run.global_batch)
      .with("tried_steps", written.trial.steps)
      .with("loss", written.trial.last_loss)
      .with("seconds_a_step", written.trial.seconds_a_step)
      .with("oddities", written.look.oddities);
  return fields_to_json(event) + "\n";
}

// A recipe is looked for beside the data's name, so this is where it goes without --out.
std::string recipe_path_for(const OwnDataRequest& request) {
  return request.out.empty() ? stem_of(request.path) + ".toml" : request.out;
}

ExitCode new_command(const OwnDataRequest& request) {
  const std::string path = recipe_path_for(request);
  if (const Status free = check_outputs({path}, {request.path}, request.force); !free.ok()) {
    return report(free);
  }
  const Result<Written> written = make_and_try(request.path, request.target);
  if (!written.ok()) return report(written.status());
  if (const Status status = write_recipe(path, written->made.text); !status.ok()) {
    return report(status);
  }
  if (request.json) {
    print_text(new_json(*written, path));
    return ExitCode::kOk;
  }
  print_text(fmt::format("wrote {}\n{}{}train with it: weft run {}\n", safe_text(path, 200),
                         trial_text(*written), oddities_text(written->look), safe_text(path, 200)));
  return ExitCode::kOk;
}

ExitCode look_command(const OwnDataRequest& request) {
  const SlowNotice notice("looking at " + safe_text(request.path, 200));
  const Result<DataLook> look = look_at_data(request.path);
  if (!look.ok()) return report(look.status());
  print_text(request.json ? look_json(*look) : look_text(*look));
  return ExitCode::kOk;
}

// Writes OUT/recipe.toml unless it is there, and makes `request` one of it.
Status prepare_recipe(RunRequest& request) {
  if (request.out.empty()) request.out = "weft-runs/" + stem_of(request.recipe_path);
  const std::string recipe = request.out + "/recipe.toml";
  if (is_file(recipe)) {
    write_error(fmt::format("weft: using {}, which exists already\n", recipe));
  } else {
    WEFT_TRY_ASSIGN(const Written written, make_and_try(request.recipe_path, ""));
    std::error_code fault;
    fs::create_directories(request.out, fault);
    WEFT_TRY(write_recipe(recipe, written.made.text));
    write_error(fmt::format("weft: wrote {}, which you may change\nweft: {}{}", recipe,
                            trial_text(written), oddities_text(written.look)));
  }
  request.recipe_path = recipe;
  return {};
}

}  // namespace

void add_own_data_commands(CLI::App& app, CLI::App& data, OwnDataRequest& request, ExitCode& code) {
  CLI::App* made = app.add_subcommand("new", "Write a recipe for your own data, and try it.");
  made->add_option(
          "path", request.path,
          "A folder of images, texts, tokens or arrays, a table .csv or .tsv, a text .txt, or "
          "tokens .bin.")
      ->required();
  made->add_option("--out", request.out,
                   "The file to write; by default, the data's name with .toml.")
      ->option_text("FILE");
  made->add_option("--target", request.target,
                   "The column of a table to predict; by default, the last one.")
      ->option_text("COLUMN");
  made->add_flag("--force", request.force, "Replace an existing file.");
  made->add_flag("--json", request.json, kObject);
  made->callback([&] { code = new_command(request); });
  CLI::App* look = data.add_subcommand("look", "Show what your folder, table or text holds.");
  look->add_option("path", request.path, "The file or folder to examine.")->required();
  look->add_flag("--json", request.json, kObject);
  look->callback([&] { code = look_command(request); });
}

ExitCode run_recipe_or_data(RunRequest request, TimePoint started) {
  if (is_own_data(request.recipe_path)) {
    if (const Status status = prepare_recipe(request); !status.ok()) return report(status);
  }
  return run_command(request, started);
}

}  // namespace weft
