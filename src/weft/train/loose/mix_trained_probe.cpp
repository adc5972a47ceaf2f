#include "weft/train/loose/mix_trained_probe.h"

#include <algorithm>
#include <cstdint>

namespace weft {
namespace {

constexpr std::int64_t kProbeSamples = 256;

}  // namespace

Result<std::unique_ptr<MixTrainedProbe>> MixTrainedProbe::make(Trainer& trainer) {
  Result<UnitLayers> units = UnitLayers::of(trainer.model());
  if (!units.ok()) return units.status().with_context("mix.combine");
  BatchLoader& loader = trainer.parts().loader;
  if (loader.dataset() == nullptr) return internal_error("mix.combine: no data set is at hand");
  const std::int64_t size = loader.dataset()->size;
  const std::int64_t count = std::min(size, kProbeSamples);
  std::vector<std::int64_t> samples;
  for (std::int64_t i = 0; i < count; ++i) samples.push_back(i * size / count);
  WEFT_TRY_ASSIGN(const Batch batch, loader.samples(samples, 0));
  return std::make_unique<MixTrainedProbe>(trainer, std::move(*units), batch.inputs);
}

MixTrainedProbe::MixTrainedProbe(Trainer& trainer, UnitLayers units, Array inputs)
    : trainer_(trainer), units_(std::move(units)), inputs_(std::move(inputs)) {
  for (const UnitLayer& layer : units_.layers()) {
    MixUnits own{layer.units, {}};
    for (const UnitSlice& slice : layer.slices) {
      own.slices.push_back({slice.begin, slice.outer, slice.inner});
    }
    layers_.push_back(std::move(own));
  }
}

std::vector<std::vector<float>> MixTrainedProbe::values(std::span<const float> model) {
  std::ranges::copy(model, trainer_.arena().parameters().begin());
  std::vector<std::vector<float>> values;
  for (const Array& layer : units_.values(Tensor(inputs_))) {
    values.push_back(layer.to_vector<float>());
  }
  return values;
}

}  // namespace weft
