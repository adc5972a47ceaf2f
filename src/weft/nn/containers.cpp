#include "weft/nn/containers.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "weft/op/arithmetic.h"

namespace weft {

Sequential& Sequential::add(std::string name, std::unique_ptr<Module> part) {
  const bool taken = std::any_of(sequence_.begin(), sequence_.end(),
                                 [&](const auto& known) { return known.first == name; });
  if (taken || name.empty() || name.find('.') != std::string::npos) {
    throw std::invalid_argument(
        fmt::format("[sequential] expected a new name without dots, got \"{}\"", name));
  }
  Module& owned = register_part(name, std::move(part));
  sequence_.emplace_back(std::move(name), &owned);
  return *this;
}

Tensor Sequential::forward(const Tensor& x) {
  Tensor value = x;
  for (std::size_t i = 0; i < sequence_.size(); ++i) {
    Module& part = *sequence_[i].second;
    const bool relu_follows = i + 1 < sequence_.size() && sequence_[i + 1].second->is_relu();
    if (fusion_ && relu_follows && part.fuses_relu()) {
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

}  // namespace weft
