#include "weft/nn/units.h"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "weft/nn/layers.h"

namespace weft {
namespace {

template <class... Layers>
bool is_any_of(const Module& part) {
  return (... || (dynamic_cast<const Layers*>(&part) != nullptr));
}

// Parts without parameters that do the same to every unit, and mix none of them.
bool treats_units_alike(const Module& part) {
  return is_any_of<ReLU, LeakyReLU, ELU, SELU, GELU, SiLU, Mish, Softplus, Softsign, LogSigmoid,
                   Hardtanh, ReLU6, Hardsigmoid, Hardswish, Tanh, Sigmoid, Flatten, Identity,
                   Dropout, MaxPool2d, AvgPool2d, AdaptiveAvgPool2d, AdaptiveMaxPool2d,
                   GlobalAvgPool2d, GlobalMaxPool2d>(part);
}

bool is_unit_layer(const Module& part) { return is_any_of<Linear, Conv2d>(part); }

std::size_t size_of(std::int64_t size) { return static_cast<std::size_t>(size); }

// The columns of the weight `entry` that the units of the layer before it go into.
Result<UnitSlice> columns(const LayoutEntry& entry, const UnitLayer& before) {
  const std::size_t outputs = size_of(entry.shape[0]);
  const std::size_t inputs = size_of(entry.shape[1]);
  const bool fits = before.units > 0 && inputs % before.units == 0 &&
                    (entry.shape.size() == 2 || inputs == before.units);
  if (!fits) {
    return invalid_argument(fmt::format(
        "model: expected a layer \"{}\" whose inputs are those of the {} units of \"{}\", got {}",
        entry.name, before.units, before.name, inputs));
  }
  const auto row = size_of(entry.shape.num_elements()) / outputs;
  return UnitSlice{size_of(entry.offset), outputs, row / before.units};
}

}  // namespace

Result<UnitLayers> UnitLayers::of(Module& model) {
  auto* const sequence = dynamic_cast<Sequential*>(&model);
  if (sequence == nullptr) {
    return invalid_argument(
        "model: expected a plain sequence of layers, such as mlp, lenet or cnn, whose units can "
        "change places, got another kind of model");
  }
  UnitLayers found(*sequence);
  std::map<const Module*, std::string> names;
  model.visit_modules([&](const std::string& name, Module& part) { names[&part] = name; });
  const Layout layout = model.layout();
  std::optional<UnitLayer> open;  // whose next layer has not come
  for (std::size_t i = 0; i < sequence->size(); ++i) {
    const Module& part = (*sequence)[i];
    const std::string& name = names[&part];
    if (treats_units_alike(part)) continue;
    const int weight = layout.find(name + ".weight");
    if (!is_unit_layer(part) || weight < 0) {
      return invalid_argument(fmt::format(
          "model: expected linear layers and convolutions alone, whose units can change places, "
          "got a part \"{}\" of another kind",
          name));
    }
    if (open) {
      WEFT_TRY_ASSIGN(const UnitSlice slice, columns(layout[weight], *open));
      open->slices.push_back(slice);
      found.layers_.push_back(std::move(*open));
    }
    const LayoutEntry& own = layout[weight];
    const std::size_t units = size_of(own.shape[0]);
    open = UnitLayer{
        name, units, {{size_of(own.offset), 1, size_of(own.shape.num_elements()) / units}}};
    const int bias = layout.find(name + ".bias");
    if (bias >= 0) open->slices.push_back({size_of(layout[bias].offset), 1, 1});
    const bool has_next = i + 1 < sequence->size() && treats_units_alike((*sequence)[i + 1]) &&
                          dynamic_cast<const Flatten*>(&(*sequence)[i + 1]) == nullptr;
    found.watched_.push_back(has_next ? i + 1 : i);
  }
  if (!found.watched_.empty()) found.watched_.pop_back();  // the outputs
  return found;
}

std::vector<Array> UnitLayers::values(const Tensor& inputs) const {
  const NoGrad no_grad;
  const bool was_training = model_->is_training();
  model_->train(false);
  std::vector<Array> values;
  Tensor x = inputs;
  for (std::size_t i = 0; values.size() < watched_.size(); ++i) {
    x = (*model_)[i].forward(x);
    if (i != watched_[values.size()]) continue;
    const Array& out = x.array();
    const std::int64_t samples = out.dim(0);
    const std::int64_t units = out.dim(1);
    const std::int64_t places = samples == 0 ? 0 : out.size() / (samples * units);
    values.push_back(
        out.contiguous().reshape({samples, units, places}).transpose(1, 2).contiguous());
  }
  model_->train(was_training);
  return values;
}

}  // namespace weft
