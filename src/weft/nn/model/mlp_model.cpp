// mlp: one hidden layer, 784-256-10 for images of 28x28 with the default options.
#include "weft/nn/containers.h"
#include "weft/nn/layers.h"
#include "weft/nn/zoo.h"

namespace weft {
namespace {

std::unique_ptr<Module> make_mlp(const ModelOptions& options) {
  auto model = std::make_unique<Sequential>();
  model->add<Flatten>("flatten");
  model->add<Linear>("fc1", options.channels * options.height * options.width,
                     options.hidden_units);
  model->add<ReLU>("relu1");
  if (options.dropout) model->add<Dropout>("drop1", 0.5);
  model->add<Linear>("fc2", options.hidden_units, options.classes);
  return model;
}

}  // namespace

extern const ModelDef mlp_model = {"mlp", "one hidden layer of model.hidden_units with ReLU",
                                   make_mlp};

}  // namespace weft
