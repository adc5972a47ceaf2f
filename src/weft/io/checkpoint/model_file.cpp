#include "weft/io/model_file.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/array/storage/storage_budget.h"
#include "weft/data/batch.h"
#include "weft/data/image_folder.h"
#include "weft/data/rows.h"
#include "weft/data/tokenizer.h"
#include "weft/io/weights_file.h"

namespace weft {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kModelTextBytesMax = 4096;
// Beside the values of a file, which bound those of the model.
constexpr std::size_t kSpareBytes = std::size_t{64} << 20U;

struct SizeField {
  const char* key;
  std::int64_t ModelOptions::*value;
  std::int64_t least;
  std::int64_t most;
};
constexpr SizeField kSizes[] = {
    {"hidden_units", &ModelOptions::hidden_units, 1, 65536},
    {"channels", &ModelOptions::channels, 1, kRowFeaturesMax},
    {"height", &ModelOptions::height, 1, 65536},
    {"width", &ModelOptions::width, 1, 65536},
    {"classes", &ModelOptions::classes, 1, 65536},
    {"vocabulary", &ModelOptions::vocabulary, 1, std::int64_t{1} << 31U},
    {"context", &ModelOptions::context, 1, std::int64_t{1} << 24U},
    {"layers", &ModelOptions::layers, 0, 1024},
    {"embedding_width", &ModelOptions::embedding_width, 0, 65536},
    {"heads", &ModelOptions::heads, 0, 1024},
    {"kv_heads", &ModelOptions::kv_heads, 0, 1024}};

struct FlagField {
  const char* key;
  bool ModelOptions::*value;
};
constexpr FlagField kFlags[] = {{"dropout", &ModelOptions::dropout},
                                {"checkpoint_blocks", &ModelOptions::checkpoint_blocks}};

std::string model_text(const ModelCard& card) {
  Json json = {{"name", card.architecture}};
  for (const SizeField& field : kSizes) json[field.key] = card.options.*field.value;
  for (const FlagField& field : kFlags) json[field.key] = card.options.*field.value;
  return json.dump();
}

Status card_fault(const char* key, const std::string& expected) {
  return corrupt(fmt::format("model: {}: expected {}, got something else", key, expected));
}

Status parse_model_text(const std::string& text, ModelCard& card) {
  if (text.size() > kModelTextBytesMax) {
    return corrupt(
        fmt::format("model: expected at most {} bytes, got {}", kModelTextBytesMax, text.size()));
  }
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return corrupt("model: expected an object of JSON, got something else");
  const auto name = json.find("name");
  if (name == json.end() || !name->is_string()) return card_fault("name", "text");
  card.architecture = name->get<std::string>();
  for (const SizeField& field : kSizes) {
    const auto found = json.find(field.key);
    if (found == json.end()) continue;
    if (!found->is_number_integer() ||
        !(found->get<double>() >= static_cast<double>(field.least)) ||
        !(found->get<double>() <= static_cast<double>(field.most))) {
      return card_fault(field.key,
                        fmt::format("a whole number from {} to {}", field.least, field.most));
    }
    card.options.*field.value = found->get<std::int64_t>();
  }
  for (const FlagField& field : kFlags) {
    const auto found = json.find(field.key);
    if (found == json.end()) continue;
    if (!found->is_boolean()) return card_fault(field.key, "true or false");
    card.options.*field.value = found->get<bool>();
  }
  return {};
}

Result<Transforms> parse_transforms(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return Transforms::parse(words);
}

// That the model takes what the data are.
Status check_fit(const ModelCard& card, const Transforms& transforms) {
  const ModelDef* const def = find_model(card.architecture);
  if (def == nullptr) return {};  // make_model() says so
  const DataDescription& data = card.data;
  const ModelOptions& options = card.options;
  bool fits = (def->input == ModelInput::kTokens) == (data.kind == DatasetKind::kTokens);
  if (data.kind == DatasetKind::kTokens) {
    fits = fits && options.vocabulary == data.vocabulary &&
           (data.tokenizer == nullptr || data.tokenizer->vocabulary() <= options.vocabulary);
  } else if (data.kind == DatasetKind::kRows) {
    fits = fits && options.channels == data.features() && options.height == 1 &&
           options.width == 1 &&
           options.classes == (data.has_values()
                                   ? static_cast<std::int64_t>(data.target_columns.size())
                                   : data.classes);
  } else {
    const ImageSize size = transforms.output_size({data.channels, data.height, data.width});
    fits = fits && size == ImageSize{options.channels, options.height, options.width} &&
           options.classes == data.classes;
  }
  if (fits) return {};
  return corrupt(fmt::format("model: expected {} with the sizes of its data, {}, got other ones",
                             card.architecture, to_string(data.kind)));
}

// Pixels u8 [n, C, H, W] as the batches of training had them.
Result<Array> normalized(const DataDescription& data, const Array& pixels,
                         const BatchOptions& options) {
  const Array dense = pixels.contiguous();
  Dataset images;
  static_cast<DataDescription&>(images) = data;
  images.height = dense.dim(2);
  images.width = dense.dim(3);
  images.size = dense.dim(0);
  const auto bytes = std::span<const std::uint8_t>(dense.flat<std::uint8_t>());
  images.images = SharedBytes(Bytes(bytes.begin(), bytes.end()));
  images.labels = SharedBytes(Bytes(static_cast<std::size_t>(images.size) * 2));
  WEFT_TRY_ASSIGN(Batch batch, make_batch(images, 0, images.size, options));
  return std::move(batch.inputs);
}

Status misfit(const LoadedModel& loaded, const std::string& expected, const Array& got) {
  return invalid_argument(fmt::format("{}: expected {}, got {} {}", loaded.architecture, expected,
                                      to_string(got.dtype()), to_string(got.shape())));
}

bool has_sample(const Array& array, const Shape& sample) {
  return array.ndim() == static_cast<int>(sample.size()) + 1 &&
         std::equal(sample.begin(), sample.end(), array.shape().begin() + 1);
}

}  // namespace

CardTexts card_texts(const ModelCard& card) {
  CardTexts texts = {model_text(card), description_text(card.data), {}};
  if (card.data.tokenizer != nullptr) texts.tokenizer = card.data.tokenizer->file_text();
  if (texts.tokenizer.size() > kTokenizerTextBytesMax || texts.data.size() > kDescriptionBytesMax) {
    return {};
  }
  return texts;
}

Result<ModelCard> parse_card(const CardTexts& texts) {
  if (texts.model.empty() || texts.data.empty()) {
    return invalid_argument(
        "expected a model that describes itself, got one of an older release, which needs its "
        "data: use the program weft, with --data");
  }
  ModelCard card;
  WEFT_TRY(parse_model_text(texts.model, card));
  WEFT_TRY_ASSIGN(card.data, parse_description(texts.data));
  if (!texts.tokenizer.empty()) {
    if (texts.tokenizer.size() > kTokenizerTextBytesMax) return corrupt("tokenizer: too long");
    WEFT_TRY_ASSIGN(card.data.tokenizer, parse_tokenizer(texts.tokenizer));
  }
  return card;
}

PreparedWeights prepared_weights_of(const Module& model, WeightPrecision precision) {
  std::vector<Array> weights;
  for (const Tensor& parameter : model.parameters()) weights.push_back(parameter.array());
  return PreparedWeights(weights, precision);
}

Result<WeightPrecision> parse_weight_precision(std::string_view name) {
  if (name == "f32") return WeightPrecision::kF32;
  if (name == "int8") return WeightPrecision::kInt8;
  return invalid_argument(fmt::format("weights: expected f32 or int8, got {}", name));
}

std::int64_t LoadedModel::parameters() const {
  std::int64_t count = 0;
  for (const NamedParameter& parameter : model->named_parameters()) count += parameter.value.size();
  return count;
}

Shape LoadedModel::sample_shape() const {
  switch (data.kind) {
    case DatasetKind::kTokens:
      return {options.context};
    case DatasetKind::kRows:
      return {static_cast<std::int64_t>(data.columns.size())};
    case DatasetKind::kImages:
      break;
  }
  return {data.channels, data.height, data.width};
}

Result<Array> LoadedModel::prepare(const Array& inputs) const {
  if (data.kind == DatasetKind::kTokens) {
    if (!is_integer(inputs.dtype()) || inputs.ndim() != 2) {
      return misfit(*this, "tokens [N, T]", inputs);
    }
    return inputs.to(DType::kI64);
  }
  if (data.kind == DatasetKind::kRows) return encode_rows(data, inputs);
  const Shape behind = {options.channels, options.height, options.width};
  const bool as_stored = has_sample(inputs, sample_shape());
  if (inputs.dtype() != DType::kU8) {
    if (has_sample(inputs, behind) && is_floating(inputs.dtype())) return inputs.to(DType::kF32);
    return misfit(*this, fmt::format("normalised f32 [N] + {}", to_string(behind)), inputs);
  }
  if (!as_stored && !has_sample(inputs, behind)) {
    return misfit(*this, fmt::format("pixels u8 [N] + {}", to_string(sample_shape())), inputs);
  }
  BatchOptions how;
  how.normalization = {data.mean, data.deviation};
  if (as_stored && !transforms.empty()) how.transforms = std::make_shared<Transforms>(transforms);
  return normalized(data, inputs, how);
}

Result<Array> LoadedModel::prepare(const Image& image) const {
  if (data.kind != DatasetKind::kImages || image.size.channels != data.channels) {
    return invalid_argument(fmt::format("{}: expected {}, got an image of {} channels",
                                        architecture, to_string(data.kind), image.size.channels));
  }
  const ImageSize size = {data.channels, data.height, data.width};
  const Image fitting = image.size == size ? image : fitted(image, size);
  return prepare(
      Array::from(std::vector<std::uint8_t>(fitting.pixels.begin(), fitting.pixels.end()),
                  {1, data.channels, data.height, data.width}));
}

Result<Array> LoadedModel::compute(const Array& prepared) const {
  const NoGrad no_grad;
  const PreparedWeights::Use use(prepared_weights.get());
  try {
    Array outputs = model->forward(Tensor(prepared)).array().strided().contiguous();
    if (data.has_values()) {
      outputs = outputs.clone();
      scale_back(data, outputs.flat<float>());
    }
    return outputs;
  } catch (const std::invalid_argument& mistake) {
    return invalid_argument(mistake.what());
  }
}

Result<Array> LoadedModel::predict(const Array& inputs) const {
  WEFT_TRY_ASSIGN(const Array prepared, prepare(inputs));
  return compute(prepared);
}

void LoadedModel::keep_prepared_weights(WeightPrecision precision) {
  prepared_weights = std::make_unique<PreparedWeights>(prepared_weights_of(*model, precision));
}

Status check_parameters(const Module& model) {
  for (const NamedValue& value : model.values()) {
    const auto all = std::span<const float>(value.value.flat<float>());
    const auto bad =
        std::find_if(all.begin(), all.end(), [](float each) { return !std::isfinite(each); });
    if (bad == all.end()) continue;
    return corrupt(fmt::format("{}: expected finite numbers, got {}", value.name,
                               std::isnan(*bad) ? "not a number" : "infinity"));
  }
  return {};
}

Result<LoadedModel> build_model(const ModelCard& card, const CheckpointFile& file,
                                const std::string& path) {
  LoadedModel loaded;
  loaded.architecture = card.architecture;
  loaded.options = card.options;
  loaded.data = card.data;
  loaded.step = file.info.step;
  Result<Transforms> transforms = parse_transforms(card.data.transforms);
  if (!transforms.ok()) return damaged_checkpoint(path, corrupt(transforms.status().message()));
  loaded.transforms = transforms->without_random();
  WEFT_TRY(damaged_checkpoint(path, check_fit(card, *transforms)));
  {
    const StorageBudget budget(file.bytes.size() * 2 + kSpareBytes);
    Result<std::unique_ptr<Module>> made = make_model(card.architecture, card.options);
    if (!made.ok()) return made.status().with_context(path);
    loaded.model = std::move(*made);
  }
  WEFT_TRY(damaged_checkpoint(path, load_weights(file.bytes, *loaded.model)));
  WEFT_TRY(damaged_checkpoint(path, check_parameters(*loaded.model)));
  loaded.model->train(false);
  loaded.keep_prepared_weights();
  return loaded;
}

Result<LoadedModel> load_model(const std::string& path) {
  WEFT_TRY_ASSIGN(const std::string found, find_checkpoint(path));
  WEFT_TRY_ASSIGN(const CheckpointFile file, open_checkpoint(found));
  Result<ModelCard> card = parse_card(file.info.card);
  if (!card.ok()) return damaged_checkpoint(found, card.status());
  return build_model(*card, file, found);
}

}  // namespace weft
