#include "weft/nn/module.h"

#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "weft/op/activation.h"

namespace weft {

Tensor Module::forward_relu(const Tensor& x) { return relu(forward(x)); }

void Module::train(bool on) {
  training_ = on;
  for (const Part& part : parts_) part.module->train(on);
}

void Module::set_step_context(const StepContext& context) { set_context(context, 0); }

std::uint32_t Module::set_context(const StepContext& context, std::uint32_t place) {
  context_ = context;
  place_ = place++;
  for (const Part& part : parts_) place = part.module->set_context(context, place);
  return place;
}

template <class Visit>
void Module::visit_entries(const std::string& prefix, const Visit& visit) const {
  for (const Entry& entry : entries_) visit(prefix + entry.name, entry);
  for (const Part& part : parts_) part.module->visit_entries(prefix + part.name + ".", visit);
}

std::vector<NamedValue> Module::values() const {
  std::vector<NamedValue> values;
  visit_entries("", [&](std::string name, const Entry& entry) {
    values.push_back({std::move(name), entry.kind, entry.value()});
  });
  return values;
}

std::vector<Tensor> Module::parameters() const {
  std::vector<Tensor> parameters;
  visit_entries("", [&](const std::string& /*name*/, const Entry& entry) {
    if (entry.parameter != nullptr) parameters.push_back(*entry.parameter);
  });
  return parameters;
}

Layout Module::layout() const {
  Layout layout;
  visit_entries("", [&](std::string name, const Entry& entry) {
    layout.add(std::move(name), entry.value().shape(), entry.kind);
  });
  return layout;
}

void Module::initialize(std::uint64_t seed) {
  std::uint64_t index = 0;
  visit_entries("", [&](const std::string& /*name*/, const Entry& entry) {
    Rng rng(seed, index++);
    Array value = entry.value();
    entry.initializer(value, rng);
  });
}

void Module::bind(ParameterArena& arena) {
  if (!(arena.layout() == layout())) {
    throw std::invalid_argument(
        fmt::format("[bind] expected an arena with the layout of this model ({} values), got one "
                    "with {} values or other names and shapes",
                    layout().size(), arena.layout().size()));
  }
  int index = 0;
  visit_entries("", [&](const std::string& /*name*/, const Entry& entry) {
    Array place = arena.parameter(index);
    place.copy_from(entry.value());
    if (entry.parameter != nullptr) {
      *entry.parameter = Tensor(place, true);
      entry.parameter->set_grad_storage(arena.gradient(index));
      entry.parameter->set_parameter_id(ParameterId(index));
    } else {
      *entry.buffer = place;
    }
    ++index;
  });
}

void Module::register_parameter(std::string name, Tensor& parameter, const Shape& shape,
                                ParameterKind kind, Initializer initializer) {
  parameter = Tensor(Array::full(shape, kind == ParameterKind::kNorm ? 1.0 : 0.0), true);
  entries_.push_back({std::move(name), kind, &parameter, nullptr, std::move(initializer)});
}

void Module::register_buffer(std::string name, Array& buffer, const Shape& shape, double value) {
  buffer = Array::full(shape, value);
  entries_.push_back(
      {std::move(name), ParameterKind::kBuffer, nullptr, &buffer, constant_initializer(value)});
}

Module& Module::register_part(std::string name, std::unique_ptr<Module> part) {
  WEFT_CHECK(part != nullptr);
  parts_.push_back({std::move(name), std::move(part)});
  return *parts_.back().module;
}

}  // namespace weft
