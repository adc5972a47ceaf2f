// The learning side of what a swarm agrees on: optimizers, clipping, schedules, random numbers and
// initial values.
#include <functional>
#include <memory>

#include "agreed.h"
#include "weft/nn/init.h"
#include "weft/optim/clip.h"
#include "weft/optim/optimizer.h"
#include "weft/optim/schedule.h"
#include "weft/swarm/state_hash.h"

namespace weft::same_bits {
namespace {

struct Setting {
  const char* name;
  OptimizerOptions options;
};

// Each optimizer gets each of them: what it does not know, it leaves alone.
std::vector<Setting> settings() {
  std::vector<Setting> all = {
      {"plain", {}},
      {"decay", {.weight_decay = 0.1}},
      {"momentum", {.momentum = 0.9}},
      {"nesterov", {.weight_decay = 0.01, .momentum = 0.9, .nesterov = true}},
      {"dampening", {.momentum = 0.9, .dampening = 0.3}},
      {"amsgrad", {.beta1 = 0.8, .beta2 = 0.95, .amsgrad = true}},
      {"centered", {.momentum = 0.9, .centered = true}},
      {"absolute", {.relative_step = false, .scale_parameter = false}},
  };
  OptimizerOptions grouped = {.weight_decay = 0.1, .decay_biases_and_norms = false};
  grouped.groups = *parse_parameter_groups("vector1? rate=0.3 decay=0.02; vector8 frozen");
  all.push_back({"groups", grouped});
  return all;
}

std::unique_ptr<Optimizer> make(const OptimizerDef& def, OptimizerOptions options,
                                ParameterArena& arena) {
  options.name = def.name;
  return make_optimizer(options, arena).value();
}

Layout awkward_layout() {
  Layout layout;
  for (const std::size_t length : kLengths) {
    layout.add("vector" + std::to_string(length), {static_cast<std::int64_t>(length)},
               length == 17 ? ParameterKind::kBias : ParameterKind::kWeight);
  }
  layout.add("wide", {7, 33});
  layout.add("tall", {65, 9});
  layout.add("kernel", {5, 3, 3, 3});
  layout.add("head", {10, 17});
  return layout;
}

// Parameters, and all that the optimizer keeps beside them, by the hash that members compare.
void add_state(const ParameterArena& arena, const Optimizer& optimizer, Bits& bits) {
  const std::vector<std::string> states = arena.state_names();
  bits.add(arena.parameters());
  for (const std::string& name : states) bits.add(arena.state(name).to_vector<float>());
  if (std::none_of(arena.parameters().begin(), arena.parameters().end(),
                   [](float value) { return value != value; })) {
    const Hash128 total = hash_state(arena, optimizer, states).total;
    bits.add(std::span<const std::uint8_t>(total));
  }
}

// Parameters of each magnitude with gradients of each, for some steps.
void add_steps(const OptimizerDef& def, const OptimizerOptions& options, Bits& bits) {
  Rng rng(1);
  for (const Magnitudes& of_parameters : kAllMagnitudes) {
    for (const Magnitudes& of_gradients : kAllMagnitudes) {
      ParameterArena arena(awkward_layout());
      const auto optimizer = make(def, options, arena);
      for (int i = 0; i < arena.size(); ++i) {
        fill(arena.parameter(i).flat<float>(), of_parameters, rng);
      }
      for (int step = 0; step < 4; ++step) {
        for (int i = 0; i < arena.size(); ++i) {
          fill(arena.gradient(i).flat<float>(), of_gradients, rng);
        }
        clip_by_global_norm(arena.gradients(), 3.0);
        optimizer->step();
      }
      add_state(arena, *optimizer, bits);
    }
  }
}

// What depends on the number of steps, such as corrections by powers of the betas.
void add_many_steps(const OptimizerDef& def, const OptimizerOptions& options, Bits& bits) {
  Layout layout;
  layout.add("matrix", {4, 5});
  layout.add("vector15", {3});
  layout.add("vector8", {2});
  layout.add("head", {2, 4});
  ParameterArena arena(layout);
  const auto optimizer = make(def, options, arena);
  Rng rng(2);
  for (int i = 0; i < arena.size(); ++i) fill(arena.parameter(i).flat<float>(), kNormal, rng);
  for (int step = 0; step < 2000; ++step) {
    for (int i = 0; i < arena.size(); ++i) fill(arena.gradient(i).flat<float>(), kNormal, rng);
    optimizer->step();
    bits.add(arena.parameters());
  }
  add_state(arena, *optimizer, bits);
}

}  // namespace

void add_optimizers(Lines& lines) {
  for (const OptimizerDef* def : optimizer_table()) {
    for (const Setting& setting : settings()) {
      const std::string name = std::string("optimizer/") + def->name + "/" + setting.name;
      Bits bits;
      add_steps(*def, setting.options, bits);
      lines.emplace_back(name, bits.hash());
      Bits many;
      add_many_steps(*def, setting.options, many);
      lines.emplace_back(name + "/many_steps", many.hash());
    }
  }
}

void add_clipping(Lines& lines) {
  for (const Magnitudes& magnitudes : kAllMagnitudes) {
    Bits bits;
    Rng rng(3);
    for (const std::size_t length : kLengths) {
      std::vector<float> values = random_values(length, magnitudes, rng);
      bits.add(clip_by_global_norm(values, 0.37)).add(values);
      values = random_values(length, magnitudes, rng);
      clip_by_value(values, 0.37);
      bits.add(values);
    }
    lines.emplace_back(std::string("clip/") + magnitudes.name, bits.hash());
  }
}

void add_schedules(Lines& lines) {
  for (const std::string& name : schedule_names()) {
    Bits bits;
    const ScheduleOptions options = {.name = name,
                                     .total_steps = 10'000,
                                     .warmup_steps = 100,
                                     .final_fraction = 0.07,
                                     .drop_every_steps = 300,
                                     .drop_factor = 0.93,
                                     .milestones = {500, 1200, 9000},
                                     .power = 1.7,
                                     .cycle_steps = 900,
                                     .cycle_growth = 2};
    for (std::int64_t step = 0; step < 11'000; ++step) bits.add(schedule_factor(options, step));
    lines.emplace_back("schedule/" + name, bits.hash());
  }
}

void add_random_numbers(Lines& lines) {
  Rng rng(4, 5);
  Bits uniform;
  Bits normal;
  for (int i = 0; i < 20'000; ++i) {
    uniform.add(rng.uniform()).add(static_cast<double>(rng.below(1'000'003)));
    normal.add(rng.normal());
  }
  lines.emplace_back("random/uniform", uniform.hash());
  lines.emplace_back("random/normal", normal.hash());
}

void add_initial_values(Lines& lines) {
  const std::pair<const char*, Initializer> all[] = {
      {"default_weight", default_weight_initializer()},
      {"default_bias", default_bias_initializer({16, 9})},
      {"uniform", uniform_initializer({-0.3, 0.7})},
      {"normal", normal_initializer(0.3)},
      {"truncated_normal", truncated_normal_initializer({})},
      {"kaiming_uniform", kaiming_uniform_initializer()},
      {"kaiming_normal", kaiming_normal_initializer()},
      {"xavier_uniform", xavier_uniform_initializer()},
      {"xavier_normal", xavier_normal_initializer()},
      {"orthogonal", orthogonal_initializer()},
  };
  for (const auto& [name, initializer] : all) {
    Bits bits;
    Rng rng(6);
    for (const Shape& shape : {Shape{33, 17}, Shape{9, 70}, Shape{8, 3, 3, 3}, Shape{1, 1}}) {
      Array values = Array::zeros(shape);
      initializer(values, rng);
      bits.add(values.to_vector<float>());
    }
    lines.emplace_back(std::string("initial/") + name, bits.hash());
  }
}

}  // namespace weft::same_bits
