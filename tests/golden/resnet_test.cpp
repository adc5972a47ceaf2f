// One step of the residual networks against PyTorch's in f64.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "golden_file.h"
#include "weft/nn/zoo.h"
#include "weft/op/loss.h"

namespace weft::resnet_test {
namespace {

// make_images.py's waves(), times `scale` plus `level`, rounded to f32 as there.
void fill(Array values, double offset, double scale = 1.0, double level = 0.0) {
  std::int64_t i = 0;
  for (float& value : values.flat<float>()) {
    const auto wave = static_cast<float>(std::sin(static_cast<double>(i * i % 9973) + offset));
    value = static_cast<float>(double{wave} * scale + level);
    ++i;
  }
}

double norm_of(const Array& values) {
  double sum = 0;
  for (const float value : values.to_vector<float>()) sum += double{value} * value;
  return std::sqrt(sum);
}

class GoldenResnet : public testing::TestWithParam<const char*> {};

TEST_P(GoldenResnet, LossAndGradientsAgree) {
  const GoldenFile file("resnet.safetensors");
  const std::string name = GetParam();
  Result<std::unique_ptr<Module>> made =
      make_model(name, {.channels = 3, .height = 32, .width = 32});
  ASSERT_TRUE(made.ok());
  Module& model = *made.value();
  const std::vector<NamedParameter> parameters = model.named_parameters();
  double index = 0;
  for (const NamedParameter& parameter : parameters) {
    const Array values = parameter.value.array();
    if (values.ndim() > 1) {
      const auto fan = static_cast<double>(values.size() / values.dim(0));
      fill(values, index, std::sqrt(3.0 / fan));
    } else {
      fill(values, index, 0.25, 1.0);
    }
    index += 1;
  }
  const Array images = Array::empty({4, 3, 32, 32});
  fill(images, 100);
  const Tensor loss = cross_entropy(model.forward(Tensor(images)),
                                    Array::from(std::vector<std::int64_t>{0, 1, 2, 3}, {4}));
  const double want = file.get(name + "/loss").item();
  EXPECT_NEAR(loss.item(), want, 2e-5 * std::abs(want));
  backward(loss);
  const Array norms = file.get(name + "/gradient_norms");
  ASSERT_EQ(norms.dim(0), static_cast<std::int64_t>(parameters.size()));
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const double norm = norms.select(0, static_cast<std::int64_t>(i)).item();
    // A value within rounding of 0 may fall on either side of a ReLU: single gradients then differ.
    EXPECT_NEAR(norm_of(parameters[i].value.grad()), norm, 5e-3 * norm) << parameters[i].name;
  }
}

INSTANTIATE_TEST_SUITE_P(Zoo, GoldenResnet, testing::Values("resnet9", "resnet18"),
                         [](const testing::TestParamInfo<const char*>& entry) {
                           return std::string(entry.param);
                         });

}  // namespace
}  // namespace weft::resnet_test
