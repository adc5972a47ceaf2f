// Rows of a CSV file by the description of the table that a model was trained on.
//
// Columns are found by their names, in any order; others are passed over. Without a header, which
// the training data then did not have either, they stand in the order of training: the target where
// it stood, or left out, and those that training ignored likewise. A width that could be either of
// two such forms is refused.
// Threads: pure. Fails: kInvalidArgument where a column is not there; kCorrupt "path: line N,
// column "NAME": expected X, got Y"; kUnavailable where the file cannot be read.
#pragma once

#include <string>
#include <vector>

#include "weft/base/status.h"
#include "weft/data/csv.h"
#include "weft/data/dataset.h"

namespace weft {

// What the file says: the dataset's rows and, with `targets`, what is to be learned; as
// make_csv_dataset() gives them, so that apply_description() makes inputs of them.
struct DescribedRows {
  Dataset dataset;
  std::int64_t unknown_words = 0;  // fields with a word that training did not have
};
enum class RowTargets : std::uint8_t { kIgnored, kRead };

Result<DescribedRows> read_described_csv(const std::string& path, const CsvOptions& options,
                                         const DataDescription& data, RowTargets targets);

}  // namespace weft
