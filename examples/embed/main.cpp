// Weft inside another program: learns to tell the arms of a spiral apart, writes a checkpoint,
// reads it into a second model and asks that one.
//
// Build with CMakeLists.txt or Makefile beside this; exit code 1 if it went wrong.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include <weft/weft.h>

namespace {

using weft::Array;
using weft::Tensor;

constexpr std::int64_t kArms = 3;
constexpr std::int64_t kPoints = 300;
constexpr double kPi = 3.14159265358979323846;

// A Result's value; ends the program with its message if there is none.
template <class T>
T need(weft::Result<T> result) {
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", result.status().to_string().c_str());
    std::exit(1);
  }
  return std::move(*result);
}

// points [kPoints, 2], and the arm of each.
struct Spiral {
  Array points = Array::empty({kPoints, 2});
  Array arms = Array::empty({kPoints}, weft::DType::kI64);

  explicit Spiral(std::uint64_t seed) {
    weft::Rng rng(seed);
    for (std::int64_t i = 0; i < kPoints; ++i) {
      const std::int64_t arm = i % kArms;
      const double radius = 0.1 + rng.uniform();
      const double angle =
          4 * radius + static_cast<double>(arm) * 2 * kPi / kArms + 0.1 * rng.normal();
      points.data<float>()[2 * i] = static_cast<float>(radius * std::cos(angle));
      points.data<float>()[2 * i + 1] = static_cast<float>(radius * std::sin(angle));
      arms.data<std::int64_t>()[i] = arm;
    }
  }
};

// A model and the one buffer that its parameters lie in.
struct Network {
  weft::Sequential layers;
  std::unique_ptr<weft::ParameterArena> arena;

  explicit Network(std::uint64_t seed) {
    layers.add<weft::Linear>("fc1", 2, 48);
    layers.add<weft::Tanh>("tanh");
    layers.add<weft::Linear>("fc2", 48, kArms);
    layers.initialize(seed);
    arena = std::make_unique<weft::ParameterArena>(layers.layout());
    layers.bind(*arena);
  }

  double accuracy(const Spiral& spiral) {
    const weft::NoGrad no_grad;
    const Tensor best = weft::argmax(layers.forward(Tensor(spiral.points)), 1);
    return weft::mean(weft::cast(weft::eq(best, Tensor(spiral.arms)), weft::DType::kF32)).item();
  }
};

void train(Network& network, const Spiral& spiral) {
  const auto optimizer =
      need(weft::make_optimizer({.name = "adam", .learning_rate = 0.03}, *network.arena));
  for (int step = 0; step < 300; ++step) {
    network.arena->zero_gradients();
    const Tensor loss =
        weft::cross_entropy(network.layers.forward(Tensor(spiral.points)), spiral.arms);
    weft::backward(loss);
    optimizer->step();
    if ((step + 1) % 100 == 0) std::printf("step %d: loss %.4f\n", step + 1, loss.item());
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string path = argc > 1 ? argv[1] : "spiral.safetensors";
  const Spiral training(1);
  const Spiral test(2);
  Network network(1);
  train(network, training);

  const weft::Status saved = weft::save_checkpoint(path, *network.arena, {});
  if (!saved.ok()) {
    std::fprintf(stderr, "%s\n", saved.to_string().c_str());
    return 1;
  }
  Network second(2);
  const weft::Bytes bytes = need(weft::read_checkpoint(path));
  need(weft::load_state(bytes, *second.arena, weft::LoadState::kParameters));
  const double right = second.accuracy(test);
  std::printf("test accuracy %.3f, read back from %s\n", right, path.c_str());
  return right > 0.9 && right == network.accuracy(test) ? 0 : 1;
}
