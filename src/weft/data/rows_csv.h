// Reads rows of a CSV file by the description of the table that a model was trained on.
//
// Columns are found by their names, in any order; others are ignored. Without a header (then the
// training data had none either) they are in the order of training: the target in its position, or
// left out, and likewise the columns that training ignored. A width that fits two such forms is
// refused.
// Threads: pure. Fails: kInvalidArgument if a column is missing; kCorrupt "path: line N, column
// "NAME": expected X, got Y"; kUnavailable if the file cannot be read.
#pragma once

#include <string>
#include <vector>

#include "weft/base/status.h"
#include "weft/data/csv.h"
#include "weft/data/dataset.h"

namespace weft {

// The file's values: the dataset's rows and, with `targets`, its target values, in the form of
// make_csv_dataset(), so that apply_description() encodes them.
struct DescribedRows {
  Dataset dataset;
  std::int64_t unknown_words = 0;  // fields with a word that training did not have
};
enum class RowTargets : std::uint8_t { kIgnored, kRead };

Result<DescribedRows> read_described_csv(const std::string& path, const CsvOptions& options,
                                         const DataDescription& data, RowTargets targets);

}  // namespace weft
