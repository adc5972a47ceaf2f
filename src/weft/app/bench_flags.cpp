#include "weft/app/bench_flags.h"

#include <CLI/CLI.hpp>

#include "weft/app/flag_checks.h"

namespace weft {
namespace {

CLI::App* add_bench_train(CLI::App& bench, BenchTrainRequest& request) {
  CLI::App* train = bench.add_subcommand("train", "Time a full training step.");
  train
      ->add_option("--model", request.model,
                   "What to train: mlp, cnn, gpt6x384, or another model of the zoo.")
      ->option_text("NAME")
      ->capture_default_str();
  train
      ->add_option("--batch", request.batch,
                   "Samples in a step; 0: as many as is usual for the model.")
      ->check(whole_number(0, 1 << 20))
      ->capture_default_str();
  train->add_flag("--eager", request.eager,
                  "Compute each step anew instead of replaying a recorded one.");
  train->add_flag("--checkpoint-blocks", request.checkpoint_blocks,
                  "Save memory by computing the blocks of a text model twice.");
  train
      ->add_option("--precision", request.precision,
                   "Type of activations and of the parameters that layers see.")
      ->check(CLI::IsMember({"f32", "bf16", "f16"}))
      ->capture_default_str();
  train->add_option("--threads", request.threads, kThreads)
      ->check(whole_number(1, kThreadsMax))
      ->capture_default_str();
  train->add_option("--seconds", request.seconds, "For how long to measure.")
      ->check(any_number(0.001, 86400.0))
      ->capture_default_str();
  train->add_flag("--json", request.json, kObject);
  return train;
}

CLI::App* add_bench_all_reduce(CLI::App& bench, BenchAllReduceRequest& request) {
  AllReduceBenchOptions& options = request.options;
  CLI::App* reduce = bench.add_subcommand("allreduce", "Time an all-reduce among local processes.");
  reduce->add_option("--peers", options.peers, "Number of processes.")
      ->check(whole_number(1, 64))
      ->capture_default_str();
  reduce->add_option("--bytes", options.bytes, "Size of the vector in bytes.")
      ->check(whole_number(4, std::int64_t{1} << 40U))
      ->capture_default_str();
  reduce->add_option("--transport", options.transport, "What carries the bytes.")
      ->check(CLI::IsMember({"tls", "tls+shm", "tcp", "shm"}))
      ->capture_default_str();
  reduce
      ->add_option("--repetitions", options.repetitions,
                   "How often to repeat it; 0: as often as a few seconds allow.")
      ->check(whole_number(0, 1000000))
      ->capture_default_str();
  reduce
      ->add_option("--segment-bytes", options.segment_bytes,
                   "Size of the pieces that travel around the ring.")
      ->check(whole_number(1024, 1 << 20))
      ->capture_default_str();
  reduce->add_option("--rank", options.rank, "Run this rank only; the others meet it in --meet.")
      ->check(whole_number(0, 63));
  reduce->add_option("--meet", options.meeting_folder, "Folder where separate ranks meet.")
      ->option_text("DIR");
  reduce->add_option("--listen", options.listen, "Where this rank listens.")
      ->option_text("HOST:PORT")
      ->capture_default_str();
  reduce->add_flag("--json", request.json, kObject);
  reduce->add_option("--wire", request.options.wire, "Type in which values travel.")
      ->check(CLI::IsMember({"f32", "bf16", "f16", "int8"}))
      ->capture_default_str();
  reduce
      ->add_option("--algorithm", request.options.algorithm,
                   "Way of the values between the processes.")
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
  add_bench_all_reduce(*bench, request.all_reduce)->callback([&] {
    code = bench_all_reduce_command(request.all_reduce);
  });
}

}  // namespace weft
