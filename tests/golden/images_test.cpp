// Convolutions, poolings and normalisations against the values that PyTorch computed.
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "golden_file.h"
#include "weft/op/ops.h"

namespace weft::images_test {
namespace {

// Every case of make_images.py.
constexpr GoldenCase kCases[] = {
    {"adaptive_avg_pool1d", [](const GoldenInputs& in) { return adaptive_avg_pool1d(in[0], 4); }},
    {"adaptive_avg_pool2d",
     [](const GoldenInputs& in) {
       return adaptive_avg_pool2d(in[0], {3, 4});
     }},
    {"adaptive_max_pool2d",
     [](const GoldenInputs& in) {
       return adaptive_max_pool2d(in[0], {2, 5});
     }},
    {"avg_pool1d",
     [](const GoldenInputs& in) {
       return avg_pool1d(in[0], {3, 2, 1, true, false});
     }},
    {"avg_pool2d_ceil",
     [](const GoldenInputs& in) {
       return avg_pool2d(in[0], {{3, 4}, {3, 4}, {1, 1}, true});
     }},
    {"avg_pool2d_without_padding",
     [](const GoldenInputs& in) {
       return avg_pool2d(in[0], {{3, 3}, {2, 2}, {1, 1}, false, false});
     }},
    {"batch_norm_vectors",
     [](const GoldenInputs& in) {
       Array none;
       return batch_norm(in[0], in[1], in[2], none, none, {.training = true});
     }},
    {"conv1d",
     [](const GoldenInputs& in) {
       return conv1d(in[0], in[1], in[2], {.stride = 2, .padding = 3, .dilation = 2});
     }},
    {"conv1d_groups",
     [](const GoldenInputs& in) { return conv1d(in[0], in[1], {}, {.groups = 4}); }},
    {"conv2d_depthwise",
     [](const GoldenInputs& in) {
       return conv2d(in[0], in[1], {}, {.stride = {1, 2}, .padding = {2, 1}, .groups = 4});
     }},
    {"conv2d_groups_dilated",
     [](const GoldenInputs& in) {
       return conv2d(in[0], in[1], in[2],
                     {.stride = {3, 1}, .padding = {2, 3}, .dilation = {2, 3}, .groups = 2});
     }},
    {"conv2d_larger_window",
     [](const GoldenInputs& in) {
       return conv2d(in[0], in[1], {}, {.padding = {2, 4}});
     }},
    {"conv2d_tiles",
     [](const GoldenInputs& in) {
       return conv2d(in[0], in[1], {}, {.padding = {1, 1}});
     }},
    {"conv_transpose1d",
     [](const GoldenInputs& in) {
       return conv_transpose1d(in[0], in[1], in[2],
                               {.stride = 3, .padding = 1, .output_padding = 2});
     }},
    {"conv_transpose2d",
     [](const GoldenInputs& in) { return conv_transpose2d(in[0], in[1], in[2]); }},
    {"conv_transpose2d_groups",
     [](const GoldenInputs& in) {
       return conv_transpose2d(in[0], in[1], in[2], {.dilation = {2, 1}, .groups = 2});
     }},
    {"conv_transpose2d_strided",
     [](const GoldenInputs& in) {
       return conv_transpose2d(in[0], in[1], {},
                               {.stride = {2, 3}, .padding = {1, 2}, .output_padding = {1, 2}});
     }},
    {"group_norm", [](const GoldenInputs& in) { return group_norm(in[0], 2, in[1], in[2]); }},
    {"group_norm_one", [](const GoldenInputs& in) { return group_norm(in[0], 1, {}, {}); }},
    {"instance_norm", [](const GoldenInputs& in) { return instance_norm(in[0], in[1], in[2]); }},
    {"max_pool1d",
     [](const GoldenInputs& in) {
       return max_pool1d(in[0], {3, 2, 1, true});
     }},
    {"max_pool2d_ceil",
     [](const GoldenInputs& in) {
       return max_pool2d(in[0], {{3, 2}, {2, 3}, {1, 0}, true});
     }},
    {"rms_norm", [](const GoldenInputs& in) { return rms_norm(in[0], 1, in[1]); }},
    {"upsample2d_corners",
     [](const GoldenInputs& in) {
       return upsample2d(in[0], {{10, 5}, UpsampleMode::kBilinear, true});
     }},
    {"upsample2d_linear",
     [](const GoldenInputs& in) {
       return upsample2d(in[0], {{10, 5}, UpsampleMode::kBilinear});
     }},
    {"upsample2d_nearest",
     [](const GoldenInputs& in) {
       return upsample2d(in[0], {{10, 5}});
     }},
};

class GoldenImages : public testing::TestWithParam<DType> {};

TEST_P(GoldenImages, OpsAgree) {
  const GoldenFile file("images.safetensors");
  std::set<std::string> names = {"running"};
  for (const GoldenCase& op : kCases) {
    SCOPED_TRACE(op.name);
    names.insert(op.name);
    check_case(file, op, GetParam());
  }
  EXPECT_EQ(names, file.cases());
}

TEST_P(GoldenImages, RunningStatisticsAgree) {
  const GoldenFile file("images.safetensors");
  Array mean = Array::zeros({4}, GetParam());
  Array var = Array::full({4}, 1.0, GetParam());
  const auto input = [&](int step) {
    return Tensor(file.get("running/x" + std::to_string(step)).to(GetParam()));
  };
  for (int step = 0; step < 3; ++step) {
    batch_norm(input(step), {}, {}, mean, var, {.training = true, .momentum = 0.2});
    expect_close(mean, file.get("running/mean" + std::to_string(step)), tolerance_of(GetParam()));
    expect_close(var, file.get("running/var" + std::to_string(step)), tolerance_of(GetParam()));
  }
  const Tensor evaluated = batch_norm(input(0), {}, {}, mean, var, {.training = false});
  expect_close(evaluated.array(), file.get("running/evaluated"), tolerance_of(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Types, GoldenImages, testing::Values(DType::kF32, DType::kF64),
                         [](const testing::TestParamInfo<DType>& entry) {
                           return std::string(to_string(entry.param));
                         });

}  // namespace
}  // namespace weft::images_test
