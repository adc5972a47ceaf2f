// The names of the transforms, and how their texts are read.
#include "weft/data/transform.h"

#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "weft/data/image/transform_def.h"

namespace weft {
namespace {

constexpr std::int64_t kTransformPixelsMax = 4096;
constexpr std::size_t kStepsMax = 32;

ImageSize same_size(ImageSize input, std::span<const double> /*arguments*/) { return input; }

ImageSize given_size(ImageSize input, std::span<const double> arguments) {
  return {input.channels, static_cast<std::int64_t>(arguments[0]),
          static_cast<std::int64_t>(arguments[1])};
}

ImageSize crop_size(ImageSize input, std::span<const double> arguments) {
  return arguments.size() == 1 ? input : given_size(input, arguments.subspan(1));
}

using Kind = ArgumentKind;

constexpr TransformDef kTransforms[] = {
    {"crop",
     "crop:P or crop:P:HxW",
     {Kind::kPixels, Kind::kSize},
     1,
     2,
     true,
     crop_size,
     random_crop},
    {"flip", "flip", {}, 0, 0, true, same_size, flip},
    {"center-crop", "center-crop:HxW", {Kind::kSize}, 1, 1, false, given_size, center_crop},
    {"resize", "resize:HxW", {Kind::kSize}, 1, 1, false, given_size, resize},
    {"cutout", "cutout:S", {Kind::kPixels}, 1, 1, true, same_size, cutout},
    {"erase", "erase:P", {Kind::kProbability}, 1, 1, true, same_size, random_erase},
    {"jitter",
     "jitter:B[:C[:S]]",
     {Kind::kProbability, Kind::kProbability, Kind::kProbability},
     1,
     3,
     true,
     same_size,
     jitter},
};

std::vector<std::string_view> split_at(std::string_view text, char mark) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = text.find(mark);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::optional<double> whole_number(std::string_view text, std::int64_t least) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (value < least || value > kTransformPixelsMax) return std::nullopt;
  return static_cast<double>(value);
}

std::optional<double> probability(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (!(value >= 0 && value <= 1)) return std::nullopt;
  return value;
}

// Appends what `text` says; false if it is not of this kind.
bool read_argument(ArgumentKind kind, std::string_view text, std::vector<double>& out) {
  if (kind == ArgumentKind::kSize) {
    const auto parts = split_at(text, 'x');
    if (parts.size() != 2) return false;
    for (const std::string_view part : parts) {
      const auto value = whole_number(part, 1);
      if (!value) return false;
      out.push_back(*value);
    }
    return true;
  }
  const auto value = kind == ArgumentKind::kPixels ? whole_number(text, 0) : probability(text);
  if (!value) return false;
  out.push_back(*value);
  return true;
}

const TransformDef* find_transform(std::string_view name) {
  for (const TransformDef& def : kTransforms) {
    if (def.name == name) return &def;
  }
  return nullptr;
}

std::string all_usages() {
  std::string text;
  for (const TransformDef& def : kTransforms) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", def.usage);
  }
  return text;
}

}  // namespace

Result<Transforms> Transforms::parse(std::span<const std::string> texts) {
  if (texts.size() > kStepsMax) {
    return invalid_argument(
        fmt::format("transforms: expected at most {}, got {}", kStepsMax, texts.size()));
  }
  Transforms transforms;
  for (const std::string& text : texts) {
    const auto parts = split_at(text, ':');
    const TransformDef* def = find_transform(parts[0]);
    if (def == nullptr) {
      return invalid_argument(
          fmt::format("transforms: expected one of {}, got \"{}\"", all_usages(), text));
    }
    const std::size_t given = parts.size() - 1;
    Step step{def, {}};
    bool good = given >= def->arguments_min && given <= def->arguments_max;
    for (std::size_t i = 0; good && i < given; ++i) {
      good = read_argument(def->arguments[i], parts[i + 1], step.arguments);
    }
    if (!good) {
      return invalid_argument(
          fmt::format("transforms: expected {} (P, S: whole pixels or a probability; H, W: 1 to "
                      "{}), got \"{}\"",
                      def->usage, kTransformPixelsMax, text));
    }
    transforms.steps_.push_back(std::move(step));
  }
  return transforms;
}

Transforms Transforms::without_random() const {
  Transforms kept;
  for (const Step& step : steps_) {
    if (!step.def->random) kept.steps_.push_back(step);
  }
  return kept;
}

ImageSize Transforms::output_size(ImageSize input) const {
  for (const Step& step : steps_) input = step.def->output_size(input, step.arguments);
  return input;
}

void Transforms::apply(Image& image, Rng& rng) const {
  for (const Step& step : steps_) step.def->apply(image, step.arguments, rng);
}

}  // namespace weft
