#include "weft/app/command_line.h"

#include <cstdio>
#include <new>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "weft/app/bench_flags.h"
#include "weft/app/compare/contender.h"
#include "weft/app/compare_command.h"
#include "weft/app/demo/demo.h"
#include "weft/app/doctor/doctor.h"
#include "weft/app/doctor/run_doctor.h"
#include "weft/app/flags/flag_checks.h"
#include "weft/app/flags/help_page.h"
#include "weft/app/flags/parse_error.h"
#include "weft/app/flags/usage.h"
#include "weft/app/folder/control_commands.h"
#include "weft/app/member/local_peers.h"
#include "weft/app/member/peer_command.h"
#include "weft/app/model_commands.h"
#include "weft/app/own_data_commands.h"
#include "weft/app/serve_command.h"
#include "weft/app/sim_command.h"
#include "weft/app/terminal/environment.h"
#include "weft/app/terminal/exit_code.h"
#include "weft/app/terminal/interrupt.h"
#include "weft/app/terminal/standard_output.h"
#include "weft/app/tool_commands.h"
#include "weft/base/exception_status.h"
#include "weft/base/isa/isa.h"
#include "weft/base/log.h"
#include "weft/base/printable.h"
#include "weft/base/time.h"
#include "weft/base/version.h"

namespace weft {
namespace {

constexpr const char* kAbout =
    "Weft trains one model on several computers at once, without a server: every peer holds the "
    "whole model, computes its share of each batch, and all of them sum their gradients.";

constexpr const char* kEvents = "Write one event per line, as docs/events.md describes them.";
constexpr const char* kListen =
    "Address at which other peers reach this one; host *: all addresses; port 0: any free one.";
constexpr const char* kMapPort = "Ask the router of this network to open the port (UPnP, NAT-PMP).";
constexpr const char* kOut = "Folder for events, summary, checkpoints and the peer's key.";
constexpr const char* kSet = "Set any key of the recipe; may be repeated.";
constexpr const char* kCheckpoint = "A checkpoint, or the folder OUT of a run.";
constexpr const char* kTensorboard = "Write scalars for TensorBoard to OUT/tensorboard.";

struct AboutRequest {
  bool verbose = false;
  std::vector<std::string> help_words;
};

struct Requests {
  AboutRequest about;
  RunRequest run;
  JoinRequest join;
  DoctorRequest doctor;
  DemoRequest demo;
  EvalRequest eval;
  ServeRequest serve;
  SimRequest sim;
  CompareRequest compare;
  BenchRequest bench;
  ListRequest list;
  MethodsRequest methods;
  ControlRequest control;
  ModelRequest model;
  OwnDataRequest own_data;
};

// The commands for a peer that runs on this machine already.
void add_control(CLI::App& app, ControlRequest& request, ExitCode& code) {
  const auto add = [&](const char* name, const char* about, auto command) {
    CLI::App* added = app.add_subcommand(name, about);
    added->add_option("out", request.out, "The --out folder of a running peer.")->required();
    added->add_flag("--json", request.json, kObject);
    added->callback([&request, &code, command] { code = command(request); });
    return added;
  };
  add("status", "Show the progress of a running peer, and the members of its group.",
      status_command);
  CLI::App* const ticket =
      add("ticket", "Make a new ticket, with which others can join the run of a running peer.",
          ticket_command);
  ticket->add_flag("--code", request.code,
                   "Also make a short code, which is valid on this network while the peer runs.");
  ticket
      ->add_option("--valid-h", request.valid_h,
                   "Hours for which the ticket is valid; by default, as the recipe sets it.")
      ->check(any_number(0.001, 8760.0));
  add("revoke", "Make a ticket void at all members.", revoke_command)
      ->add_option("ticket", request.subject,
                   "A ticket, the id that `weft ticket` showed with it, or the word all.")
      ->required();
  CLI::App* expel = add("expel", "Vote to expel a member from the run.", expel_command);
  expel
      ->add_option("peer", request.subject,
                   "The member's name, as `weft status` and the events write it.")
      ->required();
  expel->add_option("--reason", request.reason, "Why; all members log it.")->capture_default_str();
  CLI::App* id =
      app.add_subcommand("id", "Show a peer's id, for group.allow; make its key if it has none.");
  id->add_option("out", request.out, "The peer's --out folder.")->required();
  id->add_flag("--json", request.json, kObject);
  id->callback([&request, &code] { code = id_command(request); });
}

void add_advertise(CLI::App& command, std::vector<std::string>& advertise) {
  command
      .add_option("--advertise", advertise, "An address that others dial first; may be repeated.")
      ->option_text("HOST:PORT")
      ->allow_extra_args(false);
}

CLI::App* add_run(CLI::App& app, RunRequest& request) {
  CLI::App* run =
      app.add_subcommand("run", "Train with a recipe, alone or as the first peer of a group.");
  run->add_option("recipe", request.recipe_path,
                  "A recipe: a TOML file, such as those in recipes/. Or your own data: a folder, a "
                  "table or a text, for which a recipe is written, as `weft new` does.")
      ->required();
  run->add_option("--peers", request.peers,
                  "Start this many peers on this machine, including this one.")
      ->check(whole_number(1, 64));
  run->add_option("--listen", request.listen, kListen)
      ->option_text("HOST:PORT")
      ->capture_default_str();
  add_advertise(*run, request.advertise);
  run->add_flag("--map-port", request.map_port, kMapPort);
  run->add_option("--steps", request.steps, "Optimizer steps; the same as --set run.steps=N.")
      ->check(whole_number(1, kNoLimit));
  run->add_option("--threads", request.threads,
                  "Compute threads; by default, this peer's share of the cores.")
      ->check(whole_number(1, kThreadsMax));
  run->add_option("--seed", request.seed, "The same as --set run.seed=N.")
      ->check(whole_number(0, kNoLimit));
  run->add_option("--out", request.out, kOut)->option_text("DIR");
  run->add_flag("--resume{newest}", request.resume_from,
                "Continue from the newest checkpoint in --out; with --resume=older, if that one is "
                "damaged, from the one before it.")
      ->check(CLI::IsMember({"newest", "older"}));
  run->add_flag("--json", request.json, kEvents);
  run->add_option("--engine", request.engine,
                  "What carries the rounds: swarm; or mpi, under mpirun, with fixed members.")
      ->check(CLI::IsMember({"swarm", "mpi"}))
      ->capture_default_str();
  run->add_flag("--tensorboard", request.tensorboard, kTensorboard);
  add_data_choice(*run, request.data);
  run->add_option("--set", request.settings, kSet)
      ->option_text("KEY=VALUE")
      ->allow_extra_args(false);
  return run;
}

CLI::App* add_join(CLI::App& app, JoinRequest& request) {
  CLI::App* join = app.add_subcommand(
      "join", "Take part in a run, with a ticket or by choosing a run on this network.");
  join->add_option(
          "ticket", request.ticket,
          "The ticket that `weft run` printed, which may be wrapped or quoted, or its short code "
          "on the same network. Without one, the runs on this network are listed.")
      ->expected(1, -1)
      ->allow_extra_args()
      ->multi_option_policy(CLI::MultiOptionPolicy::Join)
      ->envname("WEFT_TICKET");
  join->add_option("--run", request.wanted,
                   "Without a ticket, take the run whose name or tag begins with this.")
      ->option_text("NAME");
  join->add_option("--rendezvous", request.rendezvous,
                   "A node of OpenDHT to ask if no address of the ticket answers.")
      ->option_text("HOST:PORT");
  join->add_option("--listen", request.listen, kListen)
      ->option_text("HOST:PORT")
      ->capture_default_str();
  add_advertise(*join, request.advertise);
  join->add_flag("--map-port", request.map_port, kMapPort);
  join->add_option("--out", request.out, kOut)->option_text("DIR");
  join->add_option("--threads", request.threads,
                   "Compute threads; by default, one for each "
                   "core.")
      ->check(whole_number(1, kThreadsMax));
  join->add_flag("--json", request.json, kEvents);
  join->add_flag("--tensorboard", request.tensorboard, kTensorboard);
  add_data_choice(*join, request.data);
  join->add_flag("-y,--yes", request.yes,
                 "Take part without showing what the run uses on this machine, and without "
                 "asking.");
  return join;
}

CLI::App* add_doctor(CLI::App& app, DoctorRequest& request) {
  CLI::App* doctor = app.add_subcommand("doctor",
                                        "Find what prevents this machine from taking part, or what "
                                        "slows a run, and show the remedy.");
  doctor->add_option("ticket", request.ticket, "A ticket, or a code, whose members are tried too.")
      ->expected(1, -1)
      ->allow_extra_args()
      ->multi_option_policy(CLI::MultiOptionPolicy::Join)
      ->envname("WEFT_TICKET");
  doctor->add_option("--listen", request.listen, "HOST:PORT where a run would listen.")
      ->option_text("HOST:PORT")
      ->capture_default_str();
  doctor->add_option("--out", request.out, "Folder that a run would write to.")
      ->option_text("DIR")
      ->capture_default_str();
  doctor
      ->add_option("--stun", request.stun,
                   "A STUN server to ask; two of them reveal the kind of NAT.")
      ->option_text("HOST:PORT")
      ->allow_extra_args(false);
  doctor->add_flag("--map-port", request.map_port, "Try to let the router open the port.");
  doctor->add_option("--rendezvous", request.rendezvous, "A node of OpenDHT to ask.")
      ->option_text("HOST:PORT");
  doctor
      ->add_option("--run", request.runs,
                   "The folder OUT of a run: find the member or link that it waits for, from the "
                   "logs of its peers. May be repeated, for the folders of several peers.")
      ->option_text("OUT")
      ->allow_extra_args(false);
  doctor->add_flag("--json", request.json, "Write one JSON object for each step or finding.");
  return doctor;
}

CLI::App* add_demo(CLI::App& app, DemoRequest& request) {
  CLI::App* demo =
      app.add_subcommand("demo",
                         "Show local peers that train; one of them is killed and another "
                         "one joins.");
  demo->add_option("--peers", request.peers, "Number of processes at the start.")
      ->check(whole_number(3, 16))
      ->capture_default_str();
  demo->add_option("--out", request.out, "Folder for the files of all peers.")
      ->option_text("DIR")
      ->capture_default_str();
  demo->add_option("--recipe", request.recipe, "A recipe in place of the demo's own.")
      ->option_text("FILE");
  demo->add_option("--set", request.settings, kSet)
      ->option_text("KEY=VALUE")
      ->allow_extra_args(false);
  demo->add_flag("--json", request.json,
                 "Write events, and in the last line one object with the result.");
  return demo;
}

CLI::App* add_eval(CLI::App& app, EvalRequest& request) {
  CLI::App* eval = app.add_subcommand("eval", "Measure a checkpoint on its test set.");
  eval->add_option("checkpoint", request.checkpoint, kCheckpoint)->required();
  eval->add_option("--threads", request.threads, kThreads)->check(whole_number(1, kThreadsMax));
  add_data_choice(*eval, request.data);
  add_weights_choice(*eval, request.weights);
  eval->add_flag("--json", request.json, kObject);
  return eval;
}

CLI::App* add_serve(CLI::App& app, ServeRequest& request) {
  CLI::App* serve = app.add_subcommand("serve", "Answer HTTP requests with a checkpoint's model.");
  serve->add_option("checkpoint", request.checkpoint, kCheckpoint)->required();
  add_data_choice(*serve, request.data);
  serve
      ->add_option("--host", request.host,
                   "Address to listen on; clients are not "
                   "authenticated.")
      ->option_text("HOST")
      ->capture_default_str();
  serve->add_option("--port", request.port, "Port to listen on; 0: any free one.")
      ->check(whole_number(0, 65535))
      ->capture_default_str();
  serve
      ->add_option("--allow-host", request.allowed_hosts,
                   "A name that requests may use for this server, besides addresses and localhost; "
                   "may be repeated.")
      ->option_text("NAME")
      ->allow_extra_args(false);
  serve->add_option("--threads", request.threads, kThreads)
      ->check(whole_number(1, kThreadsMax))
      ->capture_default_str();
  add_weights_choice(*serve, request.weights);
  serve
      ->add_option("--batch-max", request.batch_max,
                   "Maximum number of rows or texts that are computed at once.")
      ->check(whole_number(1, 4096))
      ->capture_default_str();
  serve
      ->add_option("--batch-wait-ms", request.batch_wait_ms,
                   "Milliseconds that a request waits for others, to be computed with them.")
      ->check(any_number(0.0, 1000.0))
      ->capture_default_str();
  serve->add_option("--body-max", request.body_max, "Maximum bytes of a request's body.")
      ->check(whole_number(64, std::int64_t{1} << 30U))
      ->capture_default_str();
  serve
      ->add_option("--connections-max", request.connections_max,
                   "Maximum number of open connections.")
      ->check(whole_number(1, 100000))
      ->capture_default_str();
  serve->add_flag("--json", request.json, "Write one JSON object once it listens.");
  serve
      ->add_option("--tokens-max", request.tokens_max,
                   "Maximum number of tokens of one "
                   "completion.")
      ->check(whole_number(1, 1000000))
      ->capture_default_str();
  return serve;
}

// The commands that print a list, or one line.
void add_lists(CLI::App& app, CLI::App& data, ListRequest& request, ExitCode& code) {
  const auto add = [&](CLI::App& to, const char* name, const char* about, auto command) {
    CLI::App* added = to.add_subcommand(name, about);
    added->add_flag("--json", request.json, "Write one JSON object per line.");
    added->callback([&request, &code, command] { code = command(request); });
    return added;
  };
  add(data, "list", "List every known dataset and where it was found.", data_list_command);
  for (CLI::App* one :
       {add(data, "get", "Show where a dataset is, or how to get it.", data_get_command),
        add(data, "check",
            "Read all files of a dataset and compare them with what they should hold.",
            data_check_command)}) {
    one->add_option("name", request.dataset, "A name that `weft data list` shows.")->required();
  }
  add(app, "recipe", "List every key of a recipe, as a Markdown table.", recipe_keys_command);
  add(app, "events", "List every kind of event, as a Markdown page.", events_command);
  add(app, "version", "Show the version of this program.", version_command);
}

void add_methods(CLI::App& app, MethodsRequest& request, ExitCode& code) {
  CLI::App* methods = app.add_subcommand(
      "methods", "List the methods that a recipe can name, and codes, with sources and options.");
  methods->add_option(
      "name", request.name,
      "A method, a key of the recipe such as aggregate.rule, or code; otherwise all.");
  methods->add_flag("--json", request.json, "Write one JSON object per line.");
  methods->callback([&request, &code] { code = methods_command(request); });
}

// Puts the examples of each command below its page.
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
  const std::string text =
      arguments.empty() ? short_help() : parse_error_text(app, error, arguments);
  std::fputs(text.c_str(), stderr);
  return static_cast<int>(ExitCode::kUsage);
}

// `weft help data get`: the page of that command.
ExitCode help_command(CLI::App& app, const std::vector<std::string>& words) {
  CLI::App* at = &app;
  if (const std::string mistake = misspelt(app, words); !mistake.empty()) {
    std::fputs(fmt::format("weft: {}\n", printable(mistake)).c_str(), stderr);
    return ExitCode::kUsage;
  }
  for (const std::string& word : words) {
    if (at->get_subcommands({}).empty()) break;
    at = at->get_subcommand(word);
  }
  // App::help() would show the page of the command that is running: this one.
  print_text(app.get_formatter()->make_help(at, "", CLI::AppFormatMode::Normal));
  return ExitCode::kOk;
}

// What a person who looks for a fault wants to know first.
void log_machine() {
  log(LogLevel::kInfo, "weft {}: {} cores, WEFT_DATA_DIR={}", version(), threads_for(1),
      environment_variable("WEFT_DATA_DIR"));
}

// -v, -V and `weft help`.
void add_about(CLI::App& app, AboutRequest& request, ExitCode& code) {
  app.add_flag("-v,--verbose", request.verbose,
               "Log details to standard error; may be given before or after the command.");
  app.set_version_flag("-V,--version", version_text(), "Show the version.");
  CLI::App* help = app.add_subcommand("help", "Show the page of a command.");
  help->add_option("command", request.help_words, "The command, such as run, or data get.");
  help->callback([&] { code = help_command(app, request.help_words); });
  app.parse_complete_callback([&request] {
    if (!request.verbose) return;
    set_log_level(LogLevel::kInfo);
    log_machine();
  });
}

// False for a local peer whose parent is gone already; from now on it ends with it.
bool parent_is_there() {
  const std::string parent = environment_variable("WEFT_PARENT");
  return parent.empty() || end_with_parent(std::atoi(parent.c_str()));
}

}  // namespace

int run_command_line(int argc, char** argv) {
  if (!parent_is_there()) return static_cast<int>(ExitCode::kInterrupted);
  restart_with_short_spin(argv);
  guard_standard_streams();
  install_interrupt_handler();
  if (const Status choice = check_isa_choice(); !choice.ok()) {
    return static_cast<int>(report(choice));
  }
  const TimePoint started = SystemClock().now();
  CLI::App app(kAbout, "weft");
  app.require_subcommand(1);
  use_help_pages(app, help_width());
  app.fallthrough();  // -v may stand before the command or after it
  Requests requests;
  ExitCode code = ExitCode::kOk;
  add_run(app, requests.run)->callback([&] {
    requests.run.resume = !requests.run.resume_from.empty();
    code = run_recipe_or_data(requests.run, started);
  });
  add_join(app, requests.join)->callback([&] { code = join_command(requests.join, started); });
  add_doctor(app, requests.doctor)->callback([&] {
    const DoctorRequest& doctor = requests.doctor;
    code =
        doctor.runs.empty() ? doctor_command(doctor) : run_doctor_command(doctor.runs, doctor.json);
  });
  add_sim(app, requests.sim)->callback([&] { code = sim_command(requests.sim); });
  add_compare(app, requests.compare)->callback([&] {
    requests.compare.command = shell_command({argv + 1, argv + argc});
    code = compare_command(requests.compare);
  });
  add_demo(app, requests.demo)->callback([&] { code = demo_command(requests.demo, started); });
  add_eval(app, requests.eval)->callback([&] { code = eval_command(requests.eval); });
  add_serve(app, requests.serve)->callback([&] { code = serve_command(requests.serve); });

  add_model_commands(app, requests.model, code);
  add_control(app, requests.control, code);

  add_bench_commands(app, requests.bench, code);

  CLI::App* data =
      app.add_subcommand("data", "Find datasets, learn how to get them, or look at your own.");
  data->require_subcommand(1);
  add_methods(app, requests.methods, code);
  add_lists(app, *data, requests.list, code);
  add_own_data_commands(app, *data, requests.own_data, code);

  add_about(app, requests.about, code);
  add_footers(app, "");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return explain(app, error, {argv + 1, argv + argc});
  } catch (const std::bad_alloc& fault) {
    code = report(exception_status("weft", fault));
  } catch (const std::system_error& refused) {  // of libraries: no descriptor, no thread
    code = report(unavailable(refused.what()));
  }
  return static_cast<int>(checked_output(code));
}

}  // namespace weft
