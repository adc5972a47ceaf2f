// Containers: modules made of others.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/nn/module.h"

namespace weft {

// Runs its parts one after another. A part that can apply ReLU in its own pass over memory also
// applies a ReLU that follows it; a convolution may do so with a batch normalisation
// (conv2d_normalized()).
class Sequential : public Module {
 public:
  // `name` is the prefix of the part's parameters. Throws std::invalid_argument if it is taken, is
  // empty, or has a dot.
  Sequential& add(std::string name, std::unique_ptr<Module> part);
  // add<Linear>("fc1", 784, 256)
  template <class Layer, class... Arguments>
  Sequential& add(std::string name, Arguments&&... arguments) {
    return add(std::move(name), std::make_unique<Layer>(std::forward<Arguments>(arguments)...));
  }
  // Names the part by its position, "0" for the first, as PyTorch does.
  template <class Layer, class... Arguments>
  Sequential& then(Arguments&&... arguments) {
    return add(std::to_string(sequence_.size()),
               std::make_unique<Layer>(std::forward<Arguments>(arguments)...));
  }

  Tensor forward(const Tensor& x) override;
  std::size_t size() const { return sequence_.size(); }
  // Returns part i.
  Module& operator[](std::size_t i) { return *sequence_.at(i).second; }
  // If it is off, every part runs by itself, with the same result up to rounding. It is on at
  // first.
  void set_fusion(bool on) { fusion_ = on; }

 private:
  std::vector<std::pair<std::string, Module*>> sequence_;
  bool fusion_ = true;
};

// y = body(x) + shortcut(x), or body(x) + x without a shortcut. Parts "body" and "shortcut".
// He et al., "Deep residual learning for image recognition", CVPR 2016, equations 1 and 2.
class Residual : public Module {
 public:
  explicit Residual(std::unique_ptr<Module> body, std::unique_ptr<Module> shortcut = nullptr);
  Tensor forward(const Tensor& x) override;

 private:
  Module* body_;
  Module* shortcut_ = nullptr;
};

// A list of parts "0", "1", ... that their owner calls as it likes; forward() throws
// std::invalid_argument.
class ModuleList : public Module {
 public:
  template <class Layer, class... Arguments>
  Layer& add(Arguments&&... arguments) {
    auto part = std::make_unique<Layer>(std::forward<Arguments>(arguments)...);
    Layer& result = *part;
    add(std::move(part));
    return result;
  }
  Module& add(std::unique_ptr<Module> part);
  std::size_t size() const { return parts_.size(); }
  // Throws std::out_of_range.
  Module& operator[](std::size_t i) { return *parts_.at(i); }
  Tensor forward(const Tensor& x) override;

 private:
  std::vector<Module*> parts_;
};

// The same with names, in the order in which parts were added.
class ModuleDict : public Module {
 public:
  template <class Layer, class... Arguments>
  Layer& add(std::string name, Arguments&&... arguments) {
    auto part = std::make_unique<Layer>(std::forward<Arguments>(arguments)...);
    Layer& result = *part;
    add(std::move(name), std::move(part));
    return result;
  }
  // Throws std::invalid_argument if the name is taken, empty, or has a dot.
  Module& add(std::string name, std::unique_ptr<Module> part);
  bool contains(std::string_view name) const;
  // Throws std::out_of_range.
  Module& at(std::string_view name);
  std::vector<std::string> names() const;
  Tensor forward(const Tensor& x) override;

 private:
  std::vector<std::pair<std::string, Module*>> parts_;
};

}  // namespace weft
