#include "weft/nn/module.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "weft/autograd/leaf_watch.h"
#include "weft/op/activation.h"

namespace weft {
namespace {

std::string no_value_named(const char* where, std::string_view name, const Module& module) {
  const std::vector<NamedValue> values = module.values();
  return fmt::format("[{}] expected the name of a value, got \"{}\"; {}", where, name,
                     values.empty() ? std::string("there are none")
                                    : fmt::format("\"{}\" is one", values.front().name));
}

std::string described(const LayoutEntry& entry) {
  return fmt::format("\"{}\" {}", entry.name, to_string(entry.shape));
}

// Names the first value that differs.
void check_arena(const Layout& model, const Layout& arena) {
  if (arena == model) return;
  for (int i = 0; i < std::max(model.size(), arena.size()); ++i) {
    const std::string wanted = i < model.size() ? described(model[i]) : "no further one";
    const std::string found = i < arena.size() ? described(arena[i]) : "none";
    if (wanted == found && model[i].kind == arena[i].kind) continue;
    throw std::invalid_argument(fmt::format(
        "[bind] expected an arena with the layout of this model ({} values), got one with {} "
        "values, where value {} should be {} and is {}; make it by ParameterArena(model.layout())",
        model.size(), arena.size(), i, wanted, wanted == found ? "of another kind" : found));
  }
}

}  // namespace

Tensor Module::forward_relu(const Tensor& x) { return relu(forward(x)); }

Tensor Module::forward_normalized(const Tensor& x, Module& norm, bool relu) {
  const Tensor y = forward(x);
  return relu ? norm.forward_relu(y) : norm.forward(y);
}

void Module::train(bool on) {
  training_ = on;
  for (const Part& part : parts_) part.module->train(on);
}

void Module::set_step_context(const StepContext& context) { set_context(context, 0); }

std::uint32_t Module::set_context(const StepContext& context, std::uint32_t place) {
  context_ = context;
  auto* const words = step_words_.data<std::int64_t>();
  words[0] = static_cast<std::int64_t>(context.seed);
  words[1] = static_cast<std::int64_t>(context.step);
  words[2] = static_cast<std::int64_t>(context.first_row);
  place_ = place++;
  for (const Part& part : parts_) place = part.module->set_context(context, place);
  return place;
}

template <class Visit>
void Module::visit_entries(const std::string& prefix, const Visit& visit) const {
  for (const Entry& entry : entries_) visit(prefix + entry.name, entry);
  for (const Part& part : parts_) part.module->visit_entries(prefix + part.name + ".", visit);
}

template <class Visit>
void Module::change_entries(const std::string& prefix, const Visit& visit) {
  for (Entry& entry : entries_) visit(prefix + entry.name, entry);
  for (const Part& part : parts_) part.module->change_entries(prefix + part.name + ".", visit);
}

void Module::visit_modules(const std::string& name,
                           const std::function<void(const std::string&, Module&)>& visit) {
  visit(name, *this);
  for (const Part& part : parts_) {
    part.module->visit_modules(name.empty() ? part.name : name + "." + part.name, visit);
  }
}

void Module::visit_modules(const std::function<void(const std::string& name, Module&)>& visit) {
  visit_modules("", visit);
}

void Module::apply(const std::function<void(Module&)>& change) {
  for (const Part& part : parts_) part.module->apply(change);
  change(*this);
}

void Module::set_requires_grad(bool on, std::string_view prefix) {
  bool fits = prefix.empty();
  change_entries("", [&](const std::string& name, Entry& entry) {
    if (!name.starts_with(prefix)) return;
    fits = true;
    if (entry.parameter == nullptr) return;
    if (entry.parameter->requires_grad() == on) return;
    *entry.parameter = Tensor(entry.parameter->array(), on);
    if (!entry.gradient.defined()) return;
    connect(entry, on);
    if (!on) entry.gradient.fill(0.0);
  });
  if (!fits) throw std::invalid_argument(no_value_named("set_requires_grad", prefix, *this));
}

void Module::connect(Entry& entry, bool trained) {
  *entry.use = {.trained = trained, .watched = true, .written = false};
  if (!trained) return;
  entry.parameter->set_grad_storage(entry.gradient);
  entry.parameter->set_parameter_id(entry.id);
  mark_gradients(*entry.parameter, {entry.use, &entry.use->written});
}

void Module::set_initializer(std::string_view name, const Initializer& initializer) {
  const std::string ending = "." + std::string(name);
  bool fits = false;
  change_entries("", [&](const std::string& full, Entry& entry) {
    const bool ends = full.size() > ending.size() &&
                      full.compare(full.size() - ending.size(), ending.size(), ending) == 0;
    if (full != name && !ends) return;
    fits = true;
    entry.initializer = initializer;
  });
  if (!fits) throw std::invalid_argument(no_value_named("set_initializer", name, *this));
}

void Module::load_values(const std::vector<NamedValue>& values) {
  std::map<std::string, const NamedValue*> given;
  for (const NamedValue& value : values) {
    if (!given.emplace(value.name, &value).second) {
      throw std::invalid_argument(
          fmt::format("[load_values] expected each value once, got \"{}\" twice", value.name));
    }
  }
  std::size_t used = 0;
  std::map<std::string, const NamedValue*> given_more = given;
  visit_entries("", [&](const std::string& name, const Entry& entry) {
    const auto found = given.find(name);
    const Array& to = entry.value();
    if (found == given.end() || found->second->value.shape() != to.shape() ||
        !is_floating(found->second->value.dtype())) {
      throw std::invalid_argument(fmt::format(
          "[load_values] expected \"{}\" of shape {} and a floating type, got {}", name,
          to_string(to.shape()),
          found == given.end() ? "none"
                               : fmt::format("{} {}", to_string(found->second->value.shape()),
                                             to_string(found->second->value.dtype()))));
    }
    ++used;
    given_more.erase(name);
  });
  if (used != given.size()) {
    throw std::invalid_argument(
        fmt::format("[load_values] expected the {} values of this model, got {}, \"{}\" too", used,
                    given.size(), given_more.begin()->first));
  }
  visit_entries("", [&](const std::string& name, const Entry& entry) {
    Array to = entry.value();
    to.copy_from(given.at(name)->value.to(to.device()));
  });
}

std::vector<NamedParameter> Module::named_parameters() const {
  std::vector<NamedParameter> parameters;
  visit_entries("", [&](std::string name, const Entry& entry) {
    if (entry.parameter != nullptr) parameters.push_back({std::move(name), *entry.parameter});
  });
  return parameters;
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

void Module::replace_parameters(const std::vector<Tensor>& tensors) {
  std::size_t used = 0;
  change_entries("", [&](const std::string& name, Entry& entry) {
    if (entry.parameter == nullptr) return;
    if (used >= tensors.size() || tensors[used].shape() != entry.parameter->shape()) {
      throw std::invalid_argument(fmt::format(
          "[replace_parameters] expected a tensor for {} of shape {}, got {}", name,
          to_string(entry.parameter->shape()),
          used < tensors.size() ? to_string(tensors[used].shape()) : std::string("none")));
    }
    *entry.parameter = tensors[used++];
  });
  if (used != tensors.size()) {
    throw std::invalid_argument(
        fmt::format("[replace_parameters] expected {} tensors, got {}", used, tensors.size()));
  }
}

void Module::initialize(std::uint64_t seed) {
  std::uint64_t index = 0;
  visit_entries("", [&](const std::string& /*name*/, const Entry& entry) {
    Rng rng(seed, index++);
    Array value = entry.value();
    // Initializers are the host's: the same numbers on every device.
    Array here = value.to(Device::cpu());
    entry.initializer(here, rng);
    if (!value.on_host()) value.copy_from(here.to(value.device()));
  });
}

void Module::bind(ParameterArena& arena) {
  check_arena(layout(), arena.layout());
  visit_entries("", [&](const std::string& name, const Entry& entry) {
    if (!entry.is_bound) return;
    throw std::invalid_argument(
        fmt::format("[bind] expected a module that no arena holds yet, got one whose \"{}\" is in "
                    "an arena; make another module and load_values(values()) there",
                    name));
  });
  arena.hold(identity_);
  int index = 0;
  change_entries("", [&](const std::string& /*name*/, Entry& entry) {
    Array place = arena.parameter(index);
    place.copy_from(entry.value().to(place.device()));
    follow(entry, place);
    if (entry.parameter != nullptr) {
      entry.gradient = arena.gradient(index);
      entry.id = ParameterId(index);
      entry.use = arena.use(index);
      move_leaf(*entry.parameter, place);
      connect(entry, entry.parameter->requires_grad());
    } else {
      *entry.buffer = place;
    }
    entry.is_bound = true;
    ++index;
  });
}

// Handles of a value from before it moved to `place` see `place` too: the memory that the module
// made for the value becomes a part of the arena's.
void Module::follow(const Entry& entry, const Array& place) {
  const Array& value = entry.value();
  const std::shared_ptr<Storage> made = entry.made.lock();
  if (made == nullptr || made != value.storage() || value.dtype() != place.dtype() ||
      value.device() != place.device()) {
    return;
  }
  made->follow(place.storage(), static_cast<std::size_t>(place.offset()) * sizeof(float),
               place.size_bytes());
}

void Module::register_parameter(std::string name, Tensor& parameter, const Shape& shape,
                                ParameterKind kind, Initializer initializer) {
  parameter = Tensor(Array::full(shape, kind == ParameterKind::kNorm ? 1.0 : 0.0), true);
  entries_.push_back({.name = std::move(name),
                      .kind = kind,
                      .parameter = &parameter,
                      .initializer = std::move(initializer),
                      .made = parameter.array().storage()});
}

void Module::register_buffer(std::string name, Array& buffer, const Shape& shape, double value) {
  buffer = Array::full(shape, value);
  entries_.push_back({.name = std::move(name),
                      .kind = ParameterKind::kBuffer,
                      .buffer = &buffer,
                      .initializer = constant_initializer(value),
                      .made = buffer.storage()});
}

Module& Module::register_part(std::string name, std::unique_ptr<Module> part) {
  if (part == nullptr) {
    throw std::invalid_argument(
        fmt::format("[module] expected a module as the part \"{}\", got null", name));
  }
  parts_.push_back({std::move(name), std::move(part)});
  return *parts_.back().module;
}

}  // namespace weft
