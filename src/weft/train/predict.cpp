#include "weft/train/predict.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include <fmt/format.h>

#include "weft/base/file.h"
#include "weft/base/rng.h"
#include "weft/data/image_file.h"
#include "weft/data/image_folder.h"
#include "weft/data/npy.h"
#include "weft/data/tokenizer.h"
#include "weft/nn/language_model.h"
#include "weft/op/softmax.h"
#include "weft/train/checkpoint_model.h"

namespace weft {
namespace {

constexpr std::size_t kImageBytesMax = std::size_t{256} << 20U;

bool is_array_file(const std::string& path) {
  return path.ends_with(".npy") || path.ends_with(".npz");
}

// Of an archive the only array, or "x".
Result<Array> read_array(const std::string& path) {
  if (path.ends_with(".npy")) return read_npy(path);
  WEFT_TRY_ASSIGN(const auto arrays, read_npz(path));
  for (const auto& [name, array] : arrays) {
    if (name == "x" || arrays.size() == 1) return array;
  }
  return invalid_argument(
      fmt::format("{}: expected one array, or one called x, got {}", path, arrays.size()));
}

// `array` as rows of `sample`, in front of which there may be any axes or none.
Result<Array> as_rows(const Array& array, const Shape& sample, const std::string& path) {
  const auto ends_in = [&](std::span<const std::int64_t> end) {
    return array.ndim() >= static_cast<int>(end.size()) &&
           std::equal(end.begin(), end.end(),
                      array.shape().end() - static_cast<std::ptrdiff_t>(end.size()));
  };
  const std::span<const std::int64_t> whole(sample.begin(), sample.end());
  const bool fits =
      ends_in(whole) || (sample.size() == 3 && sample[0] == 1 && ends_in(whole.subspan(1)));
  if (!fits) {
    return invalid_argument(fmt::format("{}: expected a shape that ends in {}, got {}", path,
                                        to_string(sample), to_string(array.shape())));
  }
  Shape shape = sample;
  shape.insert(0, array.size() / std::max<std::int64_t>(1, sample.num_elements()));
  return array.reshape(shape);
}

Array normalized(const Array& pixels, const Normalization& how) {
  Array values = pixels.to(DType::kF32);
  const std::int64_t area = values.dim(2) * values.dim(3);
  const std::span<float> all = values.flat<float>();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto channel =
        static_cast<std::size_t>(static_cast<std::int64_t>(i) / area % values.dim(1));
    const double mean = how.mean[how.mean.size() == 1 ? 0 : channel];
    const double deviation = how.deviation[how.deviation.size() == 1 ? 0 : channel];
    all[i] = static_cast<float>((static_cast<double>(all[i]) / 255.0 - mean) / deviation);
  }
  return values;
}

Result<Array> image_of(const CheckpointModel& opened, const std::string& path) {
  WEFT_TRY_ASSIGN(const Bytes bytes, read_file(path, kImageBytesMax));
  Result<Image> image = decode_image(bytes, opened.options.channels);
  if (!image.ok()) return image.status().with_context(path);
  const ImageSize wanted = {opened.options.channels, opened.options.height, opened.options.width};
  // As pictures in folders were for the training.
  if (!(image->size == wanted)) *image = fitted(*image, wanted);
  return Array::from(std::vector<std::uint8_t>(image->pixels.begin(), image->pixels.end()),
                     {1, wanted.channels, wanted.height, wanted.width});
}

Result<Array> input_of(const CheckpointModel& opened, const std::string& path) {
  const Shape sample = opened.sample_shape();
  if (opened.input == ModelInput::kTokens) {
    WEFT_TRY_ASSIGN(const Array tokens, read_array(path));
    if (!is_integer(tokens.dtype()) || tokens.ndim() < 1 || tokens.ndim() > 2) {
      return invalid_argument(fmt::format("{}: expected integers [N, T], got {} {}", path,
                                          to_string(tokens.dtype()), to_string(tokens.shape())));
    }
    const Array rows = tokens.to(DType::kI64);
    return rows.ndim() == 1 ? rows.reshape({1, rows.size()}) : rows;
  }
  if (!is_array_file(path)) {
    if (opened.data.kind == DatasetKind::kRows) {
      return invalid_argument(fmt::format("{}: expected a file .npy or .npz", path));
    }
    WEFT_TRY_ASSIGN(const Array image, image_of(opened, path));
    return normalized(image, opened.normalization());
  }
  WEFT_TRY_ASSIGN(const Array array, read_array(path));
  WEFT_TRY_ASSIGN(const Array rows, as_rows(array, sample, path));
  const bool are_pixels = rows.dtype() == DType::kU8 && sample.size() == 3;
  return are_pixels ? normalized(rows, opened.normalization()) : rows.to(DType::kF32);
}

std::string class_name(const Dataset& data, std::int64_t index) {
  const auto at = static_cast<std::size_t>(index);
  return at < data.class_names.size() ? data.class_names[at] : fmt::format("class {}", index);
}

// A line a row: the likeliest classes and their shares, or the values.
std::string rows_text(const Dataset& data, const Array& outputs, std::int64_t top) {
  const bool has_classes = data.classes > 0 && outputs.dim(1) == data.classes;
  const Array shares = has_classes ? softmax(Tensor(outputs), 1).array().contiguous() : outputs;
  std::string text;
  for (std::int64_t row = 0; row < shares.dim(0); ++row) {
    const std::vector<float> values = shares.select(0, row).to_vector<float>();
    text += fmt::format("{}:", row);
    if (!has_classes) {
      text += fmt::format(" {:.6g}\n", fmt::join(values, " "));
      continue;
    }
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return values[a] > values[b]; });
    order.resize(std::min(order.size(), static_cast<std::size_t>(std::max<std::int64_t>(1, top))));
    for (std::size_t i = 0; i < order.size(); ++i) {
      text += fmt::format("{} {} {:.1f} %", i == 0 ? "" : ",",
                          class_name(data, static_cast<std::int64_t>(order[i])),
                          100.0 * static_cast<double>(values[order[i]]));
    }
    text += "\n";
  }
  return text;
}

// The index of the largest logit or, above temperature 0, one drawn by softmax(logits / T).
std::int64_t choose(std::span<const float> logits, double temperature, Rng& rng) {
  const auto best = std::max_element(logits.begin(), logits.end());
  if (temperature <= 0.0) return best - logits.begin();
  std::vector<double> sums;
  double total = 0.0;
  for (const float logit : logits) {
    total += std::exp((static_cast<double>(logit) - static_cast<double>(*best)) / temperature);
    sums.push_back(total);
  }
  const auto found = std::upper_bound(sums.begin(), sums.end(), rng.uniform() * total);
  return std::min<std::ptrdiff_t>(found - sums.begin(),
                                  static_cast<std::ptrdiff_t>(sums.size()) - 1);
}

// The tokens that follow `text`. When the context is full, its later half begins a new one.
std::vector<std::int32_t> generate(CausalLanguageModel& model, std::vector<std::int32_t> text,
                                   const PredictRequest& request) {
  const std::int64_t context = model.context();
  Rng rng(request.seed);
  TextCache cache;
  std::size_t fed = 0;
  std::vector<std::int32_t> added;
  for (std::int64_t i = 0; i < request.tokens; ++i) {
    auto fresh = static_cast<std::int64_t>(text.size() - fed);
    if (context > 0 && cache.tokens + fresh > context) {
      cache = TextCache();
      fresh = std::min<std::int64_t>(static_cast<std::int64_t>(text.size()),
                                     std::max<std::int64_t>(1, context / 2));
    }
    const std::vector<std::int64_t> next(text.end() - fresh, text.end());
    const Tensor logits = model.forward_cached(Tensor(Array::from(next, {1, fresh})), cache);
    fed = text.size();
    const std::vector<float> last =
        logits.array().select(0, 0).select(0, fresh - 1).to_vector<float>();
    added.push_back(static_cast<std::int32_t>(choose(last, request.temperature, rng)));
    text.push_back(added.back());
  }
  return added;
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
  const std::vector<std::int32_t> added = generate(*model, begin, request);
  WEFT_TRY_ASSIGN(const std::string more, tokenizer->decode(added));
  const std::vector<std::int64_t> wide(added.begin(), added.end());
  return Prediction{request.input + more + "\n",
                    Array::from(wide, {static_cast<std::int64_t>(wide.size())})};
}

Result<Prediction> compute(const CheckpointModel& opened, const PredictRequest& request) {
  const NoGrad no_grad;
  if (opened.input == ModelInput::kTokens && !is_array_file(request.input)) {
    return go_on(opened, request);
  }
  WEFT_TRY_ASSIGN(const Array input, input_of(opened, request.input));
  const Array outputs = opened.model->forward(Tensor(input)).array().strided().contiguous();
  if (opened.input == ModelInput::kTokens) {
    return Prediction{fmt::format("logits {}\n", to_string(outputs.shape())), outputs};
  }
  return Prediction{rows_text(opened.data, outputs, request.top), outputs};
}

}  // namespace

Result<Prediction> predict(const PredictRequest& request, const DataPlaces& places) {
  WEFT_TRY_ASSIGN(const CheckpointModel opened, open_checkpoint_model(request.checkpoint, places));
  try {
    WEFT_TRY_ASSIGN(const Prediction prediction, compute(opened, request));
    if (!request.out.empty()) WEFT_TRY(write_npy(request.out, prediction.outputs));
    return prediction;
  } catch (const std::invalid_argument& error) {
    return invalid_argument(error.what());
  }
}

}  // namespace weft
