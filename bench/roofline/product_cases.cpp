// Kernels that compute: convolutions, matrix products and attention.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "cases.h"
#include "weft/base/rng.h"
#include "weft/kernel/attention/attention.h"
#include "weft/kernel/conv/conv.h"
#include "weft/kernel/core/onednn.h"
#include "weft/kernel/gemm/matmul.h"

namespace weft::bench {
namespace {

struct ConvCase {
  const char* name;
  Shape x;
  Shape weight;
  Conv2dGeometry geometry;
  DType dtype = DType::kF32;
};

void add_conv(std::vector<ProductCase>& cases, const ConvCase& conv) {
  const Shape shape = conv2d_shape(conv.x, conv.weight, conv.geometry);
  const auto product = [](const Shape& s) { return static_cast<double>(s.num_elements()); };
  const double flops =
      2.0 * product(shape) * product(conv.weight) / static_cast<double>(conv.weight[0]);
  const bool winograd = conv.weight[2] == 3 && conv.weight[3] == 3 && conv.weight[1] % 8 == 0 &&
                        conv.geometry.stride[0] == 1 && conv.geometry.groups == 1;
  const std::int64_t all_tiles = (shape[2] + 3) / 4 * ((shape[3] + 3) / 4);
  const auto tiles = static_cast<double>(all_tiles);
  const double executed =
      winograd ? 72.0 * tiles * static_cast<double>(shape[0] * shape[1] * conv.weight[1]) : flops;
  const Conv2dGeometry geometry = conv.geometry;
  const Array weight = random_array(conv.weight).to(conv.dtype);
  // In the order that the kernels hand on, as within a network.
  Array x = random_array(conv.x).to(conv.dtype);
  if (conv.x[1] % 8 == 0) x = in_blocks_of_8(x);
  const Array y = conv2d_forward(x, weight, Array(), geometry, false);
  const std::string name =
      std::string("conv ") + (conv.dtype == DType::kBF16 ? "bf16 " : "") + conv.name;
  cases.push_back({name + " forward", flops, executed,
                   [=] { conv2d_forward(x, weight, Array(), geometry, false); }});
  // Nobody asks for the gradient of images.
  const bool images = conv.x[1] <= 3;
  const double products = images ? 1 : 2;
  cases.push_back({name + (images ? " weight gradient" : " backward"), products * flops,
                   products * executed, [=] {
                     Array gradient = Array::empty(weight.shape());
                     Conv2dWeightGradients out;
                     out.weight = &gradient;
                     conv2d_backward(y, {x, weight, Array(), geometry}, out, !images);
                   }});
}

void add_matmul(std::vector<ProductCase>& cases, std::int64_t m, std::int64_t n, std::int64_t k) {
  const Array a = random_array({m, k});
  const Array b = random_array({k, n});
  Array c = Array::empty({m, n});
  const double flops = 2.0 * static_cast<double>(m * n * k);
  cases.push_back(
      {"matmul " + std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k), flops,
       flops, [=]() mutable { matmul(a, b, c); }});
}

struct MatmulCase {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  MatmulOptions options;
  const char* name;
};

// With transposes, as a linear layer has them: x weight^T, dy weight, dy^T x.
void add_layer_matmul(std::vector<ProductCase>& cases, const MatmulCase& c,
                      DType dtype = DType::kF32) {
  const Array a =
      (c.options.transpose_a ? random_array({c.k, c.m}) : random_array({c.m, c.k})).to(dtype);
  const Array b =
      (c.options.transpose_b ? random_array({c.n, c.k}) : random_array({c.k, c.n})).to(dtype);
  Array out = Array::empty({c.m, c.n}, dtype);
  const double flops = 2.0 * static_cast<double>(c.m * c.n * c.k);
  const MatmulOptions options = c.options;
  const char* const type = dtype == DType::kF32 ? "" : "bf16 ";
  cases.push_back({std::string("matmul ") + type + c.name + " " + std::to_string(c.m) + "x" +
                       std::to_string(c.n) + "x" + std::to_string(c.k),
                   flops, flops, [=]() mutable { matmul(a, b, out, options); }});
}

struct AttentionCase {
  std::int64_t batch;
  std::int64_t tokens;
  std::int64_t heads;
  std::int64_t width;  // of a head
  DType dtype = DType::kF32;
};

// Causal, forward and backward. The operations are those of the pairs that are read.
void add_attention(std::vector<ProductCase>& cases, const AttentionCase& c) {
  const Array qkv = random_array({c.batch, c.tokens, 3 * c.heads * c.width}).to(c.dtype);
  const PackedHeads packed{c.heads, c.heads};
  const AttentionRun run{.scale = 1.0 / std::sqrt(static_cast<double>(c.width)), .causal = true};
  const AttentionResult result = packed_attention_forward(qkv, packed, Array(), run);
  const Array dy = random_array({c.batch, c.tokens, c.heads, c.width}).to(c.dtype);
  const double pairs = static_cast<double>(c.batch * c.heads) * static_cast<double>(c.tokens) *
                       static_cast<double>(c.tokens + 1) / 2.0;
  const double flops = 4.0 * pairs * static_cast<double>(c.width);
  const std::string name = std::string("causal attention ") +
                           (c.dtype == DType::kBF16 ? "bf16 " : "") + std::to_string(c.tokens) +
                           " tokens, " + std::to_string(c.heads) + "x" + std::to_string(c.width);
  cases.push_back({name + " forward", flops, flops,
                   [=] { packed_attention_forward(qkv, packed, Array(), run); }});
  cases.push_back({name + " backward", 2.5 * flops, 2.5 * flops,
                   [=] { packed_attention_backward(qkv, packed, Array(), run, result, dy); }});
}

}  // namespace

Array random_array(const Shape& shape) {
  Rng rng(1);
  Array values = Array::empty(shape);
  for (float& value : values.flat<float>()) value = static_cast<float>(rng.normal());
  return values;
}

std::vector<ProductCase> product_cases() {
  const Conv2dGeometry same{.padding = {1, 1}};
  const Conv2dGeometry halved{.stride = {2, 2}, .padding = {1, 1}};
  std::vector<ProductCase> cases;
  add_conv(cases, {"3 to 64, 32x32", {64, 3, 32, 32}, {64, 3, 3, 3}, same});
  add_conv(cases, {"64 to 128, 32x32", {64, 64, 32, 32}, {128, 64, 3, 3}, same});
  add_conv(cases, {"128 to 128, 16x16", {64, 128, 16, 16}, {128, 128, 3, 3}, same});
  add_conv(cases, {"128 to 256, 16x16", {64, 128, 16, 16}, {256, 128, 3, 3}, same});
  add_conv(cases, {"256 to 512, 8x8", {64, 256, 8, 8}, {512, 256, 3, 3}, same});
  add_conv(cases, {"512 to 512, 4x4", {64, 512, 4, 4}, {512, 512, 3, 3}, same});
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    add_conv(cases,
             {"64 to 128, 16x16, stride 2", {64, 64, 32, 32}, {128, 64, 3, 3}, halved, dtype});
    add_conv(cases, {"128 to 256, 16x16, 1x1", {64, 128, 16, 16}, {256, 128, 1, 1}, {}, dtype});
    // The blocks of a residual network and its shortcuts.
    add_conv(cases, {"256 to 64, 56x56, 1x1", {4, 256, 56, 56}, {64, 256, 1, 1}, {}, dtype});
    add_conv(cases, {"512 to 2048, 7x7, 1x1", {16, 512, 7, 7}, {2048, 512, 1, 1}, {}, dtype});
    add_conv(cases, {"64 to 128, 16x16, 1x1, stride 2",
                     {64, 64, 32, 32},
                     {128, 64, 1, 1},
                     {.stride = {2, 2}},
                     dtype});
    add_conv(
        cases,
        {"64 to 64, 14x14, 5x5", {64, 64, 14, 14}, {64, 64, 5, 5}, {.padding = {2, 2}}, dtype});
  }
  add_matmul(cases, 512, 512, 512);
  add_matmul(cases, 1024, 1024, 1024);
  add_matmul(cases, 2048, 1536, 384);
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    add_layer_matmul(cases, {2048, 1152, 384, {.transpose_b = true}, "x weight^T"}, dtype);
    add_layer_matmul(cases, {2048, 384, 1536, {.transpose_b = true}, "x weight^T"}, dtype);
    add_layer_matmul(cases, {2048, 384, 1152, {}, "dy weight"}, dtype);
    add_layer_matmul(cases, {1536, 384, 2048, {.transpose_a = true}, "dy^T x"}, dtype);
  }
  // A step of an LSTM, and a few texts of a transformer.
  add_layer_matmul(cases, {32, 1024, 256, {.transpose_b = true}, "x weight^T"});
  add_layer_matmul(cases, {16, 1536, 384, {.transpose_b = true}, "x weight^T"});
  add_attention(cases, {8, 256, 6, 64});
  add_attention(cases, {2, 1024, 6, 64});
  for (const std::int64_t width : {64, 128}) {
    for (const std::int64_t tokens : {1024, 2048}) add_attention(cases, {1, tokens, 1, width});
  }
  add_attention(cases, {8, 256, 6, 64, DType::kBF16});
  add_attention(cases, {2, 1024, 6, 64, DType::kBF16});
  return cases;
}

}  // namespace weft::bench
