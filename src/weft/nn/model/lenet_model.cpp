// lenet: LeNet-5 for images of 28x28 (padded to 32x32), tanh and average pooling.
//
// IMPLEMENTATION: LeCun, Bottou, Bengio, Haffner, "Gradient-based learning applied to document
// recognition", Proc. IEEE 1998, section II.B. Differs: every feature map of the second
// convolution sees all six below it, and the output layer is linear, for cross-entropy.
#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "weft/nn/containers.h"
#include "weft/nn/layers.h"
#include "weft/nn/zoo.h"

namespace weft {
namespace {

std::unique_ptr<Module> make_lenet(const ModelOptions& options) {
  if (std::min(options.height, options.width) < 12) {
    throw std::invalid_argument(fmt::format("[lenet] expected images of at least 12x12, got {}x{}",
                                            options.height, options.width));
  }
  auto model = std::make_unique<Sequential>();
  model->add<Conv2d>(
      "conv1",
      Conv2dShape{.inputs = options.channels, .outputs = 6, .kernel = {5, 5}, .padding = {2, 2}});
  model->add<Tanh>("tanh1");
  model->add<AvgPool2d>("pool1", 2);
  model->add<Conv2d>("conv2", Conv2dShape{.inputs = 6, .outputs = 16, .kernel = {5, 5}});
  model->add<Tanh>("tanh2");
  model->add<AvgPool2d>("pool2", 2);
  model->add<Flatten>("flatten");
  const std::int64_t pooled = 16 * ((options.height / 2 - 4) / 2) * ((options.width / 2 - 4) / 2);
  model->add<Linear>("fc1", pooled, 120);
  model->add<Tanh>("tanh3");
  model->add<Linear>("fc2", 120, 84);
  model->add<Tanh>("tanh4");
  if (options.dropout) model->add<Dropout>("drop1", 0.5);
  model->add<Linear>("fc3", 84, options.classes);
  return model;
}

}  // namespace

extern const ModelDef lenet_model = {"lenet", "LeNet-5: two 5x5 convolutions, three linear layers",
                                     make_lenet};

}  // namespace weft
