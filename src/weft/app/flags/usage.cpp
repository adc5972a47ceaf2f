#include "weft/app/flags/usage.h"

#include <algorithm>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "weft/base/nearest_name.h"
#include "weft/train/recipe/recipe_aliases.h"

namespace weft {
namespace {

struct Footer {
  const char* command;
  const char* text;
};

constexpr const char* kSettings =
    "Settings: flags override the environment (WEFT_RUN_STEPS for run.steps), which overrides the "
    "recipe. `weft recipe` lists every key.";

constexpr Footer kFooters[] = {
    {"run",
     "  weft run recipes/fashion_mnist_cnn.toml\n"
     "  weft run recipes/synthetic_mlp.toml --peers 4 --set optimizer.learning_rate=0.002\n"
     "  weft run recipes/synthetic_mlp.toml --out first --resume"},
    {"join",
     "  weft join weft2-...             the ticket that `weft run` printed\n  weft join "
     "k7q2m4-xd9fhj-2wpz8y  its short code, on the same network\n  weft join                       "
     "choose among the runs on this network"},
    {"doctor",
     "  weft doctor\n"
     "  weft doctor weft2-...   also tries the members that the ticket names\n"
     "  weft doctor --run weft-runs/synthetic_mlp  the member or link that a run waits for"},
    {"demo", "  weft demo --peers 5 --set run.steps=300"},
    {"sim",
     "  weft sim recipes/synthetic_mlp.toml --peers 8 --mbit 20,100 --ms 5..60\n"
     "  weft sim recipes/fashion_mnist_diloco.toml --rounds 10 --crash 2@5 --join 8"},
    {"compare",
     "  weft compare recipes/synthetic_mlp.toml --vary group.wire=f32,bf16,int8 --rounds 50\n"
     "  weft compare recipes/cifar10_resnet9.toml recipes/cifar10_resnet18.toml\n"
     "  weft compare --variant \"one per cent: r.toml group.wire=topk:ratio=0.01\" r.toml"},
    {"status", "  weft status weft-runs/synthetic_mlp"},
    {"ticket",
     "  weft ticket weft-runs/synthetic_mlp --valid-h 2\n"
     "  weft ticket weft-runs/synthetic_mlp --code  also a short code for this network"},
    {"revoke",
     "  weft revoke weft-runs/synthetic_mlp weft2-...\n"
     "  weft revoke weft-runs/synthetic_mlp all"},
    {"expel", "  weft expel weft-runs/synthetic_mlp i5uaix3b --reason \"wrong data\""},
    {"id", "  weft id weft-runs/synthetic_mlp"},
    {"eval", "  weft eval weft-runs/synthetic_mlp/checkpoints/checkpoint-100.safetensors"},
    {"serve",
     "  weft serve weft-runs/synthetic_mlp/checkpoints/checkpoint-100.safetensors\n"
     "  curl http://127.0.0.1:8080/v1/models"},
    {"predict",
     "  weft predict weft-runs/synthetic_mlp/checkpoints/checkpoint-100.safetensors digits.npy\n"
     "  weft predict weft-runs/char_gpt/checkpoints/checkpoint-500.safetensors \"Once upon\""},
    {"export",
     "  weft export weft-runs/synthetic_mlp/checkpoints/checkpoint-100.safetensors --onnx m.onnx"},
    {"bench", "  weft bench train --model cnn"},
    {"bench train",
     "  weft bench train --model resnet9 --threads 2\n"
     "  weft bench train --model resnet9 --profile --trace steps.json\n"
     "  weft bench train --model gpt6x384 --precision bf16 --json"},
    {"bench forward",
     "  weft bench forward --model resnet9 --batch 1 --threads 2\n"
     "  weft bench forward --model gpt6x384 --batch 16 --cached\n"
     "  weft bench forward --model gpt6x384 --batch 1 --cached --weights int8"},
    {"bench allreduce", "  weft bench allreduce --peers 4 --bytes 64000000 --transport shm"},
    {"new",
     "  weft new examples/data/shapes\n"
     "  weft new examples/data/flats.csv --target rent"},
    {"data look", "  weft data look examples/data/flats.csv"},
    {"data",
     "  weft data list\n"
     "  weft data look examples/data/shapes\n"
     "  weft data check fashion-mnist"},
    {"data list", "  weft data list"},
    {"data get", "  weft data get cifar10"},
    {"data check", "  weft data check fashion-mnist"},
    {"methods",
     "  weft methods\n"
     "  weft methods group.wire\n"
     "  weft methods code\n"
     "  weft methods topk --json"},
    {"recipe", "  weft recipe | grep optimizer"},
    {"events", "  weft events"},
    {"version", "  weft version"},
    {"help", "  weft help run"},
};

// The flags of `app`, and of what it is below, as they are typed: "--steps".
std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> flags;
  for (const CLI::App* at = &app; at != nullptr; at = at->get_parent()) {
    for (const CLI::Option* option : at->get_options()) {
      for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
    }
  }
  return flags;
}

// What `flag` probably meant: a flag of the command, or a key of the recipe where it takes --set.
std::string flag_meant(const std::string& flag, const std::vector<std::string>& flags) {
  const bool takes_keys = std::find(flags.begin(), flags.end(), "--set") != flags.end();
  if (const auto alias = recipe_alias(flag.substr(2)); alias && takes_keys) {
    const std::string note = alias->note.empty() ? "" : fmt::format(" ({})", alias->note);
    return fmt::format("; did you mean --set {}=...?{}", alias->key, note);
  }
  return did_you_mean(flag, flags);
}

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> commands;
  for (const CLI::App* command : app.get_subcommands({})) commands.push_back(command->get_name());
  return commands;
}

}  // namespace

std::string short_help() {
  return "Weft trains one model on several computers at once, without a server.\n"
         "\n"
         "  weft demo                             four local peers; one dies, one joins\n"
         "  weft run recipes/synthetic_mlp.toml   trains in seconds, without any file\n"
         "\n"
         "`weft help` lists all commands, `weft help run` explains one.\n";
}

std::string main_footer() {
  return fmt::format(
      "Examples:\n  weft demo                                four peers: one dies, one joins\n  "
      "weft run recipes/fashion_mnist_cnn.toml  trains; prints the ticket for others\n  weft join "
      "weft2-...                      on this or another machine\n  weft help "
      "run                            flags and examples of one command\n\n{}\n\nExit codes: 0 "
      "done; 1 failed; 2 wrong flag, recipe or ticket; 3 data, disk, address or group not "
      "available; 4 damaged file or differing state; 5 quorum lost; 6 the run was over before this "
      "peer had its state; 7 the loss became not a number; 130 interrupted (Ctrl-C once: the peer "
      "finishes its round and leaves; twice: at once). What to do about each: "
      "docs/errors.md#exit-code-N.",
      kSettings);
}

std::string command_footer(const std::string& words) {
  for (const Footer& footer : kFooters) {
    if (footer.command != words) continue;
    const std::string examples = fmt::format("Examples:\n{}", footer.text);
    return words == "run" ? fmt::format("{}\n\n{}", examples, kSettings) : examples;
  }
  return "";
}

std::string misspelt(const CLI::App& app, std::span<const std::string> arguments) {
  const CLI::App* at = &app;
  for (const std::string& argument : arguments) {
    if (argument.starts_with("--")) {
      const std::string flag = argument.substr(0, argument.find('='));
      const std::vector<std::string> flags = flags_of(*at);
      if (std::find(flags.begin(), flags.end(), flag) != flags.end()) continue;
      return fmt::format("unknown flag {}{}", flag, flag_meant(flag, flags));
    }
    const std::vector<std::string> commands = commands_of(*at);
    if (argument.starts_with("-") || commands.empty()) continue;
    if (std::find(commands.begin(), commands.end(), argument) == commands.end()) {
      return fmt::format("unknown command \"{}\"{}", argument, did_you_mean(argument, commands));
    }
    at = at->get_subcommand(argument);
  }
  return "";
}

}  // namespace weft
