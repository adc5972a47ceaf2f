#include "weft/app/command_line.h"

#include <cstdio>
#include <new>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>

#include "weft/app/control_commands.h"
#include "weft/app/demo.h"
#include "weft/app/doctor.h"
#include "weft/app/environment.h"
#include "weft/app/exit_code.h"
#include "weft/app/interrupt.h"
#include "weft/app/model_commands.h"
#include "weft/app/peer_command.h"
#include "weft/app/serve_command.h"
#include "weft/app/standard_output.h"
#include "weft/app/tool_commands.h"
#include "weft/app/usage.h"
#include "weft/base/log.h"
#include "weft/base/time.h"

namespace weft {
namespace {

constexpr const char* kAbout =
    "Weft trains one model on many machines without a server: every peer holds the whole model, "
    "computes its share of each batch, and the gradients are summed among all of them.\n";

constexpr const char* kTensorboard = "Write scalars for TensorBoard to OUT/tensorboard";

struct Requests {
  RunRequest run;
  JoinRequest join;
  DoctorRequest doctor;
  DemoRequest demo;
  EvalRequest eval;
  ServeRequest serve;
  BenchTrainRequest bench_train;
  BenchAllReduceRequest bench_all_reduce;
  ListRequest list;
  ControlRequest control;
  ModelRequest model;
};

// Those of a peer that runs already, here.
void add_control(CLI::App& app, ControlRequest& request, ExitCode& code) {
  const auto add = [&](const char* name, const char* about, auto command) {
    CLI::App* added = app.add_subcommand(name, about);
    added->add_option("out", request.out, "The --out folder of a peer that runs")->required();
    added->add_flag("--json", request.json, "One object");
    added->callback([&request, &code, command] { code = command(request); });
    return added;
  };
  add("status", "Where a running peer stands, and who is in its group", status_command);
  add("ticket", "A new ticket from a running peer", ticket_command)
      ->add_option("--valid-h", request.valid_h, "Hours; default: as the recipe says")
      ->check(CLI::Range(0.001, 8760.0));
  add("revoke", "Make a ticket void at all members", revoke_command)
      ->add_option("ticket", request.subject, "A ticket, the id that `weft ticket` told, or all")
      ->required();
  CLI::App* expel = add("expel", "This peer's voice for putting a member out", expel_command);
  expel->add_option("peer", request.subject, "The member's name, as events write it")->required();
  expel->add_option("--reason", request.reason, "For the event logs of all members")
      ->capture_default_str();
  CLI::App* id = app.add_subcommand("id", "A peer's id, for group.allow; makes its key if need be");
  id->add_option("out", request.out, "The peer's --out folder")->required();
  id->add_flag("--json", request.json, "One object");
  id->callback([&request, &code] { code = id_command(request); });
}

void add_advertise(CLI::App& command, std::vector<std::string>& advertise) {
  command
      .add_option("--advertise", advertise,
                  "HOST:PORT that others are told to dial first; may be repeated")
      ->allow_extra_args(false);
}

CLI::App* add_run(CLI::App& app, RunRequest& request) {
  CLI::App* run = app.add_subcommand("run", "Train by a recipe: alone, or as the first peer");
  run->add_option("recipe", request.recipe_path, "TOML file; see recipes/")->required();
  run->add_option("--peers", request.peers, "Start so many local peers, this one included")
      ->check(CLI::Range(1, 64));
  run->add_option("--listen", request.listen,
                  "HOST:PORT for other peers; host *: all addresses, port 0: any")
      ->capture_default_str();
  add_advertise(*run, request.advertise);
  run->add_flag("--map-port", request.map_port,
                "Ask the router of this network to open the port (UPnP, NAT-PMP)");
  run->add_option("--steps", request.steps, "Optimizer steps; the same as --set run.steps=N");
  run->add_option("--threads", request.threads, "Compute threads; default: this machine's share")
      ->check(CLI::Range(1, 1024));
  run->add_option("--seed", request.seed, "The same as --set run.seed=N");
  run->add_option("--out", request.out, "Folder for events, summary, checkpoints and the key");
  run->add_flag("--resume{newest}", request.resume_from,
                "Go on from the newest checkpoint in --out; --resume=older: where that is damaged, "
                "from the one before it")
      ->check(CLI::IsMember({"newest", "older"}));
  run->add_flag("--json", request.json, "One event a line, as docs/events.md describes them");
  run->add_option("--engine", request.engine,
                  "What carries the rounds: swarm, or mpi under mpirun (fixed members)")
      ->check(CLI::IsMember({"swarm", "mpi"}))
      ->capture_default_str();
  run->add_flag("--tensorboard", request.tensorboard, kTensorboard);
  add_data_choice(*run, request.data);
  run->add_option("--set", request.settings, "key=value for any recipe key; may be repeated")
      ->allow_extra_args(false);
  return run;
}

CLI::App* add_join(CLI::App& app, JoinRequest& request) {
  CLI::App* join = app.add_subcommand("join", "Take part in a run that somebody gave a ticket for");
  join->add_option("ticket", request.ticket,
                   "The line that `weft run` printed; without it: choose a run of this network")
      ->envname("WEFT_TICKET");
  join->add_option("--run", request.wanted,
                   "Without a ticket: how the name or tag of the run begins");
  join->add_option("--rendezvous", request.rendezvous,
                   "HOST:PORT of an OpenDHT node to ask where no address of the ticket answers");
  join->add_option("--listen", request.listen,
                   "HOST:PORT for other peers; host *: all addresses, port 0: any")
      ->capture_default_str();
  add_advertise(*join, request.advertise);
  join->add_flag("--map-port", request.map_port,
                 "Ask the router of this network to open the port (UPnP, NAT-PMP)");
  join->add_option("--out", request.out, "Folder for events, summary, checkpoints and the key");
  join->add_option("--threads", request.threads, "Compute threads; default: all cores")
      ->check(CLI::Range(1, 1024));
  join->add_flag("--json", request.json, "One event a line, as docs/events.md describes them");
  join->add_flag("--tensorboard", request.tensorboard, kTensorboard);
  add_data_choice(*join, request.data);
  join->add_flag("-y,--yes", request.yes, "Do not show and ask what the run may use here");
  return join;
}

CLI::App* add_doctor(CLI::App& app, DoctorRequest& request) {
  CLI::App* doctor = app.add_subcommand("doctor", "What keeps this machine from taking part");
  doctor->add_option("ticket", request.ticket, "Try its members too")->envname("WEFT_TICKET");
  doctor->add_option("--listen", request.listen, "HOST:PORT that a run would listen on")
      ->capture_default_str();
  doctor->add_option("--out", request.out, "Folder that a run would write to")
      ->capture_default_str();
  doctor->add_option("--stun", request.stun, "HOST:PORT of a STUN server; give two for NAT's kind")
      ->allow_extra_args(false);
  doctor->add_flag("--map-port", request.map_port, "Try to let the router open the port");
  doctor->add_option("--rendezvous", request.rendezvous, "HOST:PORT of an OpenDHT node to ask");
  doctor->add_flag("--json", request.json, "One object a step");
  return doctor;
}

CLI::App* add_demo(CLI::App& app, DemoRequest& request) {
  CLI::App* demo =
      app.add_subcommand("demo", "Watch peers train, one of them die and another one join");
  demo->add_option("--peers", request.peers, "Processes to begin with")
      ->check(CLI::Range(3, 16))
      ->capture_default_str();
  demo->add_option("--out", request.out, "Folder for the files of all peers")
      ->capture_default_str();
  demo->add_option("--recipe", request.recipe, "Another recipe than the demo's own");
  demo->add_option("--set", request.settings, "key=value for any recipe key; may be repeated")
      ->allow_extra_args(false);
  demo->add_flag("--json", request.json, "Events, and as the last line one object with the result");
  return demo;
}

CLI::App* add_eval(CLI::App& app, EvalRequest& request) {
  CLI::App* eval = app.add_subcommand("eval", "Measure a checkpoint on its test set");
  eval->add_option("checkpoint", request.checkpoint, "A file of OUT/checkpoints")->required();
  eval->add_option("--threads", request.threads, "Compute threads")->check(CLI::Range(1, 1024));
  add_data_choice(*eval, request.data);
  eval->add_flag("--json", request.json, "One object");
  return eval;
}

CLI::App* add_serve(CLI::App& app, ServeRequest& request) {
  CLI::App* serve = app.add_subcommand("serve", "Answer HTTP requests with a checkpoint's model");
  serve->add_option("checkpoint", request.checkpoint, "A file of OUT/checkpoints")->required();
  add_data_choice(*serve, request.data);
  serve->add_option("--host", request.host, "Address to listen on; nobody is asked who they are")
      ->capture_default_str();
  serve->add_option("--port", request.port, "0: any free one")->capture_default_str();
  serve
      ->add_option("--allow-host", request.allowed_hosts,
                   "Name by which requests may call this server, beside addresses and localhost; "
                   "may be repeated")
      ->allow_extra_args(false);
  serve->add_option("--threads", request.threads, "Compute threads")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  serve->add_option("--batch-max", request.batch_max, "Rows or texts that are computed at once")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  serve->add_option("--batch-wait-ms", request.batch_wait_ms, "For others that join a batch")
      ->check(CLI::Range(0.0, 1000.0))
      ->capture_default_str();
  serve->add_option("--body-max", request.body_max, "Bytes of a request's body")
      ->check(CLI::Range(std::uint64_t{64}, std::uint64_t{1} << 30U))
      ->capture_default_str();
  serve->add_option("--connections-max", request.connections_max, "Open ones")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  serve->add_flag("--json", request.json, "One object once it listens");
  serve->add_option("--tokens-max", request.tokens_max, "Of one completion")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  return serve;
}

CLI::App* add_bench_train(CLI::App& bench, BenchTrainRequest& request) {
  CLI::App* train = bench.add_subcommand("train", "Time a full training step");
  train->add_option("--model", request.model, "mlp, cnn, gpt6x384, ... or a model of the zoo")
      ->capture_default_str();
  train->add_option("--batch", request.batch, "Samples a step; 0: as many as is usual")
      ->capture_default_str();
  train->add_flag("--eager", request.eager,
                  "Compute each step anew instead of replaying a recorded one");
  train->add_flag("--checkpoint-blocks", request.checkpoint_blocks,
                  "Save memory by computing the blocks of a text model twice");
  train->add_option("--precision", request.precision, "f32, bf16 or f16")
      ->check(CLI::IsMember({"f32", "bf16", "f16"}))
      ->capture_default_str();
  train->add_option("--threads", request.threads, "Compute threads")->capture_default_str();
  train->add_option("--seconds", request.seconds, "How long to measure")->capture_default_str();
  train->add_flag("--json", request.json, "One object");
  return train;
}

CLI::App* add_bench_all_reduce(CLI::App& bench, BenchAllReduceRequest& request) {
  AllReduceBenchOptions& options = request.options;
  CLI::App* reduce = bench.add_subcommand("allreduce", "Time an all-reduce among local processes");
  reduce->add_option("--peers", options.peers, "Processes")->capture_default_str();
  reduce->add_option("--bytes", options.bytes, "Of the vector")->capture_default_str();
  reduce->add_option("--transport", options.transport, "tls, tls+shm, tcp or shm")
      ->check(CLI::IsMember({"tls", "tls+shm", "tcp", "shm"}))
      ->capture_default_str();
  reduce->add_option("--repetitions", options.repetitions, "0: as many as take a few seconds")
      ->capture_default_str();
  reduce->add_option("--segment-bytes", options.segment_bytes, "Size of the pieces on the ring")
      ->capture_default_str();
  reduce->add_option("--rank", options.rank, "Run this rank only; the others meet it in --meet");
  reduce->add_option("--meet", options.meeting_folder, "Folder where separate ranks meet");
  reduce->add_option("--listen", options.listen, "HOST:PORT of a rank")->capture_default_str();
  reduce->add_flag("--json", request.json, "One object");
  reduce->add_option("--wire", request.options.wire, "How values travel")
      ->check(CLI::IsMember({"f32", "bf16", "f16", "int8"}))
      ->capture_default_str();
  reduce->add_option("--algorithm", request.options.algorithm, "The way between the processes")
      ->check(CLI::IsMember({"auto", "direct", "tree", "butterfly", "ring"}))
      ->capture_default_str();
  return reduce;
}

// What prints a list, or one line.
void add_lists(CLI::App& app, CLI::App& data, ListRequest& request, ExitCode& code) {
  const auto add = [&](CLI::App& to, const char* name, const char* about, auto command) {
    CLI::App* added = to.add_subcommand(name, about);
    added->add_flag("--json", request.json, "One object a line");
    added->callback([&request, &code, command] { code = command(request); });
    return added;
  };
  add(data, "list", "Every known dataset and where it was found", data_list_command);
  for (CLI::App* one : {add(data, "get", "Where a dataset is, or how to get it", data_get_command),
                        add(data, "check", "Read a dataset's files whole", data_check_command)}) {
    one->add_option("name", request.dataset, "As `weft data list` has it")->required();
  }
  add(app, "recipe", "Every key of a recipe, as a Markdown table", recipe_keys_command);
  add(app, "events", "Every kind of event, as a Markdown page", events_command);
  add(app, "version", "The version of this program", version_command);
}

// Below each page what belongs to that command alone.
void add_footers(CLI::App& app, const std::string& words) {
  app.footer(words.empty() ? main_footer() : command_footer(words));
  for (CLI::App* command : app.get_subcommands({})) {
    add_footers(*command, words.empty() ? command->get_name() : words + " " + command->get_name());
  }
}

// The exit code of a command line that was not understood, or that asked for help.
int explain(const CLI::App& app, const CLI::ParseError& error,
            const std::vector<std::string>& arguments) {
  if (error.get_exit_code() == 0) {
    std::ostringstream text;
    app.exit(error, text, text);
    print_text(text.str());
    return static_cast<int>(checked_output(ExitCode::kOk));
  }
  const std::string mistake = misspelt(app, arguments);
  if (mistake.empty()) {
    app.exit(error);
  } else {
    std::fprintf(stderr, "weft: %s\nRun with --help for more information.\n", mistake.c_str());
  }
  return static_cast<int>(ExitCode::kUsage);
}

}  // namespace

int run_command_line(int argc, char** argv) {
  restart_with_short_spin(argv);
  guard_standard_streams();
  install_interrupt_handler();
  const TimePoint started = SystemClock().now();
  CLI::App app(kAbout, "weft");
  app.require_subcommand(1);
  bool verbose = false;
  app.add_flag("-v,--verbose", verbose, "Log what happens inside to standard error");

  Requests requests;
  ExitCode code = ExitCode::kOk;
  add_run(app, requests.run)->callback([&] {
    requests.run.resume = !requests.run.resume_from.empty();
    code = run_command(requests.run, started);
  });
  add_join(app, requests.join)->callback([&] { code = join_command(requests.join, started); });
  add_doctor(app, requests.doctor)->callback([&] { code = doctor_command(requests.doctor); });
  add_demo(app, requests.demo)->callback([&] { code = demo_command(requests.demo, started); });
  add_eval(app, requests.eval)->callback([&] { code = eval_command(requests.eval); });
  add_serve(app, requests.serve)->callback([&] { code = serve_command(requests.serve); });

  add_model_commands(app, requests.model, code);
  add_control(app, requests.control, code);

  CLI::App* bench = app.add_subcommand("bench", "Measure this machine");
  bench->require_subcommand(1);
  add_bench_train(*bench, requests.bench_train)->callback([&] {
    code = bench_train_command(requests.bench_train);
  });
  add_bench_all_reduce(*bench, requests.bench_all_reduce)->callback([&] {
    code = bench_all_reduce_command(requests.bench_all_reduce);
  });

  CLI::App* data = app.add_subcommand("data", "The datasets: where they are, how to get them");
  data->require_subcommand(1);
  add_lists(app, *data, requests.list, code);

  app.set_version_flag("--version", version_text());
  add_footers(app, "");
  app.parse_complete_callback([&] {
    if (verbose) set_log_level(LogLevel::kInfo);
  });
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return explain(app, error, {argv + 1, argv + argc});
  } catch (const std::bad_alloc&) {
    code = report(unavailable("not enough memory"));
  } catch (const std::system_error& refused) {  // of libraries: no descriptor, no thread
    code = report(unavailable(refused.what()));
  }
  return static_cast<int>(checked_output(code));
}

}  // namespace weft
