#include "weft/nn/containers.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "weft/op/arithmetic.h"

namespace weft {
namespace {

using NamedParts = std::vector<std::pair<std::string, Module*>>;

Module* find(const NamedParts& parts, std::string_view name) {
  const auto found = std::find_if(parts.begin(), parts.end(),
                                  [&](const auto& known) { return known.first == name; });
  return found == parts.end() ? nullptr : found->second;
}

void check_name(const char* container, const NamedParts& parts, const std::string& name) {
  if (find(parts, name) != nullptr || name.empty() || name.find('.') != std::string::npos) {
    throw std::invalid_argument(
        fmt::format("[{}] expected a new name without dots, got \"{}\"", container, name));
  }
}

[[noreturn]] void throw_forward(const char* container) {
  throw std::invalid_argument(
      fmt::format("[{}] expected calls of its parts, got a call of the container", container));
}

}  // namespace

Sequential& Sequential::add(std::string name, std::unique_ptr<Module> part) {
  check_name("sequential", sequence_, name);
  Module& owned = register_part(name, std::move(part));
  sequence_.emplace_back(std::move(name), &owned);
  return *this;
}

Tensor Sequential::forward(const Tensor& x) {
  Tensor value = x;
  const auto relu_at = [this](std::size_t i) {
    return i < sequence_.size() && sequence_[i].second->is_relu();
  };
  for (std::size_t i = 0; i < sequence_.size(); ++i) {
    Module& part = *sequence_[i].second;
    if (fusion_ && i + 1 < sequence_.size() && sequence_[i + 1].second->is_batch_norm()) {
      const bool relu = relu_at(i + 2);
      value = part.forward_normalized(value, *sequence_[i + 1].second, relu);
      i += relu ? 2 : 1;
    } else if (fusion_ && relu_at(i + 1) && part.fuses_relu()) {
      value = part.forward_relu(value);
      ++i;
    } else {
      value = part.forward(value);
    }
  }
  return value;
}

Residual::Residual(std::unique_ptr<Module> body, std::unique_ptr<Module> shortcut)
    : body_(&register_part("body", std::move(body))) {
  if (shortcut) shortcut_ = &register_part("shortcut", std::move(shortcut));
}

Tensor Residual::forward(const Tensor& x) {
  return body_->forward(x) + (shortcut_ != nullptr ? shortcut_->forward(x) : x);
}

Module& ModuleList::add(std::unique_ptr<Module> part) {
  Module& owned = register_part(std::to_string(parts_.size()), std::move(part));
  parts_.push_back(&owned);
  return owned;
}

Tensor ModuleList::forward(const Tensor& /*x*/) { throw_forward("module_list"); }

Module& ModuleDict::add(std::string name, std::unique_ptr<Module> part) {
  check_name("module_dict", parts_, name);
  Module& owned = register_part(name, std::move(part));
  parts_.emplace_back(std::move(name), &owned);
  return owned;
}

bool ModuleDict::contains(std::string_view name) const { return find(parts_, name) != nullptr; }

Module& ModuleDict::at(std::string_view name) {
  Module* const part = find(parts_, name);
  if (part == nullptr) {
    throw std::out_of_range(fmt::format("[module_dict] expected one of {}, got \"{}\"",
                                        fmt::join(names(), ", "), name));
  }
  return *part;
}

std::vector<std::string> ModuleDict::names() const {
  std::vector<std::string> result;
  for (const auto& [name, part] : parts_) result.push_back(name);
  return result;
}

Tensor ModuleDict::forward(const Tensor& /*x*/) { throw_forward("module_dict"); }

}  // namespace weft
