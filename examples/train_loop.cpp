// A training loop: data, model, optimizer, schedule, evaluation. Needs no files.
//
// `weft run RECIPE` does all of this, and more, from a text; this is what it is made of.
// Prints a line an epoch; exit code 1 if the model has not learned.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "weft/autograd/backward.h"
#include "weft/data/batch_loader.h"
#include "weft/nn/zoo.h"
#include "weft/op/ops.h"
#include "weft/optim/clip.h"
#include "weft/optim/optimizer.h"
#include "weft/optim/schedule.h"

namespace {

using weft::Tensor;

// A Result's value; ends the program with its message if there is none.
template <class T>
T need(weft::Result<T> result) {
  if (!result.ok()) {
    std::printf("%s\n", result.status().to_string().c_str());
    std::exit(1);
  }
  return std::move(*result);
}

double accuracy(weft::Module& model, const weft::Dataset& test) {
  const weft::NoGrad no_grad;
  model.train(false);
  const weft::Batch batch =
      need(weft::make_batch(test, 0, test.size, {.normalization = {test.mean, test.deviation}}));
  const Tensor best = weft::argmax(model.forward(Tensor(batch.inputs)), 1);
  model.train(true);
  return weft::mean(weft::cast(weft::eq(best, Tensor(batch.labels)), weft::DType::kF32)).item();
}

}  // namespace

int main() {
  const weft::SyntheticOptions shape = {.seed = 7, .size = 2000, .height = 12, .width = 12};
  const auto train = std::make_shared<const weft::Dataset>(
      need(weft::make_synthetic_dataset(shape, weft::Split::kTrain)));
  const weft::Dataset test = need(weft::make_synthetic_dataset(shape, weft::Split::kTest));
  const auto loader = need(weft::BatchLoader::make(train, {.seed = 1, .batch_size = 50}));

  const auto model = need(weft::make_model("mlp", {.hidden_units = 32, .height = 12, .width = 12}));
  weft::ParameterArena arena(model->layout());
  model->bind(arena);  // all parameters in one buffer, all gradients in another
  const auto optimizer = need(
      weft::make_optimizer({.name = "adamw", .learning_rate = 0.003, .weight_decay = 0.01}, arena));

  const int epochs = 3;
  const std::int64_t steps = epochs * loader->steps_per_epoch();
  const weft::ScheduleOptions schedule = {
      .name = "cosine", .total_steps = steps, .warmup_steps = 10};
  double loss_sum = 0;
  double right = 0;
  for (std::int64_t step = 0; step < steps; ++step) {
    const weft::Batch batch = need(loader->get(step, {0, loader->batch_size()}));
    arena.zero_gradients();
    const Tensor loss = weft::cross_entropy(model->forward(Tensor(batch.inputs)), batch.labels);
    weft::backward(loss);
    weft::clip_by_global_norm(arena.gradients(), 1.0);
    optimizer->set_learning_rate(0.003 * weft::schedule_factor(schedule, step));
    optimizer->step();
    loss_sum += loss.item();
    if ((step + 1) % loader->steps_per_epoch() != 0) continue;
    right = accuracy(*model, test);
    std::printf("epoch %lld: loss %.4f, test accuracy %.4f\n",
                static_cast<long long>((step + 1) / loader->steps_per_epoch()),
                loss_sum / static_cast<double>(loader->steps_per_epoch()), right);
    loss_sum = 0;
  }
  return right > 0.9 ? 0 : 1;
}
