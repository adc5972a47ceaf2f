// The commands that use a trained model: predict and export.
//
// Threads: the main thread. Fails: the reason goes to standard error, the code is exit_code.h's.
#pragma once

#include "weft/app/terminal/environment.h"
#include "weft/app/terminal/exit_code.h"
#include "weft/train/model/export_checkpoint.h"
#include "weft/train/model/predict.h"

namespace CLI {
class App;
}  // namespace CLI

namespace weft {

struct ModelRequest {
  PredictRequest predict;
  ExportRequest exported;
  DataChoice data;
  std::string names = "weft";
  int threads = 1;
  bool force = false;  // existing files may be replaced
  bool json = false;
};

// Adds --data and --tokenizer to a command that opens the data of a recipe.
void add_data_choice(CLI::App& command, DataChoice& choice);

// Adds --weights to a command that computes with a model.
void add_weights_choice(CLI::App& command, std::string& weights);

// Adds `weft predict` and `weft export` to `app`; their exit codes go to `code`.
void add_model_commands(CLI::App& app, ModelRequest& request, ExitCode& code);

}  // namespace weft
