// The JSON of POST /v1/predict: rows of numbers in, outputs and classes out.
//
//   request := {"inputs": [row{1..}], "model": text}      "model" may be left out
//   row     := array of values, flat or nested ([channels][height][width])
//   value   := number; in tables null where it is missing, and in a column of words a text
//   answer  := {"model": text, "outputs": [[number{..}]{..}], "classes": [integer{..}],
//               "labels": [text{..}]}     classes and labels where the model has them
//
// Read as a stream: no tree of values is built, so memory is that of the numbers.
// Threads: pure functions. Fails: kInvalidArgument with where and what was expected.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/status.h"

namespace weft {

// The number of each word of a column; empty: a column of numbers.
using WordNumbers = std::map<std::string, float, std::less<>>;

// The required content of a row.
struct RowRule {
  std::int64_t features = 1;              // numbers a row
  bool pixels = false;                    // each a whole number from 0 to 255
  std::vector<WordNumbers> columns = {};  // for tables, one per feature
  std::int64_t rows_max = 4096;
};

struct PredictRows {
  std::int64_t rows = 0;
  std::vector<float> values;  // [rows, features]; NaN where a value is missing
  std::string model;          // empty: not said
};
Result<PredictRows> parse_predict(std::string_view body, const RowRule& rule);

struct PredictOutputs {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<float> values;  // [rows, columns]; a value that is not finite becomes null
};
// With `classes` the place of the largest output of each row, the first of equals, and its name
// where `names` holds one for each column.
std::string predict_answer(const std::string& model, const PredictOutputs& outputs, bool classes,
                           std::span<const std::string> names);

}  // namespace weft
