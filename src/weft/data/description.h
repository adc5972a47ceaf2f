// DataDescription: what a model needs to know about its training data in order to accept inputs and
// interpret outputs without the data.
//
// Where it stands: a Dataset is one, with samples; a checkpoint has one in its metadata
// (io/model_file.h), so that predict, eval, serve and export need no dataset. Its text is JSON; a
// tokenizer is stored apart from it:
//
//   images  {"kind": "images", "name", "classes", "class_names", "channels", "height", "width",
//            "mean": [..], "deviation": [..], "transforms"}
//   tokens  {"kind": "tokens", "name", "vocabulary", "context", "characters_per_token"}
//   rows    {"kind": "rows", "name", "classes", "class_names",
//            "columns": [{"name", "mean", "deviation", "missing"} | {"name", "missing", "words"}],
//            "targets": [{"name", "mean", "deviation"}], "ignored": ["name", ..]}
//
// A text may come from anywhere: every count and number is checked, and unknown keys are ignored.
// Equal descriptions give equal bytes on every machine; they contain no path.
// Threads: values. Fails: kCorrupt "description: KEY: expected X, got Y".
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/status.h"

namespace weft {

class Tokenizer;

enum class DatasetKind : std::uint8_t { kImages, kTokens, kRows };
std::string_view to_string(DatasetKind kind);

inline constexpr std::size_t kDescriptionBytesMax = std::size_t{16} << 20U;
inline constexpr std::size_t kTokenizerTextBytesMax = std::size_t{24} << 20U;
inline constexpr std::size_t kDescribedColumnsMax = 65536;
inline constexpr std::int64_t kRowFeaturesMax = std::int64_t{1} << 20U;

// An input column of a table. A column of numbers is one feature, (value - mean) / deviation, and a
// missing value is replaced by the mean. A column of words is one feature for each word, 1 in rows
// with that word and 0 otherwise; a missing word, or one that training did not have, is 0 in all of
// them.
struct ColumnDescription {
  std::string name;
  std::vector<std::string> words = {};  // none: numbers
  double mean = 0.0;                    // of the training rows that have a value
  double deviation = 1.0;               // > 0
  std::int64_t missing = 0;             // training rows that have none

  std::int64_t features() const {
    return words.empty() ? 1 : static_cast<std::int64_t>(words.size());
  }
};

// A column that the model predicts. Values are learned as (value - mean) / deviation, and the
// model's output is scaled back; for classes only the name is used.
struct TargetDescription {
  std::string name;
  double mean = 0.0;
  double deviation = 1.0;  // > 0
};

struct DataDescription {
  std::string name;
  DatasetKind kind = DatasetKind::kImages;
  std::int64_t classes = 0;                   // 0 where there are no labels of classes
  std::vector<std::string> class_names = {};  // empty, or one a class

  // For kImages.
  std::int64_t channels = 1;  // 1 or 3
  std::int64_t height = 0;
  std::int64_t width = 0;
  // Mean and deviation of all training pixels divided by 255; one for each channel, or one for all.
  std::vector<double> mean = {0.0};
  std::vector<double> deviation = {1.0};
  // The transforms of training images before normalisation (transform.h); predictions skip the
  // random ones.
  std::string transforms = {};

  // For kTokens.
  std::int64_t vocabulary = 0;        // every token is below
  std::int64_t context = 0;           // T of a batch
  double characters_per_token = 1.0;  // turns a loss a token into bits a character
  std::shared_ptr<const Tokenizer> tokenizer = nullptr;  // where it is known

  // For kRows.
  std::vector<ColumnDescription> columns = {};
  std::vector<TargetDescription> target_columns = {};
  // Columns of the table that the model does not use.
  std::vector<std::string> ignored = {};

  // For kRows: the number of features of a row, over all columns.
  std::int64_t features() const;
  // For kRows: true if the model predicts values, false if it scores classes.
  bool has_values() const { return kind == DatasetKind::kRows && classes == 0; }
};

// The text of the description without its tokenizer.
std::string description_text(const DataDescription& description);
Result<DataDescription> parse_description(std::string_view text);
// The first difference because of which a model of `was` does not fit data of `now`: "columns",
// "words of the column a", "class names", ...; empty if it fits. Means and deviations may differ.
std::string data_difference(const DataDescription& was, const DataDescription& now);

}  // namespace weft
