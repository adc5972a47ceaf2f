// UnitLayers: the hidden layers of a model whose units may change places without a change of what
// the model computes, and the values of these units.
//
// A unit is a neuron of a linear layer or a channel of a convolution. Where unit u and unit v swap
// the slices that belong to them (the rows of their own layer's weight and bias, the columns of the
// next layer's weight), the outputs stay the same. That holds for plain sequences of linear layers
// and convolutions without groups, with parts between them that treat all units alike; other models
// (residual sums, attention, normalisation with statistics) are refused.
//
// Where it stands: model matching in the simulator (sim/mix). Threads: the training thread's; it
// borrows the model. Fails: kInvalidArgument, which names the part that is in the way.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "weft/array/array.h"
#include "weft/base/status.h"
#include "weft/nn/containers.h"

namespace weft {

// Element (o, u, i) of the unit u is at begin + (o * units + u) * inner + i in the model's arena,
// for o < outer and i < inner.
struct UnitSlice {
  std::size_t begin = 0;
  std::size_t outer = 1;
  std::size_t inner = 1;
};

struct UnitLayer {
  std::string name;
  std::size_t units = 0;
  std::vector<UnitSlice> slices;
};

class UnitLayers {
 public:
  // Borrows `model`, which must outlive this.
  static Result<UnitLayers> of(Module& model);

  // First to last; without the outputs.
  const std::vector<UnitLayer>& layers() const { return layers_; }
  // For each of layers() f32 [samples, places, units]: what follows from its units in the model as
  // it is, without dropout, after the part that follows the layer, such as its ReLU.
  std::vector<Array> values(const Tensor& inputs) const;

 private:
  explicit UnitLayers(Sequential& model) : model_(&model) {}

  Sequential* model_;
  std::vector<UnitLayer> layers_;
  std::vector<std::size_t> watched_;  // the parts whose outputs are the values
};

}  // namespace weft
