// Recurrent layers that read the rows of a table: as embedding() and the layer after it.
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "weft/autograd/backward.h"
#include "weft/base/parallel.h"
#include "weft/base/rng.h"
#include "weft/op/embedding.h"
#include "weft/op/recurrent.h"
#include "weft/op/reduce.h"

namespace weft::recurrent_tokens_test {
namespace {

constexpr std::int64_t kSteps = 9;
constexpr std::int64_t kRows = 7;
constexpr std::int64_t kInputs = 20;

Tensor values(const Shape& shape, std::uint64_t stream, DType dtype) {
  Array made = Array::empty(shape);
  Rng rng(11, stream);
  for (float& value : made.flat<float>()) value = static_cast<float>(0.2 * rng.normal());
  return Tensor(made.to(dtype));
}

struct Layer {
  Layer(std::int64_t gates, std::int64_t batch, std::int64_t width, DType dtype)
      : table(values({kRows, kInputs}, 1, dtype)),
        parameters{values({gates * width, kInputs}, 2, dtype),
                   values({gates * width, width}, 3, dtype), values({gates * width}, 4, dtype),
                   values({gates * width}, 5, dtype)},
        tokens(Array::empty({kSteps, batch}, DType::kI64)) {
    for (std::int64_t i = 0; i < tokens.size(); ++i) {
      tokens.data<std::int64_t>()[i] = (5 * i + i / 3) % kRows;
    }
  }

  Tensor table;
  RecurrentParameters parameters;
  Array tokens;
};

using LayerOp = Tensor (*)(const Tensor&, const RecurrentParameters&, const RecurrentState&,
                           const RecurrentOptions&);
Tensor tanh_layer(const Tensor& x, const RecurrentParameters& parameters,
                  const RecurrentState& first, const RecurrentOptions& options) {
  return rnn(x, parameters, first, options);
}
struct LayerKind {
  LayerOp op;
  std::int64_t gates;
};
constexpr LayerKind kKinds[] = {{lstm, 4}, {gru, 3}, {tanh_layer, 1}};

std::vector<double> read(const Tensor& y) { return y.array().to(DType::kF64).to_vector<double>(); }

// Batches whose threads share units, and rows; without gradients, where tokens are looked up in the
// layer, and with them.
TEST(RecurrentTokens, GiveTheBitsOfAnEmbedding) {
  for (const LayerKind& kind : kKinds) {
    for (const std::int64_t batch : {3, 13}) {
      for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16}) {
        Layer layer(kind.gates, batch, 192, dtype);
        RecurrentOptions options;
        options.with_state = true;
        for (const bool reverse : {false, true}) {
          options.reverse = reverse;
          options.lengths = Array();
          if (reverse) options.lengths = Array::full({batch}, 5.0, DType::kI64);
          const Tensor x = embedding(layer.table, layer.tokens);
          RecurrentOptions by_token = options;
          by_token.tokens = layer.tokens;
          const NoGrad no_grad;
          const std::vector<double> want = read(kind.op(x, layer.parameters, {}, options));
          for (const int threads : {1, 3}) {
            set_thread_count(threads);
            const Tensor got = kind.op(layer.table, layer.parameters, {}, by_token);
            set_thread_count(1);
            EXPECT_EQ(got.dtype(), dtype);
            EXPECT_EQ(read(got), want)
                << kind.gates << " gates, batch " << batch << ", " << threads << " threads";
          }
        }
      }
    }
  }
}

TEST(RecurrentTokens, HaveTheGradientsOfAnEmbedding) {
  Layer layer(4, 3, 24, DType::kF32);
  const auto gradient_of = [&](bool by_token) {
    const Tensor table(layer.table.array().clone(), true);
    RecurrentOptions options;
    if (by_token) options.tokens = layer.tokens;
    const Tensor y =
        lstm(by_token ? table : embedding(table, layer.tokens), layer.parameters, {}, options);
    backward(sum(y));
    return table.grad().to_vector<float>();
  };
  EXPECT_EQ(gradient_of(true), gradient_of(false));
}

// A single step of a text that grows reads fewer rows than there are.
TEST(RecurrentTokens, MayBeFewerThanTheRows) {
  Layer layer(4, 1, 32, DType::kF32);
  RecurrentOptions options;
  options.tokens = layer.tokens.slice(0, 0, 1);
  const NoGrad no_grad;
  EXPECT_EQ(read(lstm(layer.table, layer.parameters, {}, options)),
            read(lstm(embedding(layer.table, options.tokens), layer.parameters)));
}

std::string error_of(const Layer& layer, const Tensor& table, const Array& tokens) {
  RecurrentOptions options;
  options.tokens = tokens;
  const NoGrad no_grad;
  try {
    (void)lstm(table, layer.parameters, {}, options);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "none";
}

TEST(RecurrentTokens, RefuseWhatIsNoRow) {
  const Layer layer(4, 3, 24, DType::kF32);
  for (const std::int64_t token : {std::int64_t{-1}, kRows, std::int64_t{1} << 62}) {
    Array tokens = layer.tokens.clone();
    tokens.data<std::int64_t>()[tokens.size() - 1] = token;
    EXPECT_EQ(error_of(layer, layer.table, tokens),
              "[embedding] expected indexes in [0, 7), got " + std::to_string(token));
  }
  EXPECT_EQ(error_of(layer, layer.table, layer.tokens.reshape({-1})),
            "[lstm] expected tokens [T, N], got [27]");
  EXPECT_EQ(error_of(layer, layer.table, layer.tokens.to(DType::kF32)),
            "[lstm] expected i64 tokens, got f32");
  EXPECT_EQ(
      error_of(layer, embedding(layer.table, layer.tokens), layer.tokens),
      "[lstm] expected a table [rows, inputs] and a hidden weight of two axes, got [9, 3, 20] "
      "and [96, 24]");
}

}  // namespace
}  // namespace weft::recurrent_tokens_test
