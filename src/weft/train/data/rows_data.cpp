#include "weft/train/data/rows_data.h"

#include <utility>

#include <fmt/format.h>

#include "weft/base/file.h"
#include "weft/base/log.h"
#include "weft/data/open_path.h"
#include "weft/data/rows.h"
#include "weft/data/rows_csv.h"
#include "weft/train/recipe/recipe_data.h"

namespace weft {
namespace {

Result<Dataset> open_raw_rows(const Recipe& recipe, Split split, const std::string& path) {
  PathOptions options;
  WEFT_TRY_ASSIGN(options.csv, table_options(recipe, path));
  options.csv_dataset.target = recipe.data.target;
  options.csv_dataset.classify = recipe.data.classify;
  WEFT_TRY_ASSIGN(Dataset dataset, open_path(path, split, options));
  if (dataset.kind == DatasetKind::kRows) return dataset;
  return invalid_argument(
      fmt::format("data.path: expected rows (a file .csv or .tsv, or a folder with x.npy and "
                  "y.npy), got {} in {}",
                  to_string(dataset.kind), path));
}

}  // namespace

Result<Dataset> open_rows(const Recipe& recipe, Split split, const std::string& path) {
  WEFT_TRY_ASSIGN(Dataset dataset, open_raw_rows(recipe, split, path));
  Dataset training = dataset;
  if (split != Split::kTrain) {
    WEFT_TRY_ASSIGN(training, open_raw_rows(recipe, Split::kTrain, path));
  }
  WEFT_TRY(describe_rows(training));
  if (split == Split::kTrain) {
    for (const std::string& note : missing_notes(training)) log(LogLevel::kWarning, "{}", note);
  }
  WEFT_TRY(apply_description(training, dataset));
  return dataset;
}

Result<Dataset> open_described_rows(const Recipe& recipe, Split split, const std::string& path,
                                    const DataDescription& data) {
  if (is_folder(path)) {
    WEFT_TRY_ASSIGN(Dataset dataset, open_raw_rows(recipe, split, path));
    WEFT_TRY(apply_description(data, dataset));
    return dataset;
  }
  WEFT_TRY_ASSIGN(const CsvOptions options, table_options(recipe, path));
  WEFT_TRY_ASSIGN(DescribedRows read, read_described_csv(path, options, data, RowTargets::kRead));
  WEFT_TRY(keep_row_split(read.dataset, split));
  WEFT_TRY(apply_description(data, read.dataset));
  return std::move(read.dataset);
}

Result<DataDescription> old_rows_description(const Recipe& recipe, const std::string& path) {
  WEFT_TRY_ASSIGN(Dataset training, open_raw_rows(recipe, Split::kTrain, path));
  for (ColumnDescription& column : training.columns) column.words.clear();
  WEFT_TRY(describe_rows(training));
  for (TargetDescription& target : training.target_columns) {
    target.mean = 0.0;
    target.deviation = 1.0;
  }
  return DataDescription(std::move(training));
}

}  // namespace weft
