// resnet9: four convolutional stages and two residual blocks of two convolutions; 6.6 million
// parameters with 10 classes. For images whose sides are multiples of 8, at least 32.
//
// He et al., "Deep residual learning for image recognition", CVPR 2016; this small form is known
// from the training-speed contests on CIFAR-10 (D. Page, "How to train your ResNet", 2018).
#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "weft/nn/containers.h"
#include "weft/nn/layers.h"
#include "weft/nn/zoo.h"
#include "weft/op/arithmetic.h"
#include "weft/op/shape.h"

namespace weft {
namespace {

// 3x3 convolution, batch normalisation, ReLU and, with `pool`, 2x2 maxima.
std::unique_ptr<Sequential> resnet9_stage(std::int64_t inputs, std::int64_t outputs,
                                          bool pool = false) {
  auto result = std::make_unique<Sequential>();
  result->then<Conv2d>(
      Conv2dShape{.inputs = inputs, .outputs = outputs, .padding = {1, 1}, .bias = false});
  result->then<BatchNorm2d>(outputs);
  result->then<ReLU>();
  if (pool) result->then<MaxPool2d>(2);
  return result;
}

std::unique_ptr<Sequential> two_stages(std::int64_t channels) {
  auto result = std::make_unique<Sequential>();
  result->add("0", resnet9_stage(channels, channels));
  result->add("1", resnet9_stage(channels, channels));
  return result;
}

class ResNet9 : public Module {
 public:
  ResNet9(std::int64_t channels, std::int64_t classes)
      : p_(register_part("p", resnet9_stage(channels, 64))),
        l1_(register_part("l1", resnet9_stage(64, 128, true))),
        r1_(register_part("r1", two_stages(128))),
        l2_(register_part("l2", resnet9_stage(128, 256, true))),
        l3_(register_part("l3", resnet9_stage(256, 512, true))),
        r3_(register_part("r3", two_stages(512))),
        fc_(register_part("fc", std::make_unique<Linear>(512, classes))) {}

  Tensor forward(const Tensor& x) override {
    const Tensor early = with_residual(l1_.forward(p_.forward(x)), r1_);
    const Tensor late = with_residual(l3_.forward(l2_.forward(early)), r3_);
    return fc_.forward(flatten(global_max_pool2d(late), 1));
  }

 private:
  static Tensor with_residual(const Tensor& x, Module& body) { return x + body.forward(x); }

  Module& p_;
  Module& l1_;
  Module& r1_;
  Module& l2_;
  Module& l3_;
  Module& r3_;
  Module& fc_;
};

std::unique_ptr<Module> make_resnet9(const ModelOptions& options) {
  if (std::min(options.height, options.width) < 8) {
    throw std::invalid_argument(fmt::format("[resnet9] expected images of at least 8x8, got {}x{}",
                                            options.height, options.width));
  }
  return std::make_unique<ResNet9>(options.channels, options.classes);
}

}  // namespace

extern const ModelDef resnet9_model = {"resnet9", "four stages and two residual blocks, 6.6 M",
                                       make_resnet9};

}  // namespace weft
