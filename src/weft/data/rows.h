// Rows of a table as numbers: what the columns are learned to be, and what a row is to a model.
//
// Where it stands: csv.h and open_path.h give a dataset whose rows hold what the file says (of a
// word its number, of a missing value NaN); describe_rows() learns means and deviations from the
// training split, encode_rows() makes of such rows what a model takes. Training, evaluation,
// predict and serve all go through encode_rows().
// Threads: pure functions. Fails: kInvalidArgument where shapes do not fit the description.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "weft/array/array.h"
#include "weft/base/status.h"
#include "weft/data/dataset.h"

namespace weft {

// Fills means, deviations and counts of missing values in the columns of `training`, and mean and
// deviation of its values to learn; columns and targets that have no name yet are numbered. A
// column that never changes has the deviation 1. Fails: kInvalidArgument where a value to learn is
// missing or no finite number.
Status describe_rows(Dataset& training);

// f32 [n, columns], as files say it, to f32 [n, features]. Fails also on an infinite value.
Result<Array> encode_rows(const DataDescription& data, const Array& rows);

// f32 [n, targets] as the model learns them, and back, in place.
void scale_targets(const DataDescription& data, std::span<float> values);
void scale_back(const DataDescription& data, std::span<float> values);

// The rows and targets of `dataset` as the model takes them, by the description `of`, which the
// dataset has from then on.
Status apply_description(const DataDescription& of, Dataset& dataset);

// A sentence for each column in which training rows have no value.
std::vector<std::string> missing_notes(const DataDescription& data);

}  // namespace weft
