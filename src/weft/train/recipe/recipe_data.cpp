#include "weft/train/recipe/recipe_data.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "weft/base/file.h"
#include "weft/base/nearest_name.h"
#include "weft/data/catalog.h"
#include "weft/data/csv_sniff.h"
#include "weft/data/file_ending.h"

namespace weft {
namespace {

// The shortest text whose tenth, the test set, may be a few tokens long.
constexpr std::int64_t kLengthMin = 40;

// Kinds of data as the keys tell them apart.
enum DataKind : unsigned {
  kImageFolder = 1U << 0U,
  kRowFiles = 1U << 1U,
  kTextFiles = 1U << 2U,
  kTokenFiles = 1U << 3U,
  kKnownImages = 1U << 4U,  // by a name of `weft data list`, computed ones among them
  kKnownTexts = 1U << 5U,
  kMarkov = 1U << 6U,
  kSynthetic = 1U << 7U,
};

struct OwnKind {
  std::string_view name;
  DataKind kind;
};
constexpr OwnKind kOwnKinds[] = {
    {"images", kImageFolder}, {"rows", kRowFiles}, {"text", kTextFiles}, {"tokens", kTokenFiles}};

constexpr unsigned kImages = kImageFolder | kKnownImages | kSynthetic;
constexpr unsigned kTexts = kTextFiles | kKnownTexts;

// Who reads a key; those that are not here are read by all.
struct KeyReaders {
  std::string_view key;
  unsigned kinds;
  std::string_view who;
};
constexpr KeyReaders kReaders[] = {
    {"data.channels", kImageFolder, "data.name = \"images\""},
    {"data.classify", kRowFiles, "data.name = \"rows\""},
    {"data.columns_ignored", kRowFiles, "data.name = \"rows\""},
    {"data.context", kTexts | kTokenFiles | kMarkov, "texts and tokens"},
    {"data.decimal", kRowFiles, "data.name = \"rows\""},
    {"data.header", kRowFiles, "data.name = \"rows\""},
    {"data.image_size", kImageFolder, "data.name = \"images\""},
    {"data.image_width", kImageFolder, "data.name = \"images\""},
    {"data.path", kImageFolder | kRowFiles | kTextFiles | kTokenFiles,
     "data.name = \"images\", \"rows\", \"text\" or \"tokens\""},
    {"data.separator", kRowFiles, "data.name = \"rows\""},
    {"data.split", kImageFolder | kRowFiles, "data.name = \"images\" or \"rows\""},
    {"data.synthetic_samples", kSynthetic, "data.name = \"synthetic\""},
    {"data.target", kRowFiles, "data.name = \"rows\""},
    {"data.token_bytes", kTokenFiles, "data.name = \"tokens\""},
    {"data.tokenizer", kTexts, "texts"},
    {"data.transforms", kImages, "images"},
    {"data.vocabulary", kTokenFiles, "data.name = \"tokens\""},
};

const OwnKind* own_kind(std::string_view name) {
  for (const OwnKind& own : kOwnKinds) {
    if (own.name == name) return &own;
  }
  return nullptr;
}

// REQUIRES: a known name.
DataKind kind_of(const std::string& name) {
  if (const OwnKind* const own = own_kind(name); own != nullptr) return own->kind;
  if (name == "synthetic") return kSynthetic;
  if (name == "markov") return kMarkov;
  return name == "gaussian" || known_images(name).has_value() ? kKnownImages : kKnownTexts;
}

Status check_name(const std::string& name) {
  std::vector<std::string> names = dataset_names();
  for (const OwnKind& own : kOwnKinds) names.emplace_back(own.name);
  std::sort(names.begin(), names.end());
  if (std::find(names.begin(), names.end(), name) != names.end()) return {};
  return invalid_argument(fmt::format(
      "data.name: expected one of {}, got \"{}\"{}; images, rows, text and tokens read your own "
      "data at data.path",
      fmt::join(names, ", "), name, did_you_mean(name, names)));
}

// A key that is not at its default, and which nobody reads.
Status check_readers(const Recipe& recipe) {
  const DataKind kind = kind_of(recipe.data.name);
  const Recipe defaults;
  for (const RecipeKey& key : recipe_keys()) {
    const auto* const readers =
        std::find_if(std::begin(kReaders), std::end(kReaders),
                     [&](const KeyReaders& known) { return known.key == key.name; });
    if (readers == std::end(kReaders) || (readers->kinds & kind) != 0) continue;
    const std::string value = recipe_value(recipe, key);
    if (value == recipe_value(defaults, key)) continue;
    return invalid_argument(
        fmt::format("{}: {} has no effect with data.name = \"{}\", only with {}; leave it out, or "
                    "set data.name",
                    key.name, value, recipe.data.name, readers->who));
  }
  return {};
}

Status check_form(const Recipe& recipe, const CsvForm& form, const std::string& path) {
  if (recipe.data.header || !form.header_certain) return {};
  return invalid_argument(
      fmt::format("data.header: got false, but the first line of {} has words over columns of "
                  "numbers; set data.header = true",
                  path));
}

}  // namespace

bool reads_own_data(const Recipe& recipe) { return own_kind(recipe.data.name) != nullptr; }

Status check_data_keys(const Recipe& recipe) {
  const Recipe::Data& data = recipe.data;
  WEFT_TRY(check_name(data.name));
  WEFT_TRY(check_readers(recipe));
  if (reads_own_data(recipe) && data.path.empty()) {
    return invalid_argument(
        fmt::format("data.path: expected the file or folder that data.name = \"{}\" reads, got "
                    "nothing",
                    data.name));
  }
  WEFT_TRY_ASSIGN(const std::vector<std::string> ignored, ignored_columns(recipe));
  if (!data.target.empty() &&
      std::find(ignored.begin(), ignored.end(), data.target) != ignored.end()) {
    return invalid_argument(fmt::format(
        "data.columns_ignored: names \"{}\", which data.target has for the column to learn; leave "
        "it out of one of them",
        data.target));
  }
  if (data.token_bytes == 3) {
    return invalid_argument("data.token_bytes: expected 1, 2 or 4, got 3");
  }
  if (data.channels == 2) return invalid_argument("data.channels: expected 1 or 3, got 2");
  return {};
}

Result<std::vector<std::string>> ignored_columns(const Recipe& recipe) {
  std::vector<std::string> names;
  std::string_view rest = csv_trimmed(recipe.data.columns_ignored);
  while (!rest.empty()) {
    const bool quoted = rest.front() == '"';
    const std::size_t end = quoted ? rest.find('"', 1) : rest.find(',');
    const std::string_view name = quoted ? rest.substr(1, std::max<std::size_t>(end, 1) - 1)
                                         : csv_trimmed(rest.substr(0, end));
    const std::string_view behind =
        end == std::string_view::npos ? "" : csv_trimmed(rest.substr(quoted ? end + 1 : end));
    const bool torn = quoted && (end == std::string_view::npos || behind.starts_with('"'));
    if (name.empty() || torn || (!behind.empty() && behind.front() != ',')) {
      return invalid_argument(
          fmt::format("data.columns_ignored: expected names with commas between them, those with a "
                      "comma of their own in double quotes, got \"{}\"",
                      recipe.data.columns_ignored));
    }
    names.emplace_back(name);
    rest = behind.empty() ? behind : csv_trimmed(behind.substr(1));
  }
  return names;
}

std::string ignored_text(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    const bool plain = name.find_first_of(",\"") == std::string::npos;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", plain ? name : '"' + name + '"');
  }
  return text;
}

Result<CsvOptions> table_options(const Recipe& recipe, const std::string& path) {
  CsvOptions options;
  options.header = recipe.data.header;
  options.mixed = recipe.data.split == "random";
  options.missing = MissingValues::kNan;
  WEFT_TRY_ASSIGN(options.ignored, ignored_columns(recipe));
  if (is_folder(path)) {
    if (options.ignored.empty()) return options;
    return invalid_argument(fmt::format(
        "data.columns_ignored: {} holds arrays, whose columns have no names; leave it out", path));
  }
  if (!is_table_name(path)) {
    return invalid_argument(
        fmt::format("data.path: expected rows (a file .csv or .tsv, or a folder with x.npy and "
                    "y.npy), got {}",
                    path));
  }
  WEFT_TRY_ASSIGN(const CsvForm form, sniff_csv_file(path));
  const char separator = separator_named(recipe.data.separator);
  options.separator = separator == 0 ? form.separator : separator;
  options.decimal = form.decimal;
  if (recipe.data.decimal != "auto") options.decimal = recipe.data.decimal == "comma" ? ',' : '.';
  WEFT_TRY(check_form(recipe, form, path));
  return options;
}

Status check_length(const std::string& path, std::int64_t length, std::string_view unit) {
  if (length >= kLengthMin) return {};
  return invalid_argument(
      fmt::format("data.path: expected {} {} or more, {} has {}", kLengthMin, unit, path, length));
}

Result<Dataset> with_recipe_context(const Recipe& recipe, Dataset dataset, Split split) {
  const std::int64_t tokens = dataset.tokens.size();
  if (recipe.data.context < tokens) {
    WEFT_TRY(dataset.set_context(recipe.data.context));
    return dataset;
  }
  return invalid_argument(fmt::format(
      "data.context: expected at most {}, since {} has {} tokens to {}, got {}; set a smaller "
      "data.context, or give a longer text",
      std::max<std::int64_t>(0, tokens - 1), dataset.name, tokens,
      split == Split::kTrain ? "train on" : "test with", recipe.data.context));
}

Status check_batch(const Recipe& recipe, const Dataset& training) {
  if (recipe.run.global_batch <= training.size) return {};
  return invalid_argument(fmt::format(
      "run.global_batch: expected at most the {} samples of {} to train on, got {}; set a smaller "
      "run.global_batch",
      training.size, training.name, recipe.run.global_batch));
}

}  // namespace weft
