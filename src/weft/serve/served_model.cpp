#include "weft/serve/served_model.h"

#include <algorithm>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "weft/base/check.h"
#include "weft/io/checkpoint.h"
#include "weft/nn/zoo.h"
#include "weft/train/wiring.h"

namespace weft {
namespace {

// What there is to know of the recipe's data. Images of the catalogue are known without files.
Result<Dataset> data_facts(const Recipe& recipe, const DataPlaces& places) {
  if (auto known = known_images(recipe.data.name)) return std::move(*known);
  return open_recipe_dataset(recipe, Split::kTrain, places);
}

}  // namespace

ServedModel::ServedModel(Recipe recipe, Dataset data, std::unique_ptr<Module> model)
    : recipe_(std::move(recipe)),
      data_(std::move(data)),
      model_(std::move(model)),
      arena_(model_->layout()) {
  model_->bind(arena_);
  model_->train(false);
  batch_options_.normalization = {data_.mean, data_.deviation};
  // The samples are the largest part, and nothing here reads them.
  if (data_.kind == DatasetKind::kImages) data_.images = data_.labels = {};
}

Result<std::unique_ptr<ServedModel>> ServedModel::load(const std::string& checkpoint,
                                                       const DataPlaces& places) {
  WEFT_TRY_ASSIGN(const CheckpointFile file, open_checkpoint(checkpoint));
  WEFT_TRY_ASSIGN(const Recipe recipe, parse_recipe(file.info.recipe, checkpoint));
  WEFT_TRY(check_recipe(recipe));
  WEFT_TRY_ASSIGN(Dataset data, data_facts(recipe, places));
  WEFT_TRY_ASSIGN(const ModelOptions options, model_options(recipe, data));
  WEFT_TRY_ASSIGN(auto model, make_model(recipe.model.name, options));
  WEFT_TRY_ASSIGN(const Transforms transforms, recipe_transforms(recipe));
  std::unique_ptr<ServedModel> served(new ServedModel(recipe, std::move(data), std::move(model)));
  if (!transforms.empty()) {
    served->batch_options_.transforms =
        std::make_shared<const Transforms>(transforms.without_random());
  }
  const auto loaded = load_state(file.bytes, served->arena_, LoadState::kParameters);
  if (!loaded.ok()) return damaged_checkpoint(checkpoint, loaded.status());
  served->step_ = loaded->step;
  return served;
}

std::vector<std::int64_t> ServedModel::input_sizes() const {
  if (data_.kind == DatasetKind::kRows) return {data_.rows.dim(1)};
  return {data_.channels, data_.height, data_.width};
}

RowRule ServedModel::row_rule() const {
  RowRule rule;
  for (const std::int64_t size : input_sizes()) rule.features *= size;
  rule.pixels = data_.kind == DatasetKind::kImages;
  return rule;
}

TextRule ServedModel::text_rule() const {
  WEFT_CHECK(is_text());
  TextRule rule;
  rule.vocabulary = data_.vocabulary;
  rule.context = dynamic_cast<const CausalLanguageModel&>(*model_).context();
  rule.tokenizer = tokenizer();
  return rule;
}

CausalLanguageModel& ServedModel::language_model() {
  WEFT_CHECK(is_text());
  return dynamic_cast<CausalLanguageModel&>(*model_);
}

Result<Array> ServedModel::prepare(const PredictRows& rows) const {
  WEFT_CHECK(!is_text());
  if (data_.kind == DatasetKind::kRows) {
    Array inputs = Array::from(rows.values, {rows.rows, data_.rows.dim(1)});
    normalize_rows(data_, inputs.flat<float>());
    return inputs;
  }
  // The rows as a dataset of their own, whose one batch is made as those of training were.
  Dataset images = data_;
  images.size = rows.rows;
  Bytes pixels(rows.values.size());
  std::transform(rows.values.begin(), rows.values.end(), pixels.begin(),
                 [](float value) { return static_cast<std::uint8_t>(value); });
  images.images = SharedBytes(std::move(pixels));
  images.labels = SharedBytes(Bytes(static_cast<std::size_t>(rows.rows) * 2));
  WEFT_TRY_ASSIGN(Batch batch, make_batch(images, 0, rows.rows, batch_options_));
  return std::move(batch.inputs);
}

Result<PredictOutputs> ServedModel::predict(const Array& inputs) {
  WEFT_CHECK(!is_text());
  const NoGrad no_grad;
  try {
    const Array logits = model_->forward(Tensor(inputs)).array();
    return PredictOutputs{logits.dim(0), logits.dim(1), logits.to_vector<float>()};
  } catch (const std::exception& mistake) {
    return internal_error(fmt::format("model: {}", mistake.what()));
  }
}

}  // namespace weft
