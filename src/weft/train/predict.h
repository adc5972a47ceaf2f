// predict(): what a checkpoint's model says of an input. What `weft predict` does.
//
// Images: a PNG or JPEG of any size, cut and resized as those of a folder are; or .npy/.npz
// [N, C, H, W] (or [C, H, W], without C where it is 1), where bytes are pixels and floats are
// normalised already.
// Tables: .csv/.tsv with the columns of training by their names, in any order, others passed over;
// or .npy/.npz [N, columns] as a file would say them. What the model says is in the units of what
// was learned.
// Texts: the words themselves, which the model goes on with; or .npy/.npz of tokens [N, T].
// Threads: one. Fails: as open_checkpoint_model(), kInvalidArgument where the input does not fit,
// kCorrupt where a file is damaged.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/array/array.h"
#include "weft/data/catalog.h"

namespace weft {

struct PredictRequest {
  std::string checkpoint;
  std::string input;  // path or, for models of text, the beginning
  std::string out;    // where outputs go as .npy; empty: nowhere
  std::int64_t top = 3;
  // Of texts.
  std::int64_t tokens = 200;
  double temperature = 0.0;  // 0: always the most likely token
  std::uint64_t seed = 1;
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
  std::string note = {};  // what a person should know of the input, ending in a line's end
  // For a model of classes: the request.top likeliest of each row, the likeliest first.
  std::vector<std::vector<ClassShare>> likeliest = {};
  std::vector<std::string> targets = {};  // what the values of a table are called
};

// Writes request.out too.
Result<Prediction> predict(const PredictRequest& request, const DataPlaces& places);

}  // namespace weft
