// Functions of op/*.h that no sample of the op table calls - arrays from nothing, random values,
// writes in place, searches - eager against captured, or refused by name. A function that is in
// neither fails the last test of this file.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "weft/autograd/backward.h"
#include "weft/base/rng.h"
#include "weft/graph/graph.h"
#include "weft/kernel/core/prepared_weights.h"
#include "weft/kernel/random/random.h"
#include "weft/op/core/op_def.h"
#include "weft/op/ops.h"

namespace weft::function_capture_test {
namespace {

// What a function may read and write.
struct World {
  Array x = Array::zeros({4, 6});  // in (0, 1)
  Array labels = Array::zeros({4}, DType::kI64);
  Array state = Array::zeros({4, 6});  // for what is written in place
  Generator generator = Generator(7);

  void draw(std::uint64_t seed) {
    Rng rng(seed, 0);
    for (float& value : x.flat<float>()) value = static_cast<float>(0.1 + 0.8 * rng.uniform());
    for (std::int64_t& label : labels.flat<std::int64_t>()) {
      label = static_cast<std::int64_t>(rng.below(4));
    }
  }
};

using Function = std::function<std::vector<Tensor>(World& world)>;
using Results = std::vector<Tensor>;

// A function of the state, which it writes.
Function in_place(const std::function<void(Tensor& state, const Tensor& x)>& write) {
  return [write](World& world) {
    Tensor state(world.state);
    write(state, Tensor(world.x));
    return Results{state * 2.0};
  };
}

// The value and the gradient with respect to x.
Function with_gradient(const std::function<Tensor(const Tensor& x)>& function) {
  return [function](World& world) {
    const Tensor x(world.x, true);
    const Tensor y = function(x);
    return Results{y, grad({sum(y * y)}, {x})[0]};
  };
}

std::map<std::string, Function> made_from_nothing() {
  return {
      {"full_like", [](World& w) { return Results{full_like(Tensor(w.x), 3.0) * Tensor(w.x)}; }},
      {"ones",
       [](World& w) {
         return Results{ones({4, 6}) * Tensor(w.x)};
       }},
      {"ones_like", [](World& w) { return Results{ones_like(Tensor(w.x)) * Tensor(w.x)}; }},
      {"zeros_like", [](World& w) { return Results{zeros_like(Tensor(w.x)) + Tensor(w.x)}; }},
      {"arange",
       [](World& w) {
         return Results{arange(0, 6) * Tensor(w.x), arange(5)};
       }},
      {"arange_whole", [](World&) { return Results{arange_whole(1, 9, 2)}; }},
      {"linspace", [](World& w) { return Results{linspace(0, 1, 6) * Tensor(w.x)}; }},
      {"eye", [](World& w) { return Results{matmul(Tensor(w.x), eye(6))}; }},
      {"one_hot", [](World& w) { return Results{one_hot(w.labels, 6)}; }},
      {"meshgrid",
       [](World& w) {
         const Tensor row = reshape(slice(Tensor(w.x), 0, 1, 2), {6});
         return meshgrid({row, row * 2.0});
       }},
  };
}

// Two filters of 2x2 over x as an image, and the arrays of a normalisation.
struct NormalizedConvolution {
  Array weight = Array::from<float>({1, -2, 3, -1, 2, 1, -1, 0.5F}, {2, 1, 2, 2});
  Array mean = Array::from<float>({0.5F, -0.25F}, {2});
  Array variance = Array::from<float>({0.75F, 2.0F}, {2});

  Tensor of(const Tensor& x) {
    const Tensor none;
    return conv2d_normalized(reshape(x, {1, 1, 4, 6}), Tensor(weight), none,
                             {.activation = Activation::kRelu}, {none, none, mean, variance, 1e-5});
  }
};

std::map<std::string, Function> layers() {
  return {{"conv2d_normalized",
           with_gradient([convolution = NormalizedConvolution()](const Tensor& x) mutable {
             return convolution.of(x);
           })}};
}

std::map<std::string, Function> random_values() {
  return {
      {"rand",
       [](World& w) {
         return Results{rand({4, 6}, w.generator) * Tensor(w.x)};
       }},
      {"randn",
       [](World& w) {
         return Results{randn({4, 6}, w.generator) * Tensor(w.x)};
       }},
      {"randint", [](World& w) { return Results{randint(0, 9, {33}, w.generator)}; }},
      {"randperm", [](World& w) { return Results{randperm(33, w.generator)}; }},
      {"bernoulli",
       [](World& w) {
         return Results{bernoulli({33}, 0.25, w.generator), bernoulli(Tensor(w.x), w.generator)};
       }},
      {"categorical", [](World& w) { return Results{categorical(Tensor(w.x), 5, w.generator)}; }},
  };
}

// What a pass could get wrong and no sample of the table would show.
std::map<std::string, Function> mixed_uses() {
  return {
      {"a result beside its own transpose",
       [](World& w) {
         const Tensor square = matmul(Tensor(w.x), transpose(Tensor(w.x), 0, 1));
         return Results{softmax(square + transpose(square, 0, 1), -1)};
       }},
      {"a write that nothing reads",
       [](World& w) {
         Tensor state(w.state);
         copy_(state, Tensor(w.x));
         return Results{Tensor(w.x) * 2.0};
       }},
      {"a constant that is written",
       [](World& w) {
         Tensor constant(Array::from(std::vector<float>(24, 1.0F), {4, 6}));
         add_(constant, Tensor(w.x));
         return Results{constant * 2.0};
       }},
  };
}

std::map<std::string, Function> captured_functions() {
  std::map<std::string, Function> all = {
      {"amax", with_gradient([](const Tensor& x) { return amax(x, {1}); })},
      {"amin", with_gradient([](const Tensor& x) { return amin(x, {1}); })},
      {"argsort", [](World& w) { return Results{argsort(Tensor(w.x))}; }},
      {"bmm", with_gradient([](const Tensor& x) {
         return bmm(reshape(x, {2, 3, 4}), reshape(x, {2, 4, 3}));
       })},
      {"rsqrt", with_gradient([](const Tensor& x) { return rsqrt(x); })},
      {"sign", with_gradient([](const Tensor& x) { return sign(x - 0.5) * x; })},
      {"median_of_all", with_gradient([](const Tensor& x) { return median_of_all(x); })},
      {"searchsorted",
       [](World& w) {
         const Ordered ordered = sort(Tensor(w.x), -1);
         const Tensor row = slice(flatten(ordered.values), 0, 0, 6);
         return Results{Tensor(searchsorted(row.array(), w.x))};
       }},
      {"adaptive_avg_pool1d", with_gradient([](const Tensor& x) {
         return adaptive_avg_pool1d(reshape(x, {2, 2, 6}), 4);
       })},
      {"adaptive_max_pool1d", with_gradient([](const Tensor& x) {
         return adaptive_max_pool1d(reshape(x, {2, 2, 6}), 4);
       })},
      {"global_avg_pool2d", with_gradient([](const Tensor& x) {
         return global_avg_pool2d(reshape(x, {2, 2, 2, 3}));
       })},
      {"global_max_pool2d", with_gradient([](const Tensor& x) {
         return global_max_pool2d(reshape(x, {2, 2, 2, 3}));
       })},
      {"soft_cross_entropy",
       with_gradient([](const Tensor& x) { return soft_cross_entropy(x, softmax(x * 2.0, -1)); })},
      {"add_", in_place([](Tensor& s, const Tensor& x) { add_(add_(s, x, 0.5), 1.0); })},
      {"sub_", in_place([](Tensor& s, const Tensor& x) { sub_(s, x); })},
      {"mul_", in_place([](Tensor& s, const Tensor& x) { mul_(mul_(add_(s, x), 0.5), x); })},
      {"div_",
       in_place([](Tensor& s, const Tensor& x) { div_(div_(add_(s, x), 0.5), square(x) + 1.0); })},
      {"copy_", in_place([](Tensor& s, const Tensor& x) { copy_(s, x * 2.0); })},
      {"fill_", in_place([](Tensor& s, const Tensor&) { fill_(s, 2.5); })},
      {"zero_", in_place([](Tensor& s, const Tensor&) { zero_(s); })},
      {"write_part_", in_place([](Tensor& s, const Tensor& x) {
         write_part_(s, s.array().slice(0, 1, 3), slice(x, 0, 0, 2));
       })},
  };
  all.merge(layers());
  all.merge(made_from_nothing());
  all.merge(random_values());
  all.merge(mixed_uses());
  return all;
}

// What says by name that it reads on the host.
std::map<std::string, Function> refused_functions() {
  return {
      {"bincount", [](World& w) { return Results{Tensor(bincount(w.labels))}; }},
      {"nonzero", [](World& w) { return Results{Tensor(nonzero(w.labels))}; }},
      {"unique", [](World& w) { return Results{Tensor(unique(w.labels).values)}; }},
      {"masked_select",
       [](World& w) { return Results{masked_select(Tensor(w.x), gt(Tensor(w.x), 0.5).array())}; }},
      {"to_dense",
       [](World& w) {
         const SparseEmbedding looked_up = sparse_embedding(w.x, w.labels);
         backward(sum(looked_up.output));
         return Results{Tensor(to_dense(sparse_rows(looked_up)))};
       }},
  };
}

std::vector<std::vector<std::uint8_t>> bytes_of(const Results& results) {
  std::vector<std::vector<std::uint8_t>> all;
  for (const Tensor& result : results) {
    const Array dense = result.array().strided().contiguous();
    all.emplace_back(dense.size_bytes());
    if (dense.size_bytes() > 0) {
      std::memcpy(all.back().data(), dense.raw_data(), dense.size_bytes());
    }
  }
  return all;
}

TEST(FunctionCapture, ReplaysGiveEagersBits) {
  for (const auto& each : captured_functions()) {
    SCOPED_TRACE(each.first);
    const auto& function = each.second;
    World eager;
    World captured;
    eager.draw(1);
    captured.draw(1);
    Results got;
    Graph graph = capture([&] { got = function(captured); });
    EXPECT_EQ(bytes_of(got), bytes_of(function(eager)));
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      eager.draw(seed);
      captured.draw(seed);
      graph.replay();
      EXPECT_EQ(bytes_of(got), bytes_of(function(eager))) << seed;
      EXPECT_EQ(captured.state.to_vector<float>(), eager.state.to_vector<float>()) << seed;
    }
  }
}

TEST(FunctionCapture, WhatReadsOnTheHostIsRefusedByName) {
  for (const auto& each : refused_functions()) {
    SCOPED_TRACE(each.first);
    const auto& function = each.second;
    World world;
    world.draw(1);
    EXPECT_NO_THROW(function(world));
    try {
      capture([&] { function(world); });
      ADD_FAILURE() << "can be captured after all";
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find("reads values on the host"), std::string::npos)
          << error.what();
    }
  }
}

TEST(FunctionCapture, AGraphReadsTheNormalisationOfAConvolutionAnew) {
  NormalizedConvolution convolution;
  World world;
  world.draw(1);
  PreparedWeights prepared(std::vector<Array>{convolution.weight});
  const PreparedWeights::Use use(&prepared);
  const NoGrad no_grad;
  Tensor y;
  Graph graph = capture([&] { y = convolution.of(Tensor(world.x)); });
  convolution.variance.fill(4.0);
  graph.replay();
  const PreparedWeights::Use nothing(nullptr);
  EXPECT_EQ(bytes_of({y}), bytes_of({convolution.of(Tensor(world.x))}));
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return std::regex_replace(text, std::regex("//[^\n]*"), "");
}

// What the sources of the table call: lines that begin with a type define a function instead.
std::set<std::string> called_in(const std::string& text) {
  std::set<std::string> names;
  const std::regex line("(^|\n)(?!(?:static )?[A-Z][A-Za-z]*&? \\w+\\()([^\n]*)");
  const std::regex word("\\b([a-z]\\w*)(?=[(,})])");
  for (std::sregex_iterator at(text.begin(), text.end(), line), end; at != end; ++at) {
    const std::string one = (*at)[2];
    for (std::sregex_iterator name(one.begin(), one.end(), word); name != end; ++name) {
      names.insert((*name)[1]);
    }
  }
  return names;
}

TEST(FunctionCapture, EveryFunctionIsInATable) {
  std::set<std::string> declared;
  std::set<std::string> covered;
  const std::regex declaration(
      "\n(?:inline )?(?:Tensor&?|Array|std::vector<Tensor>|[A-Z]\\w+) "
      "([a-z]\\w*)\\(");
  const std::filesystem::path folder = std::filesystem::path(WEFT_SOURCE_DIR) / "src/weft/op";
  for (const std::string header :
       {"activation", "arithmetic", "attention", "compare", "conv",   "create",
        "dropout",    "embedding",  "in_place",  "index",   "linalg", "linear",
        "loss",       "matmul",     "norm",      "pool",    "random", "recurrent",
        "reduce",     "shape",      "softmax",   "sort"}) {
    const std::string text = text_of(folder / (header + ".h"));
    EXPECT_GT(text.size(), 0U) << header;
    for (std::sregex_iterator at(text.begin(), text.end(), declaration), end; at != end; ++at) {
      declared.insert((*at)[1]);
    }
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string file = entry.path().filename().string();
    if (file.ends_with("_op.cpp") || file.find("sample") != std::string::npos) {
      covered.merge(called_in(text_of(entry.path())));
    }
  }
  for (const auto& [name, function] : captured_functions()) covered.insert(name);
  for (const auto& [name, function] : refused_functions()) covered.insert(name);
  // Their entries of the op table have these names.
  for (const OpDef* op : op_table()) covered.insert(op->name);
  covered.merge(std::set<std::string>{"sparse_embedding", "sparse_rows"});  // with to_dense
  EXPECT_GE(declared.size(), 150U);
  for (const std::string& name : declared) {
    EXPECT_TRUE(covered.contains(name)) << name << " is called by no sample and by no test here";
  }
}

}  // namespace
}  // namespace weft::function_capture_test
