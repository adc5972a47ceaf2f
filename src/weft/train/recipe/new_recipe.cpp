#include "weft/train/recipe/new_recipe.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <sstream>
#include <vector>

#include <fmt/format.h>

#include "weft/base/nearest_name.h"
#include "weft/data/safe_text.h"
#include "weft/train/recipe/recipe_data.h"

namespace weft {
namespace {

// A key that is written, with the comment above it; "" for none.
struct Line {
  std::string key;
  std::string why;
};

// The recipe and what is written of it, in order; the keys of a section stand together.
struct Draft {
  Recipe recipe;
  std::vector<Line> lines;
  std::string heading;
  void say(std::string key, std::string why = "") {
    lines.push_back({std::move(key), std::move(why)});
  }
};

constexpr std::int64_t kBatchMin = 4;

// Steps of about `epochs` passes over `samples`.
std::int64_t steps_for(std::int64_t samples, std::int64_t batch, std::int64_t epochs,
                       std::int64_t least, std::int64_t most) {
  return std::clamp(epochs * samples / std::max<std::int64_t>(1, batch), least, most);
}

// A batch of at most `usual`, and of a part of few samples.
std::int64_t batch_for(std::int64_t samples, std::int64_t usual) {
  const std::int64_t part = std::clamp(samples / 4, kBatchMin, usual);
  return std::max<std::int64_t>(1, std::min(part, samples));
}

void say_optimizer(Draft& draft, const char* name, double rate, double decay) {
  draft.recipe.optimizer.name = name;
  draft.recipe.optimizer.learning_rate = rate;
  draft.recipe.optimizer.weight_decay = decay;
  draft.say("optimizer.name");
  draft.say("optimizer.learning_rate",
            "Smaller where the loss jumps or is no number, larger where it hardly falls.");
  draft.say("optimizer.weight_decay");
}

void say_run(Draft& draft, std::int64_t samples, std::int64_t batch, std::int64_t steps) {
  Recipe::Schedule& schedule = draft.recipe.schedule;
  draft.say("schedule.name");
  if (schedule.name != "one_cycle") {  // which begins slowly by itself
    schedule.warmup_steps = steps / 20;
    draft.say("schedule.warmup_steps");
  }
  draft.recipe.run.global_batch = batch;
  draft.recipe.run.steps = steps;
  draft.say("run.name");
  draft.say("run.steps",
            samples > 0 ? fmt::format("About {} passes over the {} samples to train on.",
                                      std::max<std::int64_t>(1, steps * batch / samples), samples)
                        : std::string());
  draft.say("run.global_batch", "Samples per step, over all members together.");
}

void say_split(Draft& draft) {
  draft.recipe.data.split = "random";
  draft.say("data.split", "A tenth, drawn the same way in every run, is kept to test with.");
}

// --- Images.

constexpr std::int64_t kSmallPhoto = 32;
constexpr std::int64_t kLargePhoto = 64;
constexpr std::int64_t kShowsMore = 96;     // pictures whose shorter side is this need more pixels
constexpr std::int64_t kManyPhotos = 2000;  // of which small ones take long enough
constexpr std::int64_t kDrawingSide = 40;   // grey pictures up to this are taken for drawn letters

void choose_image_model(const ImagesLook& images, Draft& draft) {
  Recipe& recipe = draft.recipe;
  const bool drawings = images.all_grey && images.side_median <= kDrawingSide;
  recipe.model.name = drawings ? "lenet" : "resnet9";
  draft.say("model.name", drawings ? "Slower and more exact: \"resnet9\"."
                                   : "Several times as fast, and far less exact with few pictures: "
                                     "\"cnn\", \"lenet\".");
  const bool large = images.side_median >= kShowsMore && images.images < kManyPhotos;
  recipe.data.image_size = large ? kLargePhoto : kSmallPhoto;
  recipe.data.channels = images.all_grey ? 1 : 3;
}

Status draft_images(const ImagesLook& images, Draft& draft) {
  if (images.classes.size() < 2) {
    return invalid_argument("images: expected a folder each for two classes or more, got one");
  }
  Recipe& recipe = draft.recipe;
  recipe.data.name = "images";
  draft.heading =
      fmt::format("images in folders, {} in {} classes", images.images, images.classes.size());
  choose_image_model(images, draft);
  draft.say("data.name");
  draft.say("data.path");
  draft.say("data.image_size",
            "Pictures are resized until they cover this square, and their middle is cut out.");
  draft.say("data.channels", images.all_grey ? "All pictures are grey." : "");
  if (!images.own_split) say_split(draft);
  recipe.data.transforms = fmt::format("crop:{}{}", recipe.data.image_size / 8,
                                       images.all_grey ? "" : " flip jitter:0.2:0.2:0.2");
  draft.say(
      "data.transforms",
      images.all_grey
          ? "Each picture is shifted a little, anew in each pass. Photos gain by \"flip\" too."
          : "Each picture is shifted, mirrored and coloured a little, anew in each pass. Leave "
            "out \"flip\" where left and right differ, and \"jitter\" where colour decides.");
  const std::int64_t samples =
      images.own_split ? images.training : images.images - images.images / 10;
  const std::int64_t batch = batch_for(samples, 32);
  say_optimizer(draft, "adamw", 0.002, 0.01);
  recipe.schedule.name = "one_cycle";
  const bool deep = recipe.model.name == "resnet9";
  say_run(draft, samples, batch, steps_for(samples, batch, deep ? 15 : 40, 120, 4000));
  return {};
}

// --- Tables.

constexpr std::int64_t kTellingRows = 20;  // fewer may have a class each
constexpr std::int64_t kClassesMax = 20;   // whole numbers up to here are classes

// A number, name or date of its row, of which new rows have another.
bool says_which_row(const ColumnLook& column) { return column.identifier || column.dates; }

Result<const ColumnLook*> target_of(const DataLook& look, const std::string& target) {
  const std::vector<ColumnLook>& columns = look.table.columns;
  if (target.empty()) {
    const auto useful = std::find_if(columns.rbegin(), columns.rend(), [](const ColumnLook& each) {
      return !says_which_row(each) && each.values > 0;
    });
    return useful == columns.rend() ? &columns.back() : &*useful;
  }
  std::vector<std::string> names;
  for (const ColumnLook& column : columns) {
    if (column.name == target) return &column;
    names.push_back(column.name);
  }
  return invalid_argument(fmt::format("--target: expected a column of {}, got \"{}\"{}; it has {}",
                                      safe_text(look.path), safe_text(target),
                                      did_you_mean(target, names), fmt::join(names, ", ")));
}

bool is_of_classes(const ColumnLook& column) {
  if (!column.of_numbers) return true;
  return column.whole && column.min >= 0 && column.max < 65536 && column.different <= kClassesMax;
}

void say_table_form(const TableLook& table, Draft& draft) {
  Recipe::Data& data = draft.recipe.data;
  data.separator = separator_name(table.form.separator);
  data.decimal = table.form.decimal == ',' ? "comma" : "point";
  data.header = table.form.header;
  draft.say("data.separator", "How the table is written, as its first lines show.");
  draft.say("data.decimal");
  draft.say("data.header");
}

void say_ignored(const TableLook& table, const ColumnLook& target, Draft& draft) {
  std::vector<std::string> ignored;
  for (const ColumnLook& column : table.columns) {
    if (&column != &target && column.exact && says_which_row(column))
      ignored.push_back(column.name);
  }
  if (ignored.empty() || ignored.size() + 1 == table.columns.size()) return;
  draft.recipe.data.columns_ignored = ignored_text(ignored);
  draft.say("data.columns_ignored",
            "Numbers, names or dates of single rows, which new rows do not share; \"\" takes all "
            "columns.");
}

void say_mlp(Draft& draft, std::int64_t rows) {
  draft.recipe.model.name = "mlp";
  draft.recipe.model.hidden_units = rows >= 5000 ? 128 : 64;
  draft.say("model.name");
  draft.say("model.hidden_units");
}

void say_rows_run(Draft& draft, std::int64_t rows) {
  const std::int64_t samples = rows - rows / 10;
  const std::int64_t batch = batch_for(samples, 64);
  say_optimizer(draft, "adamw", 0.005, 0.01);
  say_run(draft, samples, batch, steps_for(samples, batch, 60, 400, 5000));
}

Status draft_table(const DataLook& look, const std::string& target, Draft& draft) {
  const TableLook& table = look.table;
  WEFT_TRY_ASSIGN(const ColumnLook* const column, target_of(look, target));
  if (column->different < 2) {
    return invalid_argument(fmt::format(
        "{}: column {} is to be learned, but has {} in every row; say another: --target COLUMN",
        safe_text(look.path), column->name,
        column->different == 0 ? "no value" : "the same value"));
  }
  if (!column->of_numbers && column->values > kTellingRows &&
      2 * column->different > column->values) {
    return invalid_argument(fmt::format(
        "{}: column {} is to be learned, but has {} different words in {} rows, too many "
        "to be classes; say another: --target COLUMN, or write its numbers alone",
        safe_text(look.path), column->name, column->different, column->values));
  }
  const bool classes = is_of_classes(*column);
  draft.heading = fmt::format("a table, {} rows of {} columns", table.rows, table.columns.size());
  draft.recipe.data.name = "rows";
  // The last column needs no name, which may have letters that no recipe takes.
  const bool is_last = column == &table.columns.back();
  if (!is_last || (table.form.header && column->exact)) {
    draft.recipe.data.target = column->name;
  }
  draft.recipe.data.classify = classes;
  say_mlp(draft, table.rows);
  draft.say("data.name");
  draft.say("data.path");
  draft.say("data.target", "The column to learn; all others are inputs.");
  say_ignored(table, *column, draft);
  draft.say("data.classify", classes ? "It holds classes." : "It holds values, not classes.");
  say_table_form(table, draft);
  say_split(draft);
  say_rows_run(draft, table.rows);
  return {};
}

Status draft_arrays(const DataLook& look, Draft& draft) {
  draft.heading = fmt::format("arrays, x {} and y {}", look.arrays.inputs, look.arrays.targets);
  draft.recipe.data.name = "rows";
  say_mlp(draft, look.arrays.rows);
  draft.say("data.name");
  draft.say("data.path");
  say_split(draft);
  say_rows_run(draft, look.arrays.rows);
  return {};
}

// --- Texts.

constexpr std::int64_t kShortText = 20000;
constexpr std::int64_t kLongText = 1000000;
constexpr std::int64_t kAlphabetMax = 500;
constexpr std::int64_t kTextMin = 400;

void say_lstm(Draft& draft) {
  Recipe::Model& model = draft.recipe.model;
  model.name = "lstm_lm";
  model.layers = 1;
  model.embedding_width = 32;
  model.hidden_units = 128;
  draft.say("model.name", "A small recurrent model, for a short text. Longer ones: \"char_gpt\".");
  for (const char* const key : {"layers", "embedding_width", "hidden_units"}) {
    draft.say(fmt::format("model.{}", key));
  }
}

void say_gpt(Draft& draft, bool large) {
  Recipe::Model& model = draft.recipe.model;
  model.name = "char_gpt";
  model.layers = large ? 4 : 2;
  model.embedding_width = 128;
  model.heads = 4;
  draft.say("model.name");
  draft.say("model.layers", "More layers and width learn more, and take longer.");
  for (const char* const key : {"embedding_width", "heads"}) {
    draft.say(fmt::format("model.{}", key));
  }
}

// A model for so many characters or tokens.
void say_text_model(std::int64_t length, Draft& draft) {
  if (length < kShortText) {
    say_lstm(draft);
  } else {
    say_gpt(draft, length >= kLongText);
  }
}

void say_text_run(std::int64_t length, Draft& draft) {
  const bool is_short = length < kShortText;
  const bool is_long = length >= kLongText;
  draft.recipe.data.context = std::min<std::int64_t>(is_long ? 128 : 64, length / 40);
  draft.say("data.context", "So many tokens does the model look back.");
  say_optimizer(draft, "adamw", is_short ? 0.005 : 0.002, is_short ? 0.01 : 0.1);
  draft.recipe.optimizer.clip_norm = 1.0;
  draft.say("optimizer.clip_norm");
  say_run(draft, 0, is_long ? 16 : 32, is_long ? 1500 : is_short ? 400 : 600);
  draft.recipe.schedule.final_fraction = 0.1;
  draft.say("schedule.final_fraction");
}

Status draft_text(const DataLook& look, Draft& draft) {
  const TextLook& text = look.text;
  if (text.characters < kTextMin) {
    return invalid_argument(fmt::format("{}: expected a text of {} characters or more, got {}",
                                        safe_text(look.path), kTextMin, text.characters));
  }
  Recipe& recipe = draft.recipe;
  recipe.data.name = "text";
  draft.heading = fmt::format("a text of {} characters", text.characters);
  say_text_model(text.characters, draft);
  draft.say("data.name");
  draft.say("data.path", "The last tenth is kept to test with.");
  recipe.data.tokenizer = text.alphabet <= kAlphabetMax ? "character" : "bpe:1024";
  draft.say("data.tokenizer");
  say_text_run(text.characters, draft);
  return {};
}

Status draft_tokens(const DataLook& look, Draft& draft) {
  const TokensLook& tokens = look.tokens;
  if (tokens.tokens < kTextMin) {
    return invalid_argument(fmt::format("{}: expected {} tokens or more, got {}",
                                        safe_text(look.path), kTextMin, tokens.tokens));
  }
  Recipe::Data& data = draft.recipe.data;
  data.name = "tokens";
  data.token_bytes = tokens.token_bytes;
  data.vocabulary = std::max<std::int64_t>(2, tokens.largest + 1);
  draft.heading = fmt::format("{} tokens", tokens.tokens);
  say_text_model(tokens.tokens, draft);
  draft.say("data.name");
  draft.say("data.path", tokens.own_split ? "" : "The last tenth is kept to test with.");
  draft.say("data.token_bytes", "As the numbers look; the file does not say it.");
  draft.say("data.vocabulary",
            "One more than the largest number that is there. Set the size that the tokenizer has, "
            "where you know it.");
  say_text_run(tokens.tokens, draft);
  return {};
}

// --- The file.

constexpr std::size_t kCommentWidth = 98;

std::string_view section_of(std::string_view key) { return key.substr(0, key.find('.')); }

// Lines that begin with "# ".
std::string comment_of(const std::string& why) {
  std::string text;
  std::size_t width = kCommentWidth;
  std::istringstream words(why);
  for (std::string word; words >> word;) {
    const bool fits = width + 1 + word.size() <= kCommentWidth;
    text += fits ? " " : text.empty() ? "# " : "\n# ";
    width = fits ? width + 1 + word.size() : 2 + word.size();
    text += word;
  }
  return text.empty() ? text : text + "\n";
}

std::string toml_text(const Draft& draft) {
  std::string text = fmt::format(
      "# For {}: written by `weft new`, to be changed at will.\n"
      "# `weft run` with this file trains; `weft recipe` lists every key.\n",
      draft.heading);
  for (const std::string_view section : {"model", "data", "optimizer", "schedule", "run"}) {
    text += fmt::format("\n[{}]\n", section);
    for (const Line& line : draft.lines) {
      if (section_of(line.key) != section) continue;
      text += comment_of(line.why);
      for (const RecipeKey& key : recipe_keys()) {
        if (key.name != line.key) continue;
        text += fmt::format("{} = {}\n", line.key.substr(section.size() + 1),
                            recipe_value(draft.recipe, key));
      }
    }
  }
  return text;
}

}  // namespace

Result<NewRecipe> new_recipe(const DataLook& look, const std::string& target) {
  Draft draft;
  draft.recipe.data.path = look.path;
  draft.recipe.run.name = safe_text(std::filesystem::path(look.path).stem().string(), 60);
  if (!target.empty() && look.kind != LookKind::kTable) {
    return invalid_argument(fmt::format("--target: {} is no table, whose column could be chosen",
                                        safe_text(look.path)));
  }
  switch (look.kind) {
    case LookKind::kImages:
      WEFT_TRY(draft_images(look.images, draft));
      break;
    case LookKind::kTable:
      WEFT_TRY(draft_table(look, target, draft));
      break;
    case LookKind::kArrays:
      WEFT_TRY(draft_arrays(look, draft));
      break;
    case LookKind::kText:
      WEFT_TRY(draft_text(look, draft));
      break;
    case LookKind::kTokens:
      WEFT_TRY(draft_tokens(look, draft));
      break;
  }
  const std::string text = toml_text(draft);
  WEFT_TRY_ASSIGN(const Recipe recipe, parse_recipe(text, "the new recipe"));
  WEFT_TRY(check_recipe(recipe));
  return NewRecipe{recipe, text};
}

}  // namespace weft
