#include "weft/app/usage.h"

#include <algorithm>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "weft/base/nearest_name.h"

namespace weft {
namespace {

struct Footer {
  const char* command;
  const char* text;
};

constexpr const char* kSettings =
    "Settings: flags win over the environment (WEFT_RUN_STEPS for run.steps), which wins over the\n"
    "recipe. `weft recipe` lists every key.";

constexpr Footer kFooters[] = {
    {"run",
     "Try it:\n"
     "  weft run recipes/fashion_mnist_cnn.toml      trains, and prints the line for others\n"
     "  weft run recipes/synthetic_mlp.toml --peers 4 --set optimizer.learning_rate=0.002\n"},
    {"join",
     "Try it:\n"
     "  weft join weft1-...                          the line that `weft run` printed"},
    {"demo",
     "Try it:\n"
     "  weft demo --peers 5 --set run.steps=300"},
    {"eval",
     "Try it:\n"
     "  weft eval weft-runs/synthetic_mlp/checkpoints/checkpoint-100.safetensors"},
    {"serve",
     "Try it:\n"
     "  weft serve weft-runs/synthetic_mlp/checkpoints/checkpoint-100.safetensors\n"
     "  curl http://127.0.0.1:8080/v1/models"},
    {"predict",
     "Try it:\n"
     "  weft predict weft-runs/synthetic_mlp/checkpoints/checkpoint-100.safetensors digits.npy\n"
     "  weft predict weft-runs/char_gpt/checkpoints/checkpoint-500.safetensors \"Once upon\""},
    {"export",
     "Try it:\n"
     "  weft export weft-runs/synthetic_mlp/checkpoints/checkpoint-100.safetensors --onnx m.onnx"},
    {"bench train",
     "Try it:\n"
     "  weft bench train --model resnet9 --threads 2\n"
     "  weft bench train --model gpt6x384 --precision bf16 --json"},
    {"bench allreduce",
     "Try it:\n"
     "  weft bench allreduce --peers 4 --bytes 64000000 --transport shm"},
    {"data",
     "Try it:\n"
     "  weft data list\n"
     "  weft data check fashion-mnist"},
};

// The flags of `app` as they are typed: "--steps".
std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  }
  return flags;
}

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> commands;
  for (const CLI::App* command : app.get_subcommands({})) commands.push_back(command->get_name());
  return commands;
}

}  // namespace

std::string main_footer() {
  return fmt::format(
      "Try it:\n"
      "  weft demo                                    four peers, one killed, one joining\n"
      "  weft run recipes/fashion_mnist_cnn.toml      trains, and prints the line for others:\n"
      "  weft join TICKET                             on this or another machine\n"
      "  weft COMMAND --help                          flags and examples of one command\n"
      "\n"
      "{}\n"
      "\n"
      "Exit codes: 0 done; 1 failed; 2 wrong flag, recipe or ticket; 3 data, disk, address or\n"
      "group not there; 4 damaged file or differing state; 5 quorum lost; 6 the run was over\n"
      "before this peer had its state; 7 the loss became not a number; 130 interrupted (Ctrl-C\n"
      "once: the round is finished and the peer leaves politely; twice: at once).",
      kSettings);
}

std::string command_footer(const std::string& words) {
  for (const Footer& footer : kFooters) {
    if (footer.command != words) continue;
    return words == "run" ? fmt::format("{}\n{}", footer.text, kSettings) : footer.text;
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
      return fmt::format("unknown flag {}{}", flag, did_you_mean(flag, flags));
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
