// cnn: two 3x3 convolutions without padding, one pooling, two linear layers; 1.2 million
// parameters for images of 28x28.
#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "weft/nn/containers.h"
#include "weft/nn/layers.h"
#include "weft/nn/zoo.h"

namespace weft {
namespace {

std::unique_ptr<Module> make_cnn(const ModelOptions& options) {
  if (std::min(options.height, options.width) < 6) {
    throw std::invalid_argument(fmt::format("[cnn] expected images of at least 6x6, got {}x{}",
                                            options.height, options.width));
  }
  auto model = std::make_unique<Sequential>();
  model->add<Conv2d>("conv1", Conv2dShape{.inputs = options.channels, .outputs = 32});
  model->add<ReLU>("relu1");
  model->add<Conv2d>("conv2", Conv2dShape{.inputs = 32, .outputs = 64});
  model->add<ReLU>("relu2");
  model->add<MaxPool2d>("pool", 2);
  if (options.dropout) model->add<Dropout>("drop1", 0.25);
  model->add<Flatten>("flatten");
  const std::int64_t pooled = 64 * ((options.height - 4) / 2) * ((options.width - 4) / 2);
  model->add<Linear>("fc1", pooled, 128);
  model->add<ReLU>("relu3");
  if (options.dropout) model->add<Dropout>("drop2", 0.5);
  model->add<Linear>("fc2", 128, options.classes);
  return model;
}

}  // namespace

extern const ModelDef cnn_model = {"cnn", "two 3x3 convolutions, pooling, two linear layers",
                                   make_cnn};

}  // namespace weft
