// Containers: modules made of others.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/nn/module.h"

namespace weft {

// Runs its parts one after another. A part that can apply ReLU in its own pass over memory takes
// over a ReLU that follows it.
class Sequential : public Module {
 public:
  // The name is the prefix of the part's parameters. Throws std::invalid_argument if it is taken,
  // empty, or has a dot.
  Sequential& add(std::string name, std::unique_ptr<Module> part);
  // add<Linear>("fc1", 784, 256)
  template <class Layer, class... Arguments>
  Sequential& add(std::string name, Arguments&&... arguments) {
    return add(std::move(name), std::make_unique<Layer>(std::forward<Arguments>(arguments)...));
  }

  Tensor forward(const Tensor& x) override;
  // Off: every ReLU runs by itself, with the same result up to rounding. On at first.
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

}  // namespace weft
