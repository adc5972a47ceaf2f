// A layer of one's own: squeeze-and-excitation (Hu, Shen, Sun, CVPR 2018, section 3), which weighs
// the channels of an image by what it holds as a whole, inside a small model.
//
// Prints the model's parameters and how its loss falls on one batch; exit code 1 if it does not.
#include <cstdio>
#include <memory>

#include "weft/autograd/backward.h"
#include "weft/base/rng.h"
#include "weft/nn/containers.h"
#include "weft/nn/layers.h"
#include "weft/op/ops.h"
#include "weft/optim/optimizer.h"

namespace {

using weft::Array;
using weft::Tensor;

class SqueezeExcitation : public weft::Module {
 public:
  // `reduction` divides the channels in the middle.
  SqueezeExcitation(std::int64_t channels, std::int64_t reduction)
      : shrink_(
            register_part("fc1", std::make_unique<weft::Linear>(channels, channels / reduction))),
        grow_(
            register_part("fc2", std::make_unique<weft::Linear>(channels / reduction, channels))) {}

  // x [N, C, H, W] -> the same shape.
  Tensor forward(const Tensor& x) override {
    const Tensor squeezed = weft::mean(x, {2, 3});
    const Tensor weights = weft::sigmoid(grow_.forward(shrink_.forward_relu(squeezed)));
    return x * weft::reshape(weights, {x.dim(0), x.dim(1), 1, 1});
  }

 private:
  Module& shrink_;
  Module& grow_;
};

Array random_values(const weft::Shape& shape, std::uint64_t stream) {
  weft::Rng rng(1, stream);
  Array values = Array::empty(shape);
  for (float& value : values.flat<float>()) value = static_cast<float>(rng.normal());
  return values;
}

}  // namespace

int main() {
  weft::Sequential model;
  model.add<weft::Conv2d>("conv", weft::Conv2dShape{.inputs = 3, .outputs = 16});
  model.add<weft::ReLU>("relu");
  model.add<SqueezeExcitation>("attention", 16, 4);
  model.add<weft::Flatten>("flatten");
  model.add<weft::Linear>("head", 16 * 6 * 6, 4);
  model.initialize(1);

  weft::ParameterArena arena(model.layout());
  model.bind(arena);
  for (const weft::NamedValue& value : model.values()) {
    std::printf("%-22s %s\n", value.name.c_str(), weft::to_string(value.value.shape()).c_str());
  }

  auto optimizer = weft::make_optimizer({.name = "adam", .learning_rate = 0.01}, arena);
  if (!optimizer.ok()) {
    std::printf("%s\n", optimizer.status().to_string().c_str());
    return 1;
  }
  const Tensor images(random_values({32, 3, 8, 8}, 1));
  Array labels = Array::empty({32}, weft::DType::kI64);
  for (int i = 0; i < 32; ++i) labels.data<std::int64_t>()[i] = i % 4;

  double first = 0;
  double last = 0;
  for (int step = 0; step < 40; ++step) {
    arena.zero_gradients();
    const Tensor loss = weft::cross_entropy(model.forward(images), labels);
    weft::backward(loss);
    (*optimizer)->step();
    last = loss.item();
    if (step == 0) first = last;
  }
  std::printf("loss of one batch: %.3f at first, %.3f after 40 steps\n", first, last);
  return last < 0.1 * first ? 0 : 1;
}
