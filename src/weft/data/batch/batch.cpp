#include "weft/data/batch.h"

#include <algorithm>

#include <fmt/format.h>

#include "weft/data/image/pixels.h"

namespace weft {
namespace {

// Keeps the transforms apart from other uses of the run's seed.
constexpr std::uint64_t kTransformStream = std::uint64_t{0x5B} << 56U;
constexpr std::uint64_t kEpochMask = 0xFFFFFF;

// One multiplication and one addition a channel.
struct Affine {
  std::vector<float> scale;
  std::vector<float> shift;
};

Result<Affine> affine_of(const Normalization& normalization, std::int64_t channels) {
  const auto count = static_cast<std::size_t>(channels);
  const auto fits = [&](const std::vector<double>& values) {
    return values.size() == 1 || values.size() == count;
  };
  if (!fits(normalization.mean) || !fits(normalization.deviation)) {
    return invalid_argument(
        fmt::format("normalization: expected 1 or {} means and deviations, got {} and {}", count,
                    normalization.mean.size(), normalization.deviation.size()));
  }
  Affine affine;
  for (std::size_t c = 0; c < count; ++c) {
    const double mean = normalization.mean[normalization.mean.size() == 1 ? 0 : c];
    const double deviation = normalization.deviation[normalization.deviation.size() == 1 ? 0 : c];
    if (!(deviation > 0)) {
      return invalid_argument(
          fmt::format("normalization: expected a deviation above 0, got {}", deviation));
    }
    affine.scale.push_back(static_cast<float>(1.0 / (255.0 * deviation)));
    affine.shift.push_back(static_cast<float>(-mean / deviation));
  }
  return affine;
}

// Which samples a batch is made of: a list, or a range.
struct Selection {
  std::span<const std::int64_t> indexes;
  std::int64_t begin = 0;
  std::int64_t count = 0;

  std::int64_t operator[](std::int64_t row) const {
    return indexes.empty() ? begin + row : indexes[static_cast<std::size_t>(row)];
  }
};

Rng transform_rng(const BatchOptions& options, std::int64_t index) {
  const auto epoch = static_cast<std::uint64_t>(options.epoch) & kEpochMask;
  return Rng(options.seed, kTransformStream ^ (epoch << 32U) ^ static_cast<std::uint64_t>(index));
}

void convert_image(ByteSpan pixels, const Affine& affine, std::span<float> out) {
  const std::size_t channels = affine.scale.size();
  const std::size_t plane = pixels.size() / channels;
  for (std::size_t c = 0; c < channels; ++c) {
    convert_pixels(pixels.subspan(c * plane, plane), affine.scale[c], affine.shift[c],
                   out.subspan(c * plane, plane));
  }
}

// Writes one image as floats into `out`; `scratch` is kept between calls.
Status fill_image(const Dataset& dataset, std::int64_t index, const BatchOptions& options,
                  const Affine& affine, Image& scratch, std::span<float> out) {
  const bool transformed = options.transforms != nullptr && !options.transforms->empty();
  if (!transformed && !dataset.read_image) {
    convert_image(dataset.image(index), affine, out);
    return {};
  }
  scratch.size = {dataset.channels, dataset.height, dataset.width};
  if (dataset.read_image) {
    scratch.pixels.resize(static_cast<std::size_t>(dataset.image_bytes()));
    WEFT_TRY(dataset.read_image(index, scratch.pixels));
  } else {
    const ByteSpan image = dataset.image(index);
    scratch.pixels.assign(image.begin(), image.end());
  }
  if (transformed) {
    Rng rng = transform_rng(options, index);
    options.transforms->apply(scratch, rng);
  }
  if (scratch.pixels.size() != out.size()) {
    return invalid_argument(fmt::format("{}: image {}: expected {} values, got {}", dataset.name,
                                        index, out.size(), scratch.pixels.size()));
  }
  convert_image(scratch.pixels, affine, out);
  return {};
}

Result<Batch> image_batch(const Dataset& dataset, const Selection& selection,
                          const BatchOptions& options) {
  WEFT_TRY_ASSIGN(const Affine affine, affine_of(options.normalization, dataset.channels));
  ImageSize size = {dataset.channels, dataset.height, dataset.width};
  if (options.transforms != nullptr) size = options.transforms->output_size(size);
  const auto pixels = static_cast<std::size_t>(size.bytes());
  Batch batch;
  batch.inputs = Array::empty({selection.count, size.channels, size.height, size.width});
  batch.labels = Array::empty({selection.count}, DType::kI64);
  const std::span<float> inputs = batch.inputs.flat<float>();
  const std::span<std::int64_t> labels = batch.labels.flat<std::int64_t>();
  Image scratch;
  for (std::int64_t row = 0; row < selection.count; ++row) {
    const std::int64_t index = selection[row];
    const auto at = static_cast<std::size_t>(row);
    WEFT_TRY(
        fill_image(dataset, index, options, affine, scratch, inputs.subspan(at * pixels, pixels)));
    labels[at] = dataset.label(index);
  }
  return batch;
}

Result<Batch> token_batch(const Dataset& dataset, const Selection& selection,
                          const BatchOptions& options) {
  const std::int64_t context = dataset.context;
  const std::int64_t stride = options.window_stride > 0 ? options.window_stride : context;
  const auto length = static_cast<std::size_t>(context);
  Batch batch;
  batch.inputs = Array::empty({selection.count, context}, DType::kI64);
  batch.labels = Array::empty({selection.count, context}, DType::kI64);
  const std::span<std::int64_t> inputs = batch.inputs.flat<std::int64_t>();
  const std::span<std::int64_t> labels = batch.labels.flat<std::int64_t>();
  std::vector<std::int64_t> window(length + 1);
  for (std::int64_t row = 0; row < selection.count; ++row) {
    const std::int64_t start = selection[row] * stride;
    dataset.tokens.copy(start, window);
    const auto wrong = std::find_if(window.begin(), window.end(), [&](std::int64_t token) {
      return token < 0 || token >= dataset.vocabulary;
    });
    if (wrong != window.end()) {
      return corrupt(fmt::format("{}: token {}: expected a value below {}, got {}", dataset.name,
                                 start + (wrong - window.begin()), dataset.vocabulary, *wrong));
    }
    const auto at = row * context;
    std::copy_n(window.begin(), length, inputs.begin() + at);
    std::copy_n(window.begin() + 1, length, labels.begin() + at);
  }
  return batch;
}

Batch row_batch(const Dataset& dataset, const Selection& selection) {
  const std::int64_t columns = dataset.rows.dim(1);
  const bool regression = dataset.targets.defined();
  const std::int64_t targets = regression ? dataset.targets.dim(1) : 0;
  Batch batch;
  batch.inputs = Array::empty({selection.count, columns});
  batch.labels = regression ? Array::empty({selection.count, targets})
                            : Array::empty({selection.count}, DType::kI64);
  for (std::int64_t row = 0; row < selection.count; ++row) {
    const std::int64_t index = selection[row];
    std::copy_n(dataset.rows.data<float>() + index * columns, columns,
                batch.inputs.data<float>() + row * columns);
    if (regression) {
      std::copy_n(dataset.targets.data<float>() + index * targets, targets,
                  batch.labels.data<float>() + row * targets);
    } else {
      batch.labels.data<std::int64_t>()[row] = dataset.label(index);
    }
  }
  return batch;
}

Status check_selection(const Dataset& dataset, const Selection& selection,
                       const BatchOptions& options) {
  std::int64_t limit = dataset.size;
  if (dataset.kind == DatasetKind::kTokens) {
    const std::int64_t stride = options.window_stride > 0 ? options.window_stride : dataset.context;
    limit = (dataset.window_starts() + stride - 1) / stride;
  }
  for (std::int64_t row = 0; row < selection.count; ++row) {
    if (selection[row] >= 0 && selection[row] < limit) continue;
    return invalid_argument(fmt::format("{}: expected samples from 0 to {}, got {}", dataset.name,
                                        limit - 1, selection[row]));
  }
  return {};
}

Result<Batch> batch_of(const Dataset& dataset, const Selection& selection,
                       const BatchOptions& options) {
  WEFT_TRY(check_dataset(dataset));
  WEFT_TRY(check_selection(dataset, selection, options));
  if (dataset.kind == DatasetKind::kImages) return image_batch(dataset, selection, options);
  if (options.transforms != nullptr && !options.transforms->empty()) {
    return invalid_argument(fmt::format("transforms: expected a dataset of images, got one of {}",
                                        to_string(dataset.kind)));
  }
  if (dataset.kind == DatasetKind::kTokens) return token_batch(dataset, selection, options);
  return row_batch(dataset, selection);
}

}  // namespace

Result<Batch> make_batch(const Dataset& dataset, std::span<const std::int64_t> indexes,
                         const BatchOptions& options) {
  return batch_of(dataset, {indexes, 0, static_cast<std::int64_t>(indexes.size())}, options);
}

Result<Batch> make_batch(const Dataset& dataset, std::int64_t begin, std::int64_t end,
                         const BatchOptions& options) {
  if (begin < 0 || begin > end) {
    return invalid_argument(
        fmt::format("{}: expected a range of samples, got {} to {}", dataset.name, begin, end));
  }
  return batch_of(dataset, {{}, begin, end - begin}, options);
}

Batch pad_sequences(std::span<const std::vector<std::int32_t>> sequences, std::int64_t padding) {
  std::int64_t longest = 0;
  for (const auto& sequence : sequences) {
    longest = std::max(longest, static_cast<std::int64_t>(sequence.size()) - 1);
  }
  const auto count = static_cast<std::int64_t>(sequences.size());
  Batch batch;
  batch.inputs = Array::full({count, longest}, static_cast<double>(padding), DType::kI64);
  batch.labels = Array::full({count, longest}, static_cast<double>(kIgnoredLabel), DType::kI64);
  batch.lengths = Array::zeros({count}, DType::kI64);
  for (std::int64_t row = 0; row < count; ++row) {
    const auto& sequence = sequences[static_cast<std::size_t>(row)];
    if (sequence.size() < 2) continue;
    const auto length = static_cast<std::int64_t>(sequence.size()) - 1;
    std::copy_n(sequence.begin(), length, batch.inputs.data<std::int64_t>() + row * longest);
    std::copy_n(sequence.begin() + 1, length, batch.labels.data<std::int64_t>() + row * longest);
    batch.lengths.data<std::int64_t>()[row] = length;
  }
  return batch;
}

}  // namespace weft
