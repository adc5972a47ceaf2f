// DataDescription: what a model must know of the data it was trained on to take inputs and to say
// outputs, without the data.
//
// Where it stands: a Dataset is one, with samples; a checkpoint has one in its metadata
// (io/model_file.h), so that predict, eval, serve and export need no data set.
// Its text is JSON, a tokenizer apart from it:
//
//   images  {"kind": "images", "name", "classes", "class_names", "channels", "height", "width",
//            "mean": [..], "deviation": [..], "transforms"}
//   tokens  {"kind": "tokens", "name", "vocabulary", "context", "characters_per_token"}
//   rows    {"kind": "rows", "name", "classes", "class_names",
//            "columns": [{"name", "mean", "deviation", "missing"} | {"name", "missing", "words"}],
//            "targets": [{"name", "mean", "deviation"}], "ignored": ["name", ..]}
//
// A text may come from anywhere: every count and number is checked, and keys that are not known are
// passed over. Equal descriptions give equal bytes on every machine; no path is in them.
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

// A column of a table that a model takes. Of numbers it is one feature, (value - mean) / deviation,
// and a missing value is the mean. Of words it is a feature for each word, 1 where the row has that
// word and else 0; a missing word, or one that training did not have, is 0 in all of them.
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

// What rows are to give. Values are learned as (value - mean) / deviation, and what the model says
// is scaled back; of classes only the name counts.
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

  // kImages.
  std::int64_t channels = 1;  // 1 or 3
  std::int64_t height = 0;
  std::int64_t width = 0;
  // Those of all training pixels divided by 255; one a channel, or one for all.
  std::vector<double> mean = {0.0};
  std::vector<double> deviation = {1.0};
  // What training images go through before they are normalised (transform.h); to predict, what is
  // random is left out.
  std::string transforms = {};

  // kTokens.
  std::int64_t vocabulary = 0;        // every token is below
  std::int64_t context = 0;           // T of a batch
  double characters_per_token = 1.0;  // turns a loss a token into bits a character
  std::shared_ptr<const Tokenizer> tokenizer = nullptr;  // where it is known

  // kRows.
  std::vector<ColumnDescription> columns = {};
  std::vector<TargetDescription> target_columns = {};
  // Columns that the table had and the model does not take.
  std::vector<std::string> ignored = {};

  // kRows: numbers a row is to the model, over all columns.
  std::int64_t features() const;
  // kRows: scores of classes, or values.
  bool has_values() const { return kind == DatasetKind::kRows && classes == 0; }
};

// The description without its tokenizer.
std::string description_text(const DataDescription& description);
Result<DataDescription> parse_description(std::string_view text);
// In which way a model of `was` does not fit data of `now`: "columns", "words of the column a",
// "class names", ...; empty where it does. Means and deviations may differ.
std::string data_difference(const DataDescription& was, const DataDescription& now);

}  // namespace weft
