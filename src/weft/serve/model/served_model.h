// ServedModel: the model of a checkpoint, ready to answer, with its kinds of inputs and outputs.
//
// Where it stands: checkpoint -> ServedModel; the reading thread prepares inputs with it, the model
// thread computes. The file describes its inputs and the meaning of its outputs (io/model_file.h),
// so inputs are prepared as in training, and values are returned in their own units. Threads:
// prepare() and the facts from any thread; predict() and language_model() from the one that
// computes.
// Fails: load() as open_checkpoint_model() and parse_weight_precision(); prepare() with
// kInvalidArgument; predict() with kInternal.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/base/status.h"
#include "weft/data/catalog.h"
#include "weft/nn/language_model.h"
#include "weft/serve/json/completion_json.h"
#include "weft/serve/json/predict_json.h"
#include "weft/train/model/checkpoint_model.h"

namespace weft {

class ServedModel {
 public:
  // `weights` is their type in products: f32 or int8.
  static Result<std::unique_ptr<ServedModel>> load(const std::string& checkpoint,
                                                   const DataPlaces& places,
                                                   std::string_view weights = "f32");
  ServedModel(const ServedModel&) = delete;
  ServedModel& operator=(const ServedModel&) = delete;

  // run.name of the recipe.
  const std::string& name() const { return opened_.recipe.run.name; }
  const std::string& architecture() const { return opened_.architecture; }
  std::int64_t step() const { return opened_.step; }
  std::int64_t parameters() const { return opened_.parameters(); }
  bool is_text() const { return opened_.is_text(); }
  // The sizes of one row of inputs: [channels, height, width] or [columns], before transforms.
  std::vector<std::int64_t> input_sizes() const;
  RowRule row_rule() const;
  const DataDescription& data() const { return opened_.data; }
  // The outputs of a row are scores of classes.
  bool has_classes() const { return !opened_.data.has_values(); }
  const std::vector<std::string>& class_names() const { return opened_.data.class_names; }
  // REQUIRES: is_text().
  TextRule text_rule() const;
  const Tokenizer* tokenizer() const { return opened_.data.tokenizer.get(); }

  // The rows of a request as inputs of the model, f32 [rows, ...]. REQUIRES: !is_text().
  Result<Array> prepare(const PredictRows& rows) const;
  // Outputs of prepared rows. REQUIRES: !is_text().
  Result<PredictOutputs> predict(const Array& inputs);
  // REQUIRES: is_text().
  CausalLanguageModel& language_model();
  // For the Use of the thread that computes texts; predict() has its own.
  PreparedWeights* prepared_weights() { return opened_.prepared_weights.get(); }

 private:
  explicit ServedModel(CheckpointModel opened) : opened_(std::move(opened)) {}

  CheckpointModel opened_;
};

}  // namespace weft
