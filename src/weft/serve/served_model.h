// ServedModel: the model of a checkpoint, ready to answer, and what it takes and gives.
//
// Where it stands: checkpoint -> ServedModel; the reading thread prepares inputs with it, the model
// thread computes. It is built from the recipe in the checkpoint, so inputs become what they were
// in training: pixels are normalised by the mean and deviation of the dataset (of one in the
// catalogue its files are not needed) and go through the transforms that are not random; columns
// of numbers are normalised as the training rows were; texts go through the same tokenizer.
// Threads: prepare() and the facts from any thread; predict() and language_model() from the one
// that computes.
// Fails: load() as checkpoint.h and wiring.h; prepare() with kInvalidArgument; predict() with
// kInternal.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/array/parameter_arena.h"
#include "weft/data/batch.h"
#include "weft/data/catalog.h"
#include "weft/nn/language_model.h"
#include "weft/serve/completion_json.h"
#include "weft/serve/predict_json.h"
#include "weft/train/recipe.h"

namespace weft {

class ServedModel {
 public:
  static Result<std::unique_ptr<ServedModel>> load(const std::string& checkpoint,
                                                   const DataPlaces& places);
  ServedModel(const ServedModel&) = delete;
  ServedModel& operator=(const ServedModel&) = delete;

  // run.name of the recipe.
  const std::string& name() const { return recipe_.run.name; }
  const std::string& architecture() const { return recipe_.model.name; }
  std::int64_t step() const { return step_; }
  std::int64_t parameters() const { return arena_.layout().num_parameters(); }
  bool is_text() const { return data_.kind == DatasetKind::kTokens; }
  // Of the inputs of one row: [channels, height, width] or [columns], before transforms.
  std::vector<std::int64_t> input_sizes() const;
  RowRule row_rule() const;
  // The outputs of a row are scores of classes.
  bool has_classes() const { return !data_.targets.defined(); }
  const std::vector<std::string>& class_names() const { return data_.class_names; }
  // REQUIRES: is_text().
  TextRule text_rule() const;
  const Tokenizer* tokenizer() const { return data_.tokenizer.get(); }

  // What rows of a request are to the model, f32 [rows, ...]. REQUIRES: !is_text().
  Result<Array> prepare(const PredictRows& rows) const;
  // Outputs of prepared rows. REQUIRES: !is_text().
  Result<PredictOutputs> predict(const Array& inputs);
  // REQUIRES: is_text().
  CausalLanguageModel& language_model();

 private:
  ServedModel(Recipe recipe, Dataset data, std::unique_ptr<Module> model);

  Recipe recipe_;
  Dataset data_;  // its facts; no samples of images
  BatchOptions batch_options_;
  std::unique_ptr<Module> model_;
  ParameterArena arena_;
  std::int64_t step_ = 0;
};

}  // namespace weft
