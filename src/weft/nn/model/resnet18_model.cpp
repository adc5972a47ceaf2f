// resnet18: eight residual blocks of two 3x3 convolutions in four stages; 11.7 million parameters
// with 1000 classes. Images below 64 pixels get a 3x3 first convolution and no first pooling, as
// is usual for CIFAR; larger ones 7x7 with stride 2 and 3x3 maxima.
//
// He et al., "Deep residual learning for image recognition", CVPR 2016, table 1; names of the
// parameters as in torchvision.
#include <algorithm>
#include <array>
#include <stdexcept>

#include <fmt/format.h>

#include "weft/nn/containers.h"
#include "weft/nn/layers.h"
#include "weft/nn/zoo.h"
#include "weft/op/activation.h"
#include "weft/op/shape.h"

namespace weft {
namespace {

constexpr std::int64_t kSmallSide = 64;

std::unique_ptr<Conv2d> conv3x3(std::int64_t inputs, std::int64_t outputs, std::int64_t stride) {
  return std::make_unique<Conv2d>(Conv2dShape{.inputs = inputs,
                                              .outputs = outputs,
                                              .stride = {stride, stride},
                                              .padding = {1, 1},
                                              .bias = false});
}

class BasicBlock : public Module {
 public:
  BasicBlock(std::int64_t inputs, std::int64_t outputs, std::int64_t stride)
      : conv1_(register_part("conv1", conv3x3(inputs, outputs, stride))),
        bn1_(register_part("bn1", std::make_unique<BatchNorm2d>(outputs))),
        conv2_(register_part("conv2", conv3x3(outputs, outputs, 1))),
        bn2_(register_part("bn2", std::make_unique<BatchNorm2d>(outputs))) {
    if (stride == 1 && inputs == outputs) return;
    auto shortcut = std::make_unique<Sequential>();
    shortcut->then<Conv2d>(Conv2dShape{.inputs = inputs,
                                       .outputs = outputs,
                                       .kernel = {1, 1},
                                       .stride = {stride, stride},
                                       .bias = false});
    shortcut->then<BatchNorm2d>(outputs);
    shortcut_ = &register_part("downsample", std::move(shortcut));
  }

  Tensor forward(const Tensor& x) override {
    const Tensor middle = conv1_.forward_normalized(x, bn1_, true);
    const Tensor body = conv2_.forward_normalized(middle, bn2_, false);
    return add_relu(body, shortcut_ != nullptr ? shortcut_->forward(x) : x);
  }

 private:
  Module& conv1_;
  Module& bn1_;
  Module& conv2_;
  Module& bn2_;
  Module* shortcut_ = nullptr;
};

std::unique_ptr<Sequential> resnet18_stage(std::int64_t inputs, std::int64_t outputs,
                                           std::int64_t stride) {
  auto result = std::make_unique<Sequential>();
  result->then<BasicBlock>(inputs, outputs, stride);
  result->then<BasicBlock>(outputs, outputs, 1);
  return result;
}

std::unique_ptr<Conv2d> first_conv(std::int64_t channels, bool small) {
  if (small) return conv3x3(channels, 64, 1);
  return std::make_unique<Conv2d>(Conv2dShape{.inputs = channels,
                                              .outputs = 64,
                                              .kernel = {7, 7},
                                              .stride = {2, 2},
                                              .padding = {3, 3},
                                              .bias = false});
}

class ResNet18 : public Module {
 public:
  ResNet18(std::int64_t channels, std::int64_t classes, bool small)
      : small_(small),
        conv1_(register_part("conv1", first_conv(channels, small))),
        bn1_(register_part("bn1", std::make_unique<BatchNorm2d>(64))),
        stages_{&register_part("layer1", resnet18_stage(64, 64, 1)),
                &register_part("layer2", resnet18_stage(64, 128, 2)),
                &register_part("layer3", resnet18_stage(128, 256, 2)),
                &register_part("layer4", resnet18_stage(256, 512, 2))},
        fc_(register_part("fc", std::make_unique<Linear>(512, classes))) {}

  Tensor forward(const Tensor& x) override {
    Tensor value = conv1_.forward_normalized(x, bn1_, true);
    if (!small_) {
      value = max_pool2d(value, {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}});
    }
    for (Module* const part : stages_) value = part->forward(value);
    return fc_.forward(flatten(global_avg_pool2d(value), 1));
  }

 private:
  bool small_;
  Module& conv1_;
  Module& bn1_;
  std::array<Module*, 4> stages_;
  Module& fc_;
};

std::unique_ptr<Module> make_resnet18(const ModelOptions& options) {
  const std::int64_t side = std::min(options.height, options.width);
  if (side < 8) {
    throw std::invalid_argument(fmt::format("[resnet18] expected images of at least 8x8, got {}x{}",
                                            options.height, options.width));
  }
  return std::make_unique<ResNet18>(options.channels, options.classes, side < kSmallSide);
}

}  // namespace

extern const ModelDef resnet18_model = {"resnet18", "eight residual blocks in four stages, 11.2 M",
                                        make_resnet18};

}  // namespace weft
