// Rows of a table as numbers: statistics of the columns, and the encoding of rows for a model.
//
// Where it stands: csv.h and open_path.h give a dataset whose rows hold the file's values (for a
// word its number, for a missing value NaN); describe_rows() computes means and deviations from the
// training split, encode_rows() encodes such rows as a model's input. Training, evaluation, predict
// and serve all use encode_rows(). Threads: pure functions. Fails: kInvalidArgument if shapes do
// not fit the description.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "weft/array/array.h"
#include "weft/base/status.h"
#include "weft/data/dataset.h"

namespace weft {

// Fills means, deviations and counts of missing values in the columns of `training`, and mean and
// deviation of its target values; columns and targets without a name are numbered. A column that
// never changes has the deviation 1. Fails: kInvalidArgument if a target value is missing or not
// finite.
Status describe_rows(Dataset& training);

// Encodes f32 [n, columns], as in files, as f32 [n, features]. Fails also on an infinite value.
Result<Array> encode_rows(const DataDescription& data, const Array& rows);

// Scales f32 [n, targets] as the model learns them, and back, in place.
void scale_targets(const DataDescription& data, std::span<float> values);
void scale_back(const DataDescription& data, std::span<float> values);

// Encodes the rows and targets of `dataset` by the description `of`, which the dataset has from
// then on.
Status apply_description(const DataDescription& of, Dataset& dataset);

// One sentence for each column in which training rows have no value.
std::vector<std::string> missing_notes(const DataDescription& data);

}  // namespace weft
