#include "weft/attack/data_attack.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace weft {
namespace {

constexpr double kClassesMax = 1e6;

constexpr Option kSwapOptions[] = {
    {.name = "from", .fallback = 1, .max = kClassesMax, .whole = true, .help = "A class, from 0."},
    {.name = "to",
     .fallback = 7,
     .max = kClassesMax,
     .whole = true,
     .help = "The class that it is to be taken for, and the other way round."},
};

constexpr Option kBackdoorOptions[] = {
    {.name = "to",
     .fallback = 7,
     .max = kClassesMax,
     .whole = true,
     .help = "The class that images with the patch are to be taken for."},
    {.name = "size",
     .fallback = 3,
     .min = 1,
     .max = 1024,
     .whole = true,
     .help = "The width and height of the patch, in pixels."},
    {.name = "share", .fallback = 0.5, .max = 1, .help = "The share of its samples that have it."},
};

std::int64_t whole(double option) { return static_cast<std::int64_t>(option); }

constexpr DataAttackDef kBackdoorAttack = {
    .name = "backdoor",
    .summary = "Images with a white patch in a corner have another label (Gu et al. 2017).",
    .options = kBackdoorOptions,
    .sybils = true,
    .classes_least = [](std::span<const double> options) { return whole(options[0]) + 1; },
    .label = [](std::span<const double> options, std::int64_t /*label*/,
                std::int64_t /*classes*/) { return whole(options[0]); },
    .is_target = [](std::span<const double> options,
                    std::int64_t label) { return label != whole(options[0]); },
    .patch = [](std::span<const double> options) { return whole(options[1]); },
    .share = [](std::span<const double> options) { return options[2]; },
};

constexpr DataAttackDef kFlippedLabels = {
    .name = "label_flip",
    .summary = "The last class for the first, and so on (Karimireddy et al. 2021).",
    .classes_least = [](std::span<const double> /*options*/) { return std::int64_t{2}; },
    .label = [](std::span<const double> /*options*/, std::int64_t label,
                std::int64_t classes) { return classes - 1 - label; },
};

constexpr DataAttackDef kSwappedLabels = {
    .name = "label_swap",
    .summary = "Two classes for each other (Fung et al. 2020).",
    .options = kSwapOptions,
    .sybils = true,
    .classes_least =
        [](std::span<const double> options) { return whole(std::max(options[0], options[1])) + 1; },
    .label =
        [](std::span<const double> options, std::int64_t label, std::int64_t /*classes*/) {
          if (label == whole(options[0])) return whole(options[1]);
          return label == whole(options[1]) ? whole(options[0]) : label;
        },
    .is_target = [](std::span<const double> options,
                    std::int64_t label) { return label == whole(options[0]); },
    .collects =
        [](std::span<const double> options, std::int64_t label) {
          return label == whole(options[0]) || label == whole(options[1]);
        },
};

constexpr const DataAttackDef* kDataAttacks[] = {&kBackdoorAttack, &kFlippedLabels,
                                                 &kSwappedLabels};

// Sets the upper left corner of image `row` to the brightest value of the batch.
void add_patch(Array& images, std::int64_t row, std::int64_t size, float white) {
  const std::int64_t channels = images.dim(1);
  const std::int64_t height = images.dim(2);
  const std::int64_t width = images.dim(3);
  for (std::int64_t channel = 0; channel < channels; ++channel) {
    float* const plane = images.data<float>() + (row * channels + channel) * height * width;
    for (std::int64_t y = 0; y < size; ++y) std::fill_n(plane + y * width, size, white);
  }
}

}  // namespace

std::span<const DataAttackDef* const> data_attacks() { return kDataAttacks; }

bool DataAttack::knows(std::string_view text) {
  return find_plugin<DataAttackDef>(text, kDataAttacks) != nullptr;
}

Result<DataAttack> DataAttack::parse(std::string_view text) {
  DataAttack attack;
  WEFT_TRY_ASSIGN(attack.plugin_, parse_plugin<DataAttackDef>(text, kDataAttacks));
  return attack;
}

bool DataAttack::collects(std::int64_t label) const {
  return plugin_.def->collects != nullptr && plugin_.def->collects(plugin_.options, label);
}

Status DataAttack::check(const Batch& batch, std::int64_t classes) const {
  const auto refuse = [this](std::string_view expected) {
    return invalid_argument(fmt::format("attack {}: expected {}", text(), expected));
  };
  if (batch.labels.dtype() != DType::kI64 || batch.labels.shape().size() != 1) {
    return refuse("data whose samples have a class each");
  }
  const std::int64_t least = plugin_.def->classes_least(plugin_.options);
  if (classes < least) {
    return refuse(fmt::format("data of at least {} classes, got {}", least, classes));
  }
  if (plugin_.def->patch == nullptr) return {};
  const std::int64_t size = plugin_.def->patch(plugin_.options);
  if (batch.inputs.shape().size() != 4 || batch.inputs.dim(2) < size ||
      batch.inputs.dim(3) < size) {
    return refuse(fmt::format("images of at least {0} x {0} pixels", size));
  }
  return {};
}

// A batch may share its memory with the loader's next one.
void DataAttack::mark(Batch& batch, const std::vector<bool>& rows) const {
  if (plugin_.def->patch == nullptr) return;
  batch.inputs = batch.inputs.clone();
  const std::span<const float> values = std::as_const(batch.inputs).flat<float>();
  const float white = values.empty() ? 0.0F : std::ranges::max(values);
  const std::int64_t size = plugin_.def->patch(plugin_.options);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (rows[row]) add_patch(batch.inputs, static_cast<std::int64_t>(row), size, white);
  }
}

Status DataAttack::poison(Batch& batch, std::int64_t classes) const {
  WEFT_TRY(check(batch, classes));
  const double share = plugin_.def->share != nullptr ? plugin_.def->share(plugin_.options) : 1;
  batch.labels = batch.labels.clone();
  std::vector<bool> rows(static_cast<std::size_t>(batch.labels.dim(0)));
  auto* const labels = batch.labels.data<std::int64_t>();
  for (std::size_t row = 0; row < rows.size(); ++row) {
    // Evenly among the rows.
    const double before = share * static_cast<double>(row);
    rows[row] = whole(before + share) > whole(before);
    if (rows[row]) labels[row] = plugin_.def->label(plugin_.options, labels[row], classes);
  }
  mark(batch, rows);
  return {};
}

Result<std::int64_t> DataAttack::aim(Batch& batch, std::int64_t classes) const {
  WEFT_TRY(check(batch, classes));
  batch.labels = batch.labels.clone();
  std::vector<bool> rows(static_cast<std::size_t>(batch.labels.dim(0)));
  auto* const labels = batch.labels.data<std::int64_t>();
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::int64_t wanted = plugin_.def->label(plugin_.options, labels[row], classes);
    const auto is_target = plugin_.def->is_target;
    rows[row] =
        is_target != nullptr ? is_target(plugin_.options, labels[row]) : wanted != labels[row];
    labels[row] = rows[row] ? wanted : kIgnoredLabel;
  }
  mark(batch, rows);
  return std::ranges::count(rows, true);
}

}  // namespace weft
