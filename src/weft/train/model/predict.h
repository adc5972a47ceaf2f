// predict(): the predictions of a checkpoint's model for an input, for `weft predict`.
//
// Images: a PNG or JPEG of any size, cut and resized like those of a folder; or .npy/.npz
// [N, C, H, W] (or [C, H, W], without C where it is 1), where bytes are pixels and floats are
// normalised already.
// Tables: .csv/.tsv with the columns of training by their names, in any order, other columns
// ignored; or .npy/.npz [N, columns] with the values of a file. Predictions have the units of the
// target. Texts: the words themselves, which the model continues; or .npy/.npz of tokens [N, T].
// Threads: one. Fails: as open_checkpoint_model(), kInvalidArgument if the input does not fit or
// there is no such type of weights,
// kCorrupt if a file is damaged.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/array/array.h"
#include "weft/base/status.h"
#include "weft/data/catalog.h"

namespace weft {

struct PredictRequest {
  std::string checkpoint;
  std::string input;  // path or, for models of text, the beginning
  std::string out;    // where outputs go as .npy; empty: nowhere
  std::int64_t top = 3;
  // For texts.
  std::int64_t tokens = 200;
  double temperature = 0.0;  // 0: always the most likely token
  std::uint64_t seed = 1;
  std::string weights = "f32";  // their type in products: f32 or int8
};

struct ClassShare {
  std::string name;
  double share = 0;  // of one
};

struct Prediction {
  std::string text;  // for people, ending in a line's end
  // Logits [N, classes], values [N, targets] or, of tokens, logits [N, T, vocabulary]; of a text
  // the new tokens, i64 [count].
  Array outputs;
  std::string note = {};  // a note about the input for a person, ending in a line's end
  // For a model of classes: the request.top likeliest of each row, the likeliest first.
  std::vector<std::vector<ClassShare>> likeliest = {};
  std::vector<std::string> targets = {};  // names of the values of a table
};

// Writes request.out too.
Result<Prediction> predict(const PredictRequest& request, const DataPlaces& places);

}  // namespace weft
