#include "weft/app/model_commands.h"

#include <filesystem>

#include <CLI/CLI.hpp>

#include "weft/app/flags/flag_checks.h"
#include "weft/app/member/peer_command.h"
#include "weft/app/terminal/environment.h"
#include "weft/app/terminal/json_output.h"
#include "weft/app/terminal/output_files.h"
#include "weft/app/terminal/slow_notice.h"
#include "weft/app/terminal/standard_output.h"
#include "weft/app/terminal/terminal.h"
#include "weft/base/log.h"
#include "weft/base/parallel.h"
#include "weft/train/run/checkpoints.h"

namespace weft {
namespace {

// The command may read any checkpoint of a run's folder.
std::vector<std::string> read_files(const std::string& checkpoint, const ModelRequest& request) {
  std::vector<std::string> files = {checkpoint, request.data.data, request.data.tokenizer};
  for (const std::string& folder : {checkpoint, checkpoint + "/checkpoints"}) {
    const std::vector<std::string> all = Checkpoints(folder, 1, "").paths();
    files.insert(files.end(), all.begin(), all.end());
  }
  return files;
}

ExitCode predict_command(const ModelRequest& request) {
  set_thread_count(request.threads);
  std::vector<std::string> outputs;
  if (!request.predict.out.empty()) outputs.push_back(request.predict.out);
  std::vector<std::string> inputs = read_files(request.predict.checkpoint, request);
  inputs.push_back(request.predict.input);
  const Status writable = check_outputs(outputs, std::move(inputs), request.force);
  if (!writable.ok()) return report(writable);
  const SlowNotice notice("asking the model of " + request.predict.checkpoint);
  const Result<Prediction> prediction = predict(request.predict, data_places(request.data));
  if (!prediction.ok()) return report(prediction.status());
  if (!prediction->note.empty()) write_error(prediction->note);
  print_text(request.json ? prediction_json(request.predict, *prediction)
                          : for_standard_output(prediction->text));
  return ExitCode::kOk;
}

// What an export writes: files of the person's names, and the configuration beside one of them.
std::vector<std::string> export_files(const ExportRequest& request) {
  std::vector<std::string> files;
  if (!request.onnx.empty()) files.push_back(request.onnx);
  if (request.safetensors.empty()) return files;
  files.push_back(request.safetensors);
  if (request.hugging_face_names) {
    const std::filesystem::path beside = std::filesystem::path(request.safetensors).parent_path();
    files.push_back((beside / "config.json").string());
  }
  return files;
}

ExitCode export_command(ModelRequest& request) {
  set_thread_count(request.threads);
  request.exported.hugging_face_names = request.names == "huggingface";
  const std::vector<std::string> files = export_files(request.exported);
  const Status writable =
      check_outputs(files, read_files(request.exported.checkpoint, request), request.force);
  if (!writable.ok()) return report(writable);
  const SlowNotice notice("exporting the model of " + request.exported.checkpoint);
  const Result<std::string> text = export_checkpoint(request.exported, data_places(request.data));
  if (!text.ok()) return report(text.status());
  print_text(request.json ? export_json(request.exported, files, *text) : *text);
  return ExitCode::kOk;
}

CLI::App* add_predict(CLI::App& app, ModelRequest& request) {
  PredictRequest& own = request.predict;
  CLI::App* predict =
      app.add_subcommand("predict", "Show the predictions of a checkpoint's model for an input.");
  predict->add_option("checkpoint", own.checkpoint, "A checkpoint, or the folder OUT of a run.")
      ->required();
  predict
      ->add_option("input", own.input,
                   "A file .csv, .npy, .npz, .png or .jpg, or the beginning of a text.")
      ->required();
  predict->add_option("--out", own.out, "Write the outputs to this file .npy.")
      ->option_text("FILE");
  predict->add_option("--top", own.top, "How many classes to print for each row.")
      ->check(whole_number(1, 1000))
      ->capture_default_str();
  predict->add_option("--tokens", own.tokens, "For a text, the number of tokens to add.")
      ->check(whole_number(1, 1000000))
      ->capture_default_str();
  predict
      ->add_option("--temperature", own.temperature,
                   "For a text, the temperature of the draws; 0 takes the likeliest token.")
      ->check(any_number(0.0, 100.0))
      ->capture_default_str();
  predict->add_option("--seed", own.seed, "For a text, the seed of the draws.")
      ->check(whole_number(0, kNoLimit))
      ->capture_default_str();
  add_weights_choice(*predict, own.weights);
  return predict;
}

CLI::App* add_export(CLI::App& app, ModelRequest& request) {
  ExportRequest& own = request.exported;
  CLI::App* command =
      app.add_subcommand("export", "Write a checkpoint's model for other programs.");
  command->add_option("checkpoint", own.checkpoint, "A checkpoint, or the folder OUT of a run.")
      ->required();
  command->add_option("--onnx", own.onnx, "Write the model to this file, as ONNX.")
      ->option_text("FILE");
  command->add_option("--safetensors", own.safetensors, "Write the parameters to this file.")
      ->option_text("FILE");
  command->add_option("--names", request.names, "The naming scheme of the parameters.")
      ->check(CLI::IsMember({"weft", "huggingface"}))
      ->capture_default_str();
  return command;
}

}  // namespace

void add_data_choice(CLI::App& command, DataChoice& choice) {
  command
      .add_option(
          "--data", choice.data,
          "The file that replaces the recipe's data.path, or the folder that holds datasets.")
      ->option_text("PATH");
  command
      .add_option("--tokenizer", choice.tokenizer,
                  "The file that replaces the recipe's data.tokenizer.")
      ->option_text("FILE");
}

void add_weights_choice(CLI::App& command, std::string& weights) {
  command
      .add_option("--weights", weights,
                  "Type of the matrices in products; int8 is faster and a little less exact.")
      ->check(CLI::IsMember({"f32", "int8"}))
      ->capture_default_str();
}

void add_model_commands(CLI::App& app, ModelRequest& request, ExitCode& code) {
  CLI::App* predict = add_predict(app, request);
  predict->callback([&] { code = predict_command(request); });
  CLI::App* command = add_export(app, request);
  command->callback([&] { code = export_command(request); });
  for (CLI::App* each : {predict, command}) {
    each->add_option("--threads", request.threads, kThreads)->check(whole_number(1, kThreadsMax));
    add_data_choice(*each, request.data);
    each->add_flag("--force", request.force, "Replace existing files.");
    each->add_flag("--json", request.json, kObject);
  }
}

}  // namespace weft
