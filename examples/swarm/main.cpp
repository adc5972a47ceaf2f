// A program of one's own that trains among peers: each learns from its part of the samples, and all
// hold the same model.
//
//   member                begins a group of two and prints the ticket for the other one
//   member weft2-...      joins it, on this machine or another
//
// Build with CMakeLists.txt or Makefile beside this; exit code 1 if it went wrong.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <span>
#include <string>

#include <weft/swarm.h>
#include <weft/weft.h>

namespace {

using weft::Array;
using weft::Tensor;

constexpr std::int64_t kSamples = 512;
constexpr std::int64_t kInputs = 8;
constexpr std::uint64_t kRounds = 200;

// inputs [kSamples, kInputs], and whether their squares sum to more than their mean does: 0 or 1.
struct Samples {
  Array inputs = Array::empty({kSamples, kInputs});
  Array labels = Array::empty(kSamples, weft::DType::kI64);

  Samples() {
    weft::Rng rng(3);
    for (std::int64_t i = 0; i < kSamples; ++i) {
      double length = 0;
      for (std::int64_t j = 0; j < kInputs; ++j) {
        const double value = rng.normal();
        length += value * value;
        inputs.data<float>()[i * kInputs + j] = static_cast<float>(value);
      }
      labels.data<std::int64_t>()[i] = length > kInputs ? 1 : 0;
    }
  }
};

int train(const std::string& ticket) {
  weft::Sequential model;
  model.add<weft::Linear>("fc1", kInputs, 32);
  model.add<weft::Tanh>("tanh");
  model.add<weft::Linear>("fc2", 32, 2);
  model.initialize(1);
  weft::ParameterArena arena(model.layout());
  model.bind(arena);
  const auto optimizer =
      weft::make_optimizer({.name = "adam", .learning_rate = 0.01}, arena).value();

  weft::SwarmTrainerOptions options;
  options.program = "sphere 1";
  options.group = {.rounds = kRounds, .start_members = 2};
  options.before_update = [](std::span<float> gradients) {
    weft::clip_by_global_norm(gradients, 1.0);
  };
  // value() throws what went wrong.
  const auto trainer = ticket.empty()
                           ? weft::SwarmTrainer::found(arena, *optimizer, options).value()
                           : weft::SwarmTrainer::join(ticket, arena, *optimizer, options).value();
  if (ticket.empty()) {
    std::printf("ticket %s\n", trainer->ticket().value().c_str());
    std::fflush(stdout);
  }

  const Samples samples;
  double loss = 0;
  while (trainer->next().value()) {
    const std::int64_t begin = kSamples * trainer->rank() / trainer->members();
    const std::int64_t end = kSamples * (trainer->rank() + 1) / trainer->members();
    const Tensor own =
        weft::cross_entropy(model.forward(Tensor(samples.inputs.slice(0, begin, end))),
                            samples.labels.slice(0, begin, end));
    weft::backward(own);
    const weft::SwarmStep step =
        trainer->step({.weight = static_cast<double>(end - begin), .loss = own.item()}).value();
    if (step.counted) loss = step.loss;
    if (trainer->rounds_done() % 50 == 0) {
      std::printf("round %llu: loss %.4f, %d members\n",
                  static_cast<unsigned long long>(trainer->rounds_done()), loss,
                  trainer->members());
    }
  }
  std::printf("state %s\n", trainer->state_hash().c_str());
  const weft::Status left = trainer->leave();
  if (!left.ok()) std::fprintf(stderr, "%s\n", left.to_string().c_str());
  return loss < 0.3 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return train(argc > 1 ? argv[1] : "");
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 1;
  }
}
