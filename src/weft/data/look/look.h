// DataLook: a description of the data at a path for a person who has not seen Weft's readers: its
// kind, the number of samples, classes, sizes and columns, what is odd about them, and a few
// samples.
//
// Where it stands: `weft data look` prints it; train/recipe/new_recipe.h makes a recipe from it. It
// reads files of any origin: work and memory are bounded, and every text in it is a safe_text().
// Threads: pure; reads files. Fails: kUnavailable if nothing can be read, kInvalidArgument if no
// reader accepts the data (says what it could be), kCorrupt if a file cannot be parsed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/base/status.h"
#include "weft/data/csv_sniff.h"

namespace weft {

// The data.name of a recipe for this data; arrays are rows as well.
enum class LookKind : std::uint8_t { kImages, kTable, kText, kTokens, kArrays };
std::string_view to_string(LookKind kind);

struct ImagesLook {
  std::vector<std::pair<std::string, std::int64_t>> classes;  // name, images; those of both splits
  std::int64_t images = 0;
  std::int64_t training = 0;   // images in train/; 0 where there is none
  std::int64_t looked_at = 0;  // decoded; all, or as many evenly spread
  bool own_split = false;
  bool all_grey = true;
  std::int64_t height_min = 0;
  std::int64_t height_max = 0;
  std::int64_t width_min = 0;
  std::int64_t width_max = 0;
  std::int64_t side_median = 0;  // of the shorter sides
};

struct ColumnLook {
  std::string name;
  bool exact = true;  // `name` is as the file has it, so that a recipe can name it
  bool of_numbers = false;
  // The column has another word in (nearly) every row, or whole numbers that count up by row.
  bool identifier = false;
  bool dates = false;  // most values
  bool whole = true;   // numbers: all without a fraction
  std::int64_t missing = 0;
  std::int64_t values = 0;     // that are not missing
  std::int64_t different = 0;  // values; at most kLookDifferentMax are counted
  double min = 0;
  double max = 0;
  std::vector<std::pair<std::string, std::int64_t>> words;  // the most frequent ones
};
inline constexpr std::int64_t kLookDifferentMax = 10000;

struct TableLook {
  CsvForm form;
  std::int64_t rows = 0;
  std::vector<ColumnLook> columns;
};

struct TextLook {
  std::int64_t files = 1;
  std::int64_t bytes = 0;
  std::int64_t characters = 0;
  std::int64_t lines = 0;
  std::int64_t alphabet = 0;  // different characters
};

struct TokensLook {
  std::int64_t tokens = 0;       // of both splits
  std::int64_t token_bytes = 0;  // as the numbers look; no file says it
  std::int64_t largest = 0;      // number
  bool own_split = false;        // train.bin with test.bin or val.bin
};

struct ArraysLook {
  std::string inputs;  // "f32 [100, 4]"
  std::string targets;
  std::int64_t rows = 0;
  bool classes = false;
  std::int64_t class_count = 0;  // where `classes`
};

struct DataLook {
  std::string path;
  LookKind kind = LookKind::kText;
  ImagesLook images;
  TableLook table;
  TextLook text;
  TokensLook tokens;
  ArraysLook arrays;
  std::vector<std::string> oddities;  // whole sentences
  std::vector<std::string> samples;
};

Result<DataLook> look_at_data(const std::string& path);

// look_text() is for people, with lines ending in '\n'; look_json() is one object on one line.
std::string look_text(const DataLook& look);
std::string look_json(const DataLook& look);

// The parts of look_at_data().
Status look_at_images(const std::string& path, DataLook& look);
Status look_at_table(const std::string& path, DataLook& look);
Status look_at_text(const std::string& path, DataLook& look);
Status look_at_tokens(const std::string& path, DataLook& look);
Status look_at_arrays(const std::string& folder, DataLook& look);

}  // namespace weft
