// A model from one file: what it computes, what it takes and what its outputs mean.
//
//   WEFT_TRY_ASSIGN(LoadedModel model, load_model("weft-runs/r1"));
//   WEFT_TRY_ASSIGN(const Array scores, model.predict(pixels));   // u8 [N, C, H, W]
//
// Where it stands: a checkpoint says in its metadata which model of the zoo it is, with which sizes
// ("model"), and describes the data ("data", data/description.h, and "tokenizer",
// data/tokenizer.h), so that nothing else is needed; `weft predict`, `eval`, `export` and `serve`
// and Python's weft.models.load() stand on this.
//
//   model := JSON {"name": text, SIZE: integer {..}, "dropout": boolean, ...} of ModelOptions
//
// Inputs are what files say: bytes are pixels, which go through the transforms of training that are
// not random and are normalised; rows of a table are raw values, of a word its number in the
// column's words and of a missing value NaN; tokens are numbers. Outputs are logits, and values in
// the units of what was learned.
// A file may come from anywhere: sizes are bounded, and a model larger than its file is refused.
// Threads: one at a time. Fails: kUnavailable where there is no file, kCorrupt where it is damaged
// or holds values that are no finite numbers, kInvalidArgument where inputs do not fit, or the file
// was written by an older release and does not describe itself.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "weft/base/status.h"
#include "weft/data/description.h"
#include "weft/data/transform.h"
#include "weft/io/checkpoint.h"
#include "weft/nn/zoo.h"

namespace weft {

// What a model is besides its parameters.
struct ModelCard {
  std::string architecture;  // of the zoo
  ModelOptions options;      // its seed does not count
  DataDescription data;
};

// As texts of a checkpoint's metadata; none of them where the tokenizer is beyond
// kTokenizerTextBytesMax. The other way round: kCorrupt, and kInvalidArgument where there are none.
CardTexts card_texts(const ModelCard& card);
Result<ModelCard> parse_card(const CardTexts& texts);

struct LoadedModel {
  std::string architecture;
  ModelOptions options;
  DataDescription data;
  std::int64_t step = 0;                    // steps that it was trained
  std::unique_ptr<Module> model = nullptr;  // in evaluation mode
  Transforms transforms = {};               // of images; none of them random

  bool is_text() const { return data.kind == DatasetKind::kTokens; }
  std::int64_t parameters() const;
  // One sample: [C, H, W] of the data's images, [columns] or [T].
  Shape sample_shape() const;
  // Inputs [N, ...] as `model` takes them. Images: u8 of sample_shape() or, where there are
  // transforms, of the size behind them; floats are taken as normalised already. Rows: any numbers
  // [N, columns]. Tokens: integers [N, T].
  Result<Array> prepare(const Array& inputs) const;
  // An image of any size, [1, C, H, W]: it is cut and resized as those of a folder are.
  Result<Array> prepare(const Image& image) const;
  // The model's outputs for prepared inputs, f32: logits, or values scaled back.
  Result<Array> compute(const Array& prepared) const;
  Result<Array> predict(const Array& inputs) const;
};

// `card` with the parameters of the checkpoint in `bytes`; `path` is for messages.
Result<LoadedModel> build_model(const ModelCard& card, const CheckpointFile& file,
                                const std::string& path);
// kCorrupt, naming the first, where a parameter or buffer is infinite or not a number.
Status check_parameters(const Module& model);
// A file, or a run's folder, of which the newest good checkpoint is taken.
Result<LoadedModel> load_model(const std::string& path);

}  // namespace weft
