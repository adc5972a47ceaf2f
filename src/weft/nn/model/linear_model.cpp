// linear: no hidden layer, which is softmax regression: its loss is convex.
#include "weft/nn/containers.h"
#include "weft/nn/layers.h"
#include "weft/nn/zoo.h"

namespace weft {
namespace {

std::unique_ptr<Module> make_linear(const ModelOptions& options) {
  auto model = std::make_unique<Sequential>();
  model->add<Flatten>("flatten");
  model->add<Linear>("fc", options.channels * options.height * options.width, options.classes);
  return model;
}

}  // namespace

extern const ModelDef linear_model = {"linear", "one linear layer: softmax regression, convex",
                                      make_linear};

}  // namespace weft
