#include "weft/app/bench_flags.h"

#include <CLI/CLI.hpp>

#include "weft/app/flags/flag_checks.h"
#include "weft/app/model_commands.h"

namespace weft {
namespace {

// What the requests of training steps and forward passes have in common.
template <class Request>
void add_measurement_flags(CLI::App& command, Request& request) {
  command.add_option("--threads", request.threads, kThreads)
      ->check(whole_number(1, kThreadsMax))
      ->capture_default_str();
  command.add_option("--seconds", request.seconds, "Duration of the measurement.")
      ->check(any_number(0.001, 86400.0))
      ->capture_default_str();
  command.add_flag("--json", request.json, kObject);
  BenchProfileOptions& profile = request.profile;
  command.add_flag("--profile", profile.wanted,
                   "Show the time of a run by operation and by kernel, with their rates as shares "
                   "of what this machine can do.");
  command
      .add_option("--trace", profile.trace_path,
                  "Profile, and write a few runs in Chrome's format for ui.perfetto.dev.")
      ->option_text("FILE");
  command.add_flag("--force", profile.replace_trace, "Replace an existing trace.");
}

CLI::App* add_bench_train(CLI::App& bench, BenchTrainRequest& request) {
  CLI::App* train = bench.add_subcommand("train", "Measure the time of a full training step.");
  train
      ->add_option("--model", request.model,
                   "The model to train: mlp, cnn, gpt6x384, or another model of the zoo.")
      ->option_text("NAME")
      ->capture_default_str();
  train
      ->add_option("--batch", request.batch, "Samples per step; 0: the usual number for the model.")
      ->check(whole_number(0, 1 << 20))
      ->capture_default_str();
  train->add_flag("--eager", request.eager,
                  "Compute each step eagerly instead of replaying a recorded one.");
  train->add_flag("--checkpoint-blocks", request.checkpoint_blocks,
                  "Save memory by computing the blocks of a text model twice.");
  train
      ->add_option("--precision", request.precision,
                   "Type of activations and of parameters in layers.")
      ->check(CLI::IsMember({"f32", "bf16", "f16"}))
      ->capture_default_str();
  add_measurement_flags(*train, request);
  return train;
}

CLI::App* add_bench_forward(CLI::App& bench, BenchForwardRequest& request) {
  CLI::App* forward =
      bench.add_subcommand("forward", "Measure the time of a forward pass, as in `weft serve`.");
  forward
      ->add_option("--model", request.model,
                   "The model to run: mlp, cnn, gpt6x384, another model of the zoo, or a "
                   "checkpoint's path.")
      ->option_text("NAME|FILE")
      ->capture_default_str();
  forward
      ->add_option("--batch", request.batch,
                   "Samples or texts per pass; 0: the usual number for the model.")
      ->check(whole_number(0, 1 << 20))
      ->capture_default_str();
  forward->add_flag("--cached", request.cached,
                    "Continue each text by one token per pass, with cached keys and values.");
  add_weights_choice(*forward, request.weights);
  forward
      ->add_option("--write", request.write,
                   "Folder for the model as ONNX, a batch of inputs and its outputs.")
      ->option_text("DIR");
  add_measurement_flags(*forward, request);
  return forward;
}

CLI::App* add_bench_all_reduce(CLI::App& bench, BenchAllReduceRequest& request) {
  AllReduceBenchOptions& options = request.options;
  CLI::App* reduce = bench.add_subcommand("allreduce",
                                          "Measure the time of an all-reduce among "
                                          "local processes.");
  reduce->add_option("--peers", options.peers, "Number of processes.")
      ->check(whole_number(1, 64))
      ->capture_default_str();
  reduce->add_option("--bytes", options.bytes, "Size of the vector in bytes.")
      ->check(whole_number(4, std::int64_t{1} << 40U))
      ->capture_default_str();
  reduce->add_option("--transport", options.transport, "The transport between the processes.")
      ->check(CLI::IsMember({"tls", "tls+shm", "tcp", "shm"}))
      ->capture_default_str();
  reduce
      ->add_option("--repetitions", options.repetitions,
                   "Number of repetitions; 0: as many as a few seconds allow.")
      ->check(whole_number(0, 1000000))
      ->capture_default_str();
  reduce
      ->add_option("--segment-bytes", options.segment_bytes,
                   "Size of the segments that are sent around the ring.")
      ->check(whole_number(1024, 1 << 20))
      ->capture_default_str();
  reduce
      ->add_option("--rank", options.rank,
                   "Run only this rank; the ranks find each other in "
                   "--meet.")
      ->check(whole_number(0, 63));
  reduce
      ->add_option("--meet", options.meeting_folder,
                   "Folder in which separate ranks find each "
                   "other.")
      ->option_text("DIR");
  reduce->add_option("--listen", options.listen, "Where this rank listens.")
      ->option_text("HOST:PORT")
      ->capture_default_str();
  reduce->add_flag("--json", request.json, kObject);
  reduce->add_option("--wire", request.options.wire, "Type in which values are sent.")
      ->check(CLI::IsMember({"f32", "bf16", "f16", "int8"}))
      ->capture_default_str();
  reduce->add_option("--algorithm", request.options.algorithm, "Algorithm of the exchange.")
      ->check(CLI::IsMember({"auto", "direct", "tree", "butterfly", "ring"}))
      ->capture_default_str();
  return reduce;
}

}  // namespace

void add_bench_commands(CLI::App& app, BenchRequest& request, ExitCode& code) {
  CLI::App* bench = app.add_subcommand("bench", "Measure this machine.");
  bench->require_subcommand(1);
  add_bench_train(*bench, request.train)->callback([&] {
    code = bench_train_command(request.train);
  });
  add_bench_forward(*bench, request.forward)->callback([&] {
    code = bench_forward_command(request.forward);
  });
  add_bench_all_reduce(*bench, request.all_reduce)->callback([&] {
    code = bench_all_reduce_command(request.all_reduce);
  });
}

}  // namespace weft
