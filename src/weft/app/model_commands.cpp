#include "weft/app/model_commands.h"

#include <cstdio>

#include <CLI/CLI.hpp>

#include "weft/app/environment.h"
#include "weft/app/peer_command.h"
#include "weft/app/terminal.h"
#include "weft/base/parallel.h"

namespace weft {
namespace {

ExitCode predict_command(const ModelRequest& request) {
  set_thread_count(request.threads);
  const Result<Prediction> prediction = predict(request.predict, data_places(request.data));
  if (!prediction.ok()) return report(prediction.status());
  print_text(prediction->text);
  return ExitCode::kOk;
}

ExitCode export_command(ModelRequest& request) {
  set_thread_count(request.threads);
  request.exported.hugging_face_names = request.names == "huggingface";
  const Result<std::string> text = export_checkpoint(request.exported, data_places(request.data));
  if (!text.ok()) return report(text.status());
  print_text(*text);
  return ExitCode::kOk;
}

CLI::App* add_predict(CLI::App& app, ModelRequest& request) {
  PredictRequest& own = request.predict;
  CLI::App* predict = app.add_subcommand("predict", "What a checkpoint's model says of an input");
  predict->add_option("checkpoint", own.checkpoint, "A file of OUT/checkpoints")->required();
  predict->add_option("input", own.input, "A file .npy, .npz, .png, .jpg, or the words of a text")
      ->required();
  predict->add_option("--out", own.out, "Write the outputs to this file .npy");
  predict->add_option("--top", own.top, "Classes to print for each row")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  predict->add_option("--tokens", own.tokens, "Texts: how many tokens to add")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  predict->add_option("--temperature", own.temperature, "Texts: 0 takes the likeliest token")
      ->check(CLI::Range(0.0, 100.0))
      ->capture_default_str();
  predict->add_option("--seed", own.seed, "Texts: of what is drawn")->capture_default_str();
  return predict;
}

CLI::App* add_export(CLI::App& app, ModelRequest& request) {
  ExportRequest& own = request.exported;
  CLI::App* command = app.add_subcommand("export", "A checkpoint's model for other programs");
  command->add_option("checkpoint", own.checkpoint, "A file of OUT/checkpoints")->required();
  command->add_option("--onnx", own.onnx, "Write the model to this file, as ONNX");
  command->add_option("--safetensors", own.safetensors, "Write the parameters to this file");
  command->add_option("--names", request.names, "Of the parameters: weft or huggingface")
      ->check(CLI::IsMember({"weft", "huggingface"}))
      ->capture_default_str();
  return command;
}

}  // namespace

void add_data_choice(CLI::App& command, DataChoice& choice) {
  command.add_option("--data", choice.data,
                     "The file for the recipe's data.path, or the folder that datasets are below");
  command.add_option("--tokenizer", choice.tokenizer, "The file for the recipe's data.tokenizer");
}

void add_model_commands(CLI::App& app, ModelRequest& request, ExitCode& code) {
  CLI::App* predict = add_predict(app, request);
  predict->callback([&] { code = predict_command(request); });
  CLI::App* command = add_export(app, request);
  command->callback([&] { code = export_command(request); });
  for (CLI::App* each : {predict, command}) {
    each->add_option("--threads", request.threads, "Compute threads")->check(CLI::Range(1, 1024));
    add_data_choice(*each, request.data);
  }
}

}  // namespace weft
