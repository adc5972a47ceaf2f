#include "weft/serve/model/served_model.h"

#include <algorithm>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "weft/base/check.h"

namespace weft {

Result<std::unique_ptr<ServedModel>> ServedModel::load(const std::string& checkpoint,
                                                       const DataPlaces& places,
                                                       std::string_view weights) {
  WEFT_TRY_ASSIGN(const WeightPrecision precision, parse_weight_precision(weights));
  WEFT_TRY_ASSIGN(CheckpointModel opened, open_checkpoint_model(checkpoint, places));
  opened.keep_prepared_weights(precision);
  return std::unique_ptr<ServedModel>(new ServedModel(std::move(opened)));
}

std::vector<std::int64_t> ServedModel::input_sizes() const {
  const Shape sample = opened_.sample_shape();
  return {sample.begin(), sample.end()};
}

RowRule ServedModel::row_rule() const {
  RowRule rule;
  for (const std::int64_t size : input_sizes()) rule.features *= size;
  rule.pixels = opened_.data.kind == DatasetKind::kImages;
  for (const ColumnDescription& column : opened_.data.columns) {
    WordNumbers& words = rule.columns.emplace_back();
    for (const std::string& word : column.words) {
      words.emplace(word, static_cast<float>(words.size()));
    }
  }
  return rule;
}

TextRule ServedModel::text_rule() const {
  WEFT_CHECK(is_text());
  TextRule rule;
  rule.vocabulary = opened_.data.vocabulary;
  rule.context = dynamic_cast<const CausalLanguageModel&>(*opened_.model).context();
  rule.tokenizer = tokenizer();
  return rule;
}

CausalLanguageModel& ServedModel::language_model() {
  WEFT_CHECK(is_text());
  return dynamic_cast<CausalLanguageModel&>(*opened_.model);
}

Result<Array> ServedModel::prepare(const PredictRows& rows) const {
  WEFT_CHECK(!is_text());
  Shape shape = opened_.sample_shape();
  shape.insert(0, rows.rows);
  if (opened_.data.kind == DatasetKind::kRows) {
    return opened_.prepare(Array::from(rows.values, shape));
  }
  std::vector<std::uint8_t> pixels(rows.values.size());
  std::transform(rows.values.begin(), rows.values.end(), pixels.begin(),
                 [](float value) { return static_cast<std::uint8_t>(value); });
  return opened_.prepare(Array::from(pixels, shape));
}

Result<PredictOutputs> ServedModel::predict(const Array& inputs) {
  WEFT_CHECK(!is_text());
  try {
    const Result<Array> outputs = opened_.compute(inputs);
    if (!outputs.ok()) return internal_error("model: " + outputs.status().message());
    return PredictOutputs{outputs->dim(0), outputs->dim(1), outputs->to_vector<float>()};
  } catch (const std::exception& mistake) {
    return internal_error(fmt::format("model: {}", mistake.what()));
  }
}

}  // namespace weft
