#include "weft/train/model/predict.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <stdexcept>

#include <fmt/format.h>

#include "weft/base/file.h"
#include "weft/data/file_ending.h"
#include "weft/data/image_file.h"
#include "weft/data/npy.h"
#include "weft/data/rows_csv.h"
#include "weft/data/tokenizer.h"
#include "weft/io/continue_text.h"
#include "weft/op/softmax.h"
#include "weft/train/model/checkpoint_model.h"
#include "weft/train/recipe/recipe_data.h"

namespace weft {
namespace {

constexpr std::size_t kImageBytesMax = std::size_t{256} << 20U;

bool is_array_file(const std::string& path) { return has_ending(path, {".npy", ".npz"}); }

// The only array of an archive, or "x".
Result<Array> read_array(const std::string& path) {
  if (has_ending(path, ".npy")) return read_npy(path);
  WEFT_TRY_ASSIGN(const auto arrays, read_npz(path));
  for (const auto& [name, array] : arrays) {
    if (name == "x" || arrays.size() == 1) return array;
  }
  return invalid_argument(
      fmt::format("{}: expected one array, or one called x, got {}", path, arrays.size()));
}

// `array` [N, ...] or one sample alone, of any axes before the sample's, as rows of samples.
Result<Array> as_rows(const CheckpointModel& opened, const Array& array, const std::string& path) {
  const ModelOptions& options = opened.options;
  std::vector<Shape> samples = {opened.sample_shape()};
  if (opened.data.kind == DatasetKind::kImages) {
    samples.push_back({options.channels, options.height, options.width});
    if (opened.data.channels == 1) {
      samples.push_back({opened.data.height, opened.data.width});
      samples.push_back({options.height, options.width});
    }
  }
  for (const Shape& sample : samples) {
    const auto axes = static_cast<std::ptrdiff_t>(sample.size());
    if (array.ndim() < axes ||
        !std::equal(sample.begin(), sample.end(), array.shape().end() - axes)) {
      continue;
    }
    Shape shape = sample;
    if (axes == 2) shape.insert(0, 1);
    shape.insert(0, array.size() / std::max<std::int64_t>(1, sample.num_elements()));
    return array.reshape(shape);
  }
  // Rows of several axes, as in the x.npy that was trained on.
  const std::int64_t rows = array.ndim() > 1 ? array.dim(0) : 0;
  const std::int64_t numbers = samples.front().num_elements();
  if (opened.data.kind == DatasetKind::kRows && rows > 0 && array.size() == rows * numbers) {
    return array.contiguous().reshape({rows, numbers});
  }
  return invalid_argument(fmt::format("{}: expected a shape that ends in {}, got {}", path,
                                      to_string(samples.front()), to_string(array.shape())));
}

Result<Array> tokens_of(const std::string& path) {
  WEFT_TRY_ASSIGN(const Array tokens, read_array(path));
  if (!is_integer(tokens.dtype()) || tokens.ndim() < 1 || tokens.ndim() > 2) {
    return invalid_argument(fmt::format("{}: expected integers [N, T], got {} {}", path,
                                        to_string(tokens.dtype()), to_string(tokens.shape())));
  }
  const Array rows = tokens.to(DType::kI64);
  return rows.ndim() == 1 ? rows.reshape({1, rows.size()}) : rows;
}

struct Input {
  Array prepared;
  std::string note = {};  // for people, ending in a line's end
};

Result<Input> table_of(const CheckpointModel& opened, const std::string& path) {
  if (!is_table_name(path)) {
    return invalid_argument(
        fmt::format("{}: expected a file .csv, .tsv, .npy or .npz with rows", path));
  }
  WEFT_TRY_ASSIGN(CsvOptions options, table_options(opened.recipe, path));
  options.mixed = false;
  WEFT_TRY_ASSIGN(const DescribedRows read,
                  read_described_csv(path, options, opened.data, RowTargets::kIgnored));
  WEFT_TRY_ASSIGN(const Array prepared, opened.prepare(read.dataset.rows));
  if (read.unknown_words == 0) return Input{prepared};
  return Input{prepared,
               fmt::format("{}: {} fields hold a word that training did not have; they count as "
                           "missing\n",
                           path, read.unknown_words)};
}

Result<Input> input_of(const CheckpointModel& opened, const std::string& path) {
  if (opened.is_text()) {
    WEFT_TRY_ASSIGN(const Array tokens, tokens_of(path));
    return Input{tokens};
  }
  if (is_array_file(path)) {
    WEFT_TRY_ASSIGN(const Array array, read_array(path));
    WEFT_TRY_ASSIGN(const Array rows, as_rows(opened, array, path));
    WEFT_TRY_ASSIGN(const Array prepared, opened.prepare(rows));
    return Input{prepared};
  }
  if (opened.data.kind == DatasetKind::kRows) return table_of(opened, path);
  WEFT_TRY_ASSIGN(const Bytes bytes, read_file(path, kImageBytesMax));
  const Result<Image> image = decode_image(bytes, opened.data.channels);
  if (!image.ok()) return image.status().with_context(path);
  WEFT_TRY_ASSIGN(const Array prepared, opened.prepare(*image));
  return Input{prepared};
}

std::string class_name(const DataDescription& data, std::int64_t index) {
  const auto at = static_cast<std::size_t>(index);
  if (at < data.class_names.size()) return data.class_names[at];
  return fmt::format("{} {}", data.kind == DatasetKind::kTokens ? "token" : "class", index);
}

std::vector<ClassShare> likeliest_of(const DataDescription& data, std::span<const float> shares,
                                     std::int64_t top) {
  std::vector<std::size_t> order(shares.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return shares[a] > shares[b]; });
  order.resize(std::min(order.size(), static_cast<std::size_t>(std::max<std::int64_t>(1, top))));
  std::vector<ClassShare> likeliest;
  likeliest.reserve(order.size());
  for (const std::size_t index : order) {
    likeliest.push_back({class_name(data, static_cast<std::int64_t>(index)), shares[index]});
  }
  return likeliest;
}

// A line a row: the likeliest classes and their shares, or the values.
void describe_rows(const DataDescription& data, std::int64_t top, Prediction& prediction) {
  const Array& outputs = prediction.outputs;
  const bool has_classes = data.classes > 0 && outputs.dim(1) == data.classes;
  const Array shares = has_classes ? softmax(Tensor(outputs), 1).array().contiguous() : outputs;
  for (const TargetDescription& target : data.target_columns) {
    prediction.targets.push_back(target.name);
  }
  for (std::int64_t row = 0; row < shares.dim(0); ++row) {
    const std::vector<float> values = shares.select(0, row).to_vector<float>();
    if (!has_classes) {
      prediction.text += fmt::format("{}: {:.6g}\n", row, fmt::join(values, " "));
      continue;
    }
    prediction.likeliest.push_back(likeliest_of(data, values, top));
    std::string line;
    for (const ClassShare& one : prediction.likeliest.back()) {
      line += fmt::format("{} {} {:.1f} %", line.empty() ? "" : ",", one.name, 100.0 * one.share);
    }
    prediction.text += fmt::format("{}:{}\n", row, line);
  }
}

// The likeliest tokens behind each row, of logits [N, T, vocabulary].
Prediction next_tokens(const DataDescription& data, const Array& logits, std::int64_t top) {
  DataDescription next;
  next.kind = data.kind;
  next.classes = logits.dim(2);
  Prediction prediction;
  prediction.outputs = logits.select(1, logits.dim(1) - 1).contiguous();
  describe_rows(next, top, prediction);
  prediction.text = fmt::format("logits {}; next:\n{}", to_string(logits.shape()), prediction.text);
  prediction.outputs = logits;
  return prediction;
}

Result<Prediction> go_on(const CheckpointModel& opened, const PredictRequest& request) {
  const Tokenizer* const tokenizer = opened.data.tokenizer.get();
  auto* const model = dynamic_cast<CausalLanguageModel*>(opened.model.get());
  if (tokenizer == nullptr || model == nullptr) {
    return invalid_argument(fmt::format(
        "{}: expected a file .npy or .npz of tokens: the data of this model have no tokenizer",
        request.input));
  }
  WEFT_TRY_ASSIGN(const std::vector<std::int32_t> begin, tokenizer->encode(request.input));
  if (begin.empty()) return invalid_argument("predict: expected the beginning of a text, got none");
  const PreparedWeights::Use use(opened.prepared_weights.get());
  const ContinueOptions options = {request.tokens, request.temperature, request.seed};
  const std::vector<std::int32_t> added = continue_tokens(*model, begin, options);
  WEFT_TRY_ASSIGN(const std::string more, tokenizer->decode(added));
  const std::vector<std::int64_t> wide(added.begin(), added.end());
  return Prediction{request.input + more + "\n",
                    Array::from(wide, {static_cast<std::int64_t>(wide.size())})};
}

Result<Prediction> compute(const CheckpointModel& opened, const PredictRequest& request) {
  const NoGrad no_grad;
  if (opened.is_text() && !is_array_file(request.input)) return go_on(opened, request);
  WEFT_TRY_ASSIGN(const Input input, input_of(opened, request.input));
  WEFT_TRY_ASSIGN(const Array outputs, opened.compute(input.prepared));
  if (opened.is_text()) {
    return next_tokens(opened.data, outputs, request.top);
  }
  Prediction prediction{"", outputs, input.note};
  describe_rows(opened.data, request.top, prediction);
  return prediction;
}

}  // namespace

Result<Prediction> predict(const PredictRequest& request, const DataPlaces& places) {
  WEFT_TRY_ASSIGN(const WeightPrecision weights, parse_weight_precision(request.weights));
  WEFT_TRY_ASSIGN(CheckpointModel opened, open_checkpoint_model(request.checkpoint, places));
  opened.keep_prepared_weights(weights);
  try {
    WEFT_TRY_ASSIGN(const Prediction prediction, compute(opened, request));
    if (!request.out.empty()) WEFT_TRY(write_npy(request.out, prediction.outputs));
    return prediction;
  } catch (const std::invalid_argument& error) {
    return invalid_argument(error.what());
  }
}

}  // namespace weft
