// open_path: opens a file or folder as a dataset, according to its form.
//
//   FOLDER with train.bin        tokens; the test split is test.bin or val.bin
//   FOLDER with class folders    images (image_folder.h)
//   *.txt, *.text, *.txt.gz      text
//   *.bin                        tokens; the last tenth is the test split
//   *.csv, *.tsv                 rows; the last tenth is the test split
//   FOLDER with x.npy and y.npy  (or X.npy, ...) rows: y integers are classes, y floats are
//   targets; the last tenth
//                                is the test split, or with csv.mixed one that is drawn
//
// Fails: kInvalidArgument on anything else, otherwise as the readers do.
#pragma once

#include <string>

#include "weft/base/status.h"
#include "weft/data/csv.h"
#include "weft/data/dataset.h"
#include "weft/data/image_folder.h"
#include "weft/data/text_file.h"

namespace weft {

struct PathOptions {
  TextOptions text = {};
  TokenFileOptions tokens = {};  // its context is that of `text`
  ImageFolderOptions images = {};
  CsvOptions csv = {};
  CsvDatasetOptions csv_dataset = {};
};

Result<Dataset> open_path(const std::string& path, Split split, const PathOptions& options = {});

// The file in a folder that holds the array "x" or "y", in either case; empty if there is none.
std::string array_file(const std::string& folder, char letter);

// The token file of one split in a folder with train.bin: test.bin for the test split, or val.bin.
std::string token_split_file(const std::string& folder, Split split);

// Makes rows from arrays: inputs [n, ...] of any type become f32 [n, rest]; integer or boolean
// labels [n], or [n, 1], are classes, floating targets [n] or [n, k] are values.
Result<Dataset> make_row_dataset(std::string name, const Array& inputs, const Array& labels);

}  // namespace weft
