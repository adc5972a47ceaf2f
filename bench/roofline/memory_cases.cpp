// Kernels that wait for memory. Their arrays fit into no cache; shapes are those of transformers
// and of residual networks.
#include <cstdint>
#include <memory>
#include <utility>

#include "cases.h"
#include "weft/base/rng.h"
#include "weft/kernel/attention/rotary.h"
#include "weft/kernel/conv/residual.h"
#include "weft/kernel/core/onednn.h"
#include "weft/kernel/elementwise/convert.h"
#include "weft/kernel/elementwise/elementwise.h"
#include "weft/kernel/index/gather.h"
#include "weft/kernel/norm/norm.h"
#include "weft/kernel/optimizer/optimizer_steps.h"
#include "weft/kernel/pool/pool.h"
#include "weft/kernel/random/dropout.h"
#include "weft/kernel/reduce/cross_entropy.h"
#include "weft/kernel/reduce/reduce.h"
#include "weft/kernel/reduce/softmax.h"

namespace weft::bench {
namespace {

using Run = std::function<void()>;

struct Recipe {
  const char* name;
  double bytes;
  std::function<Run()> make;  // allocates what the kernel reads
};

constexpr std::int64_t kTokens = 16'384;
constexpr std::int64_t kWidth = 768;
constexpr std::int64_t kValues = kTokens * kWidth;
constexpr std::int64_t kClasses = 1'024;
constexpr double kTensor = 4.0 * kValues;
constexpr double kLogits = 4.0 * kTokens * kClasses;

Array tokens() { return random_array({kTokens, kWidth}); }

Run unary_run(UnaryOp op) {
  return [op, x = tokens()] { unary(op, x); };
}

Run binary_run(BinaryOp op) {
  return [op, a = tokens(), b = tokens()] { binary(op, a, b); };
}

void add_elementwise(std::vector<Recipe>& recipes) {
  const auto one = [&](const char* name, UnaryOp op) {
    recipes.push_back({name, 2 * kTensor, [op] { return unary_run(op); }});
  };
  const auto two = [&](const char* name, BinaryOp op) {
    recipes.push_back({name, 3 * kTensor, [op] { return binary_run(op); }});
  };
  two("elementwise add", BinaryOp::kAdd);
  two("elementwise relu gradient", BinaryOp::kReluGradient);
  one("elementwise exp", UnaryOp::kExp);
  one("elementwise tanh", UnaryOp::kTanh);
  one("elementwise sigmoid", UnaryOp::kSigmoid);
  one("elementwise gelu", UnaryOp::kGelu);
  two("elementwise gelu gradient", BinaryOp::kGeluGradient);
  one("elementwise gelu by tanh", UnaryOp::kGeluTanh);
  two("elementwise gelu by tanh gradient", BinaryOp::kGeluTanhGradient);
  one("elementwise silu", UnaryOp::kSilu);
  two("elementwise silu gradient", BinaryOp::kSiluGradient);
  recipes.push_back({"elementwise f32 to bf16", 1.5 * kTensor,
                     [] { return [x = tokens()] { convert(x, DType::kBF16); }; }});
  recipes.push_back({"elementwise bf16 to f32", 1.5 * kTensor,
                     [] { return [x = tokens().to(DType::kBF16)] { convert(x, DType::kF32); }; }});
  recipes.push_back({"elementwise dropout", 2 * kTensor, [] {
                       Array words = Array::zeros({3}, DType::kI64);
                       return [x = tokens(), stream = dropout_stream(words, 1)] {
                         dropout_rows(x, stream, 0.1);
                       };
                     }});
  recipes.push_back(
      {"elementwise rotary turn", 2 * kTensor, [] {
         return [x = random_array({kTokens / 256, 256, kWidth / 64, 64})] { rotary_turn(x, {}); };
       }});
}

Run row_norm_run(bool centered, bool gradient) {
  const Array x = tokens();
  const Array weight = random_array({kWidth});
  const Array bias = centered ? random_array({kWidth}) : Array();
  const RowNormOptions options{.length = kWidth, .centered = centered};
  if (!gradient) return [=] { norm_rows(x, weight, bias, options); };
  const NormedRows forward = norm_rows(x, weight, bias, options);
  return [=, dy = tokens()] {
    norm_rows_gradient(dy, x, weight, forward, options, {.bias = centered});
  };
}

Run softmax_run(bool logarithm) {
  return [logarithm, x = random_array({kTokens, kClasses})] {
    logarithm ? log_softmax_rows(x) : softmax_rows(x);
  };
}

Run softmax_gradient_run(bool logarithm) {
  const Array x = random_array({kTokens, kClasses});
  const Array y = logarithm ? log_softmax_rows(x) : softmax_rows(x);
  return [logarithm, y, dy = random_array({kTokens, kClasses})] {
    logarithm ? log_softmax_rows_gradient(y, dy) : softmax_rows_gradient(y, dy);
  };
}

Array random_positions(std::int64_t count, std::uint64_t end) {
  Rng rng(2);
  Array positions = Array::empty({count}, DType::kI64);
  for (std::int64_t& position : positions.flat<std::int64_t>()) {
    position = static_cast<std::int64_t>(rng.next_u64() % end);
  }
  return positions;
}

Run cross_entropy_run(bool gradient) {
  const Array logits = random_array({kTokens, kClasses});
  const Array targets = random_positions(kTokens, kClasses);
  if (!gradient) return [=] { cross_entropy_rows(logits, targets, Array(), {}); };
  const CrossEntropyRows forward = cross_entropy_rows(logits, targets, Array(), {});
  const CrossEntropyScale scale{Array::full({}, 1.0), Array(), 1.0 / kTokens};
  return [=] { cross_entropy_gradient(forward.probabilities, targets, Array(), {}, scale); };
}

void add_rows(std::vector<Recipe>& recipes) {
  recipes.push_back({"rows layer norm", 2 * kTensor, [] { return row_norm_run(true, false); }});
  recipes.push_back(
      {"rows layer norm gradient", 3 * kTensor, [] { return row_norm_run(true, true); }});
  recipes.push_back({"rows rms norm", 2 * kTensor, [] { return row_norm_run(false, false); }});
  recipes.push_back(
      {"rows rms norm gradient", 3 * kTensor, [] { return row_norm_run(false, true); }});
  recipes.push_back({"rows softmax", 2 * kLogits, [] { return softmax_run(false); }});
  recipes.push_back(
      {"rows softmax gradient", 3 * kLogits, [] { return softmax_gradient_run(false); }});
  recipes.push_back({"rows log-softmax", 2 * kLogits, [] { return softmax_run(true); }});
  recipes.push_back(
      {"rows log-softmax gradient", 3 * kLogits, [] { return softmax_gradient_run(true); }});
  recipes.push_back({"rows cross-entropy", 2 * kLogits, [] { return cross_entropy_run(false); }});
  recipes.push_back(
      {"rows cross-entropy gradient", 2 * kLogits, [] { return cross_entropy_run(true); }});
  recipes.push_back({"rows sums", kTensor,
                     [] { return [x = tokens()] { reduce(ReduceOp::kSum, x, 0b10U, false); }; }});
  recipes.push_back({"rows sums of columns", kTensor,
                     [] { return [x = tokens()] { reduce(ReduceOp::kSum, x, 0b01U, false); }; }});
  recipes.push_back({"rows embedding", 2 * kTensor, [] {
                       return [table = random_array({32'768, kWidth}),
                               index = random_positions(kTokens, 32'768)] {
                         select_rows("embedding", table, 0, index);
                       };
                     }});
  // Reads the gradient and the rows that it is added to, and writes these.
  recipes.push_back({"rows embedding gradient", 3 * kTensor, [] {
                       return [table = random_array({32'768, kWidth}), dy = tokens(),
                               index = random_positions(kTokens, 32'768)]() mutable {
                         add_rows_into("embedding", table, index, dy);
                       };
                     }});
}

constexpr std::int64_t kPixels = 64LL * 64 * 56 * 56;
constexpr double kImages = 4.0 * kPixels;

Array images() { return in_blocks_of_8(random_array({64, 64, 56, 56})); }

Run batch_norm_run(bool gradient) {
  const Array x = images();
  const Array weight = random_array({64});
  const Array bias = random_array({64});
  const BatchNormSpec spec{.relu = true};
  if (!gradient) return [=] { batch_norm_forward(x, weight, bias, spec, Array(), Array()); };
  const BatchNormed forward = batch_norm_forward(x, weight, bias, spec, Array(), Array());
  return [=, dy = images()] { batch_norm_backward(dy, x, weight, bias, forward, spec); };
}

Run max_pool_run(bool gradient) {
  const Array x = images();
  if (!gradient) return [=] { max_pool2d_forward(x, {}, true); };
  const MaxPoolOutput forward = max_pool2d_forward(x, {}, true);
  const Array dy = in_blocks_of_8(random_array(forward.y.shape()));
  return [=] { max_pool2d_backward(dy, forward, x.shape(), {}); };
}

void add_images(std::vector<Recipe>& recipes) {
  recipes.push_back(
      {"images batch norm and ReLU", 2 * kImages, [] { return batch_norm_run(false); }});
  recipes.push_back(
      {"images batch norm and ReLU gradient", 3 * kImages, [] { return batch_norm_run(true); }});
  // A winner is one byte beside four values of one window.
  recipes.push_back(
      {"images max-pooling 2x2", (1.25 + 0.0625) * kImages, [] { return max_pool_run(false); }});
  recipes.push_back({"images max-pooling 2x2 gradient", (1.25 + 0.0625) * kImages,
                     [] { return max_pool_run(true); }});
  recipes.push_back({"images residual sum and ReLU", 3 * kImages,
                     [] { return [a = images(), b = images()] { add_in_order(a, b, true); }; }});
}

constexpr std::int64_t kParameters = 16 * 1'024 * 1'024;
constexpr double kModel = 4.0 * kParameters;

Array parameters() { return random_array({kParameters}); }
Array state() { return Array::zeros({kParameters}); }

void add_optimizers(std::vector<Recipe>& recipes) {
  recipes.push_back({"optimizer SGD", 3 * kModel, [] {
                       return [g = parameters(), p = parameters()] { sgd_step({}, g, {}, p); };
                     }});
  recipes.push_back({"optimizer SGD with momentum", 5 * kModel, [] {
                       return [g = parameters(), m = state(), p = parameters()] {
                         sgd_step({.momentum = 0.9}, g, m, p);
                       };
                     }});
  recipes.push_back({"optimizer AdamW", 7 * kModel, [] {
                       const AdamConstants constants{
                           .weight_decay = 0.01, .decoupled_weight_decay = true, .step = 10};
                       return [=, g = parameters(), m = state(), v = state(), p = parameters()] {
                         adam_step(constants, g, {m, v}, p);
                       };
                     }});
  recipes.push_back({"optimizer Adagrad", 5 * kModel, [] {
                       return [g = parameters(), s = state(), p = parameters()] {
                         adagrad_step({}, g, s, p);
                       };
                     }});
  recipes.push_back({"optimizer RMSprop", 5 * kModel, [] {
                       return [g = parameters(), s = state(), p = parameters()] {
                         rms_prop_step({}, g, {s}, p);
                       };
                     }});
  recipes.push_back({"optimizer Adadelta", 7 * kModel, [] {
                       return [g = parameters(), s = state(), d = state(), p = parameters()] {
                         adadelta_step({}, g, {s, d}, p);
                       };
                     }});
  recipes.push_back({"optimizer Lion", 5 * kModel, [] {
                       return [g = parameters(), m = state(), p = parameters()] {
                         lion_step({}, g, m, p);
                       };
                     }});
  // A factored step reads the gradients four times: for the moments of rows and of columns, for
  // the size of the update, and for the update.
  recipes.push_back({"optimizer Adafactor", 6 * kModel, [] {
                       return [g = parameters(), rows = Array::zeros({4'096}),
                               columns = Array::zeros({4'096}), p = parameters()] {
                         adafactor_step({}, 0, {4'096, 4'096}, g, {rows, columns}, p);
                       };
                     }});
}

}  // namespace

void for_each_memory_case(const std::string& name_part,
                          const std::function<void(const MemoryCase&)>& visit) {
  std::vector<Recipe> recipes;
  add_elementwise(recipes);
  add_rows(recipes);
  add_images(recipes);
  add_optimizers(recipes);
  for (const Recipe& recipe : recipes) {
    if (std::string(recipe.name).find(name_part) == std::string::npos) continue;
    visit({recipe.name, recipe.bytes, recipe.make()});
  }
}

}  // namespace weft::bench
