// Batch: the input and labels of one training step, and the conversion of pixels to floats.
//
// Where it stands: Dataset -> make_batch() -> BatchLoader -> train step.
// Threads: values; the arrays of a batch belong to its receiver.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "weft/array/array.h"
#include "weft/base/status.h"
#include "weft/data/dataset.h"
#include "weft/data/transform.h"

namespace weft {

// The label of a position that losses skip; PyTorch's default ignore_index.
inline constexpr std::int64_t kIgnoredLabel = -100;

struct Batch {
  Array inputs;  // f32 [n, c, h, w] or [n, features]; i64 [n, T] for tokens
  // i64 [n]; for tokens i64 [n, T], labels[r, t] = the token after inputs[r, t]; f32 [n, targets]
  // where the dataset has real-valued targets.
  Array labels;
  // i64 [n]: how many of the T positions of a row are real; undefined where all rows are whole.
  Array lengths = {};
  // True if row r continues where row r of the previous step ended: a recurrent model keeps its
  // hidden state.
  bool continues = false;
};

// value = byte / 255, then (value - mean) / deviation, as one multiplication and one addition.
// The vectors have one entry for each channel, or one for all channels.
struct Normalization {
  std::vector<double> mean = {0.0};
  std::vector<double> deviation = {1.0};  // each > 0
};

struct BatchOptions {
  Normalization normalization = {};
  std::shared_ptr<const Transforms> transforms = nullptr;  // none: the images as they are
  // Random transforms are seeded by (seed, epoch, index of the sample) alone.
  std::uint64_t seed = 0;
  std::int64_t epoch = 0;
  // Tokens: window i begins at token i * window_stride; 0 stands for the dataset's context.
  std::int64_t window_stride = 0;
};

// Makes a batch of the samples `indexes`, in that order. REQUIRES: each index in [0, dataset.size),
// or within dataset.window_starts() where window_stride is 1. Fails: kInvalidArgument if the
// options do not fit the dataset, kCorrupt on a token outside the vocabulary, and as the dataset's
// read_image does.
Result<Batch> make_batch(const Dataset& dataset, std::span<const std::int64_t> indexes,
                         const BatchOptions& options);
// Makes a batch of the samples [begin, end) in the order of the dataset, for evaluation. REQUIRES:
// in range.
Result<Batch> make_batch(const Dataset& dataset, std::int64_t begin, std::int64_t end,
                         const BatchOptions& options);

// Makes one batch from token sequences of any lengths: row r is sequences[r] without its last
// token, padded with `padding` to the longest row; its labels are the tokens after each, padded
// with kIgnoredLabel; lengths holds the number of real ones. Sequences of less than two tokens give
// empty rows.
Batch pad_sequences(std::span<const std::vector<std::int32_t>> sequences, std::int64_t padding);

}  // namespace weft
