// A model from one file: its architecture, its inputs and the meaning of its outputs.
//
//   WEFT_TRY_ASSIGN(LoadedModel model, load_model("weft-runs/r1"));
//   WEFT_TRY_ASSIGN(const Array scores, model.predict(pixels));   // u8 [N, C, H, W]
//
// Where it stands: a checkpoint's metadata names the model of the zoo and its sizes ("model"), and
// describes the data ("data", data/description.h, and "tokenizer", data/tokenizer.h), so that
// nothing else is needed; `weft predict`, `eval`, `export` and `serve` and Python's
// weft.models.load() use it.
//
//   model := JSON {"name": text, SIZE: integer {..}, "dropout": boolean, ...} of ModelOptions
//
// Inputs are the values of files: bytes are pixels, which pass through the non-random transforms of
// training and are normalised; rows of a table are raw values, for a word its number in the
// column's words and for a missing value NaN; tokens are numbers. Outputs are logits, or values in
// the units of the targets. A file may come from anywhere: sizes are bounded, and a model larger
// than its file is refused. Threads: one at a time. Fails: kUnavailable if there is no file,
// kCorrupt if it is damaged or holds values that are not finite, kInvalidArgument if inputs do not
// fit, or if an older release wrote the file and it does not describe itself.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "weft/base/status.h"
#include "weft/data/description.h"
#include "weft/data/transform.h"
#include "weft/io/checkpoint.h"
#include "weft/kernel/core/prepared_weights.h"
#include "weft/nn/zoo.h"

namespace weft {

// The description of a model besides its parameters.
struct ModelCard {
  std::string architecture;  // of the zoo
  ModelOptions options;      // its seed does not count
  DataDescription data;
};

// Converts a card to texts of a checkpoint's metadata, all empty if the tokenizer is beyond
// kTokenizerTextBytesMax, and back: kCorrupt for damaged texts, kInvalidArgument if there are none.
CardTexts card_texts(const ModelCard& card);
Result<ModelCard> parse_card(const CardTexts& texts);

// Forms of all parameters of `model`; a model whose parameters are replaced needs new ones.
PreparedWeights prepared_weights_of(const Module& model, WeightPrecision precision);
// "f32" or "int8". Fails: kInvalidArgument for another name.
Result<WeightPrecision> parse_weight_precision(std::string_view name);

struct LoadedModel {
  std::string architecture;
  ModelOptions options;
  DataDescription data;
  std::int64_t step = 0;                    // steps that it was trained
  std::unique_ptr<Module> model = nullptr;  // in evaluation mode
  Transforms transforms = {};               // of images; none of them random
  // What compute() keeps of the weights between calls; null: nothing. Several times the memory of
  // the weights in the worst case (kernel/core/prepared_weights.h).
  std::unique_ptr<PreparedWeights> prepared_weights = nullptr;

  bool is_text() const { return data.kind == DatasetKind::kTokens; }
  std::int64_t parameters() const;
  // The shape of one sample: [C, H, W] of the data's images, [columns] or [T].
  Shape sample_shape() const;
  // Converts inputs [N, ...] to the form that `model` takes. Images: u8 of sample_shape() or, if
  // there are transforms, of the size after them; floats count as normalised already. Rows: any
  // numbers [N, columns]. Tokens: integers [N, T].
  Result<Array> prepare(const Array& inputs) const;
  // Converts an image of any size to [1, C, H, W]: it is cropped and resized like those of a
  // folder.
  Result<Array> prepare(const Image& image) const;
  // Computes the model's outputs for prepared inputs, f32: logits, or values scaled back.
  Result<Array> compute(const Array& prepared) const;
  Result<Array> predict(const Array& inputs) const;
  // Sets prepared_weights; build_model() does. A model whose parameters are replaced needs it
  // again. With kInt8 matrices of linear and recurrent layers are quantised (kernel/gemm/int8.h).
  void keep_prepared_weights(WeightPrecision precision = WeightPrecision::kF32);
};

// `card` with the parameters of the checkpoint in `bytes`; `path` is for messages.
Result<LoadedModel> build_model(const ModelCard& card, const CheckpointFile& file,
                                const std::string& path);
// kCorrupt, naming the first, if a parameter or buffer is infinite or not a number.
Status check_parameters(const Module& model);
// Loads a file, or the newest good checkpoint of a run's folder.
Result<LoadedModel> load_model(const std::string& path);

}  // namespace weft
