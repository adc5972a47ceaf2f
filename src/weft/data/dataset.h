// Dataset: images with labels, one long row of tokens, or rows of numbers, and their description.
//
// Where it stands: catalog.h and the readers beside this open one from files, synthetic.h
// computes one; make_batch() and BatchLoader turn its samples into batches.
// Threads: immutable once made; any number may read it (read_image must allow that too).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weft/array/array.h"
#include "weft/base/bytes.h"
#include "weft/base/status.h"
#include "weft/data/description.h"

namespace weft {

enum class Split : std::uint8_t { kTrain, kTest };
std::string_view to_string(Split split);

// Consecutive tokens in memory or in a mapped file; little-endian.
struct TokenSpan {
  SharedBytes bytes;
  std::int64_t token_bytes = 1;  // 1, 2 or 4

  std::int64_t size() const { return static_cast<std::int64_t>(bytes.size()) / token_bytes; }
  // Copies tokens [begin, begin + out.size()). REQUIRES: in range.
  void copy(std::int64_t begin, std::span<std::int64_t> out) const;
};

// Packs values into tokens of the smallest width that holds `vocabulary` different ones.
TokenSpan pack_tokens(std::span<const std::int32_t> tokens, std::int64_t vocabulary);

struct Dataset : DataDescription {
  Split split = Split::kTrain;
  std::int64_t size = 0;  // samples: images, windows of tokens, or rows

  // For kImages.
  SharedBytes images = {};  // [size, channels, height, width], 0 to 255
  // Set if the images are not in memory: writes image `index`, [channels, height, width].
  std::function<Status(std::int64_t index, MutableByteSpan out)> read_image = nullptr;

  // For kImages and kRows: [size], each < classes; u8, or u16 little-endian where classes > 256.
  SharedBytes labels = {};

  // For kTokens: sample i is the `context` + 1 tokens from i * context on, so that each token but
  // the first is a label exactly once.
  TokenSpan tokens = {};

  // For kRows: a model's input, one number for each feature (encode_rows() in rows.h), or the
  // file's values, one number for each column.
  Array rows = {};
  Array targets = {};  // f32 [size, targets]; undefined where labels hold

  // REQUIRES: images in memory, index in [0, size).
  ByteSpan image(std::int64_t index) const;
  std::int64_t label(std::int64_t index) const;
  std::int64_t image_bytes() const { return channels * height * width; }
  // For tokens: the number of positions at which a window may begin, for random windows.
  std::int64_t window_starts() const { return tokens.size() - context; }

  // Removes all samples but the first `count`. REQUIRES: 1 <= count <= size.
  void keep_first(std::int64_t count);
  // For tokens: sets another window length. Fails: kInvalidArgument unless 1 <= context < tokens.
  Status set_context(std::int64_t context);
};

// Checks that all data is as large as `size` and the sizes of a sample require; O(1). Batches are
// made from checked datasets only. Fails: kInvalidArgument, naming what is too small.
Status check_dataset(const Dataset& dataset);

// For rows: keeps the first nine tenths, or the rest. Fails: kInvalidArgument if nothing is left.
Status keep_row_split(Dataset& dataset, Split split);

// Makes a token dataset. Fails: kInvalidArgument like set_context, or on a vocabulary below 1.
Result<Dataset> make_token_dataset(std::string name, TokenSpan tokens, std::int64_t vocabulary,
                                   std::int64_t context);

// Packs `labels` as Dataset::labels requires. REQUIRES: each in [0, classes), classes <= 65536.
SharedBytes pack_labels(std::span<const std::int64_t> labels, std::int64_t classes);

struct SyntheticOptions {
  std::uint64_t seed = 1;
  std::int64_t size = 2048;
  std::int64_t height = 28;
  std::int64_t width = 28;
  std::int64_t classes = 10;
  std::int64_t channels = 1;
};

// Makes images of `classes` fixed patterns with noise, which a small model can separate. The same
// seed gives the same patterns in both splits but different noise, so a test split measures
// learning. It needs no file. Fails: kInvalidArgument on sizes below 1, more than 256 classes,
// other than 1 or 3 channels, or more than 1 GiB of pixels.
Result<Dataset> make_synthetic_dataset(const SyntheticOptions& options, Split split);

}  // namespace weft
