#include "weft/app/member/join_plan.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "weft/app/doctor/doctor_facts.h"
#include "weft/net/tls_transport.h"
#include "weft/train/loose/loose_run.h"

namespace weft {
namespace {

// Beside one another for each parameter: its value and gradient, two of the optimizer (most keep
// one or two), one going out in a round and one coming in.
constexpr std::uint64_t kValuesAParameter = 6;

std::uint64_t state_bytes(const JoinPlan& plan) {
  return static_cast<std::uint64_t>(plan.size.elements) * sizeof(float);
}

// In a gossip, as far as the members are known that the run begins with; 0: the members sum with
// all.
std::uint64_t neighbours(const Recipe& recipe) {
  const auto members =
      static_cast<std::size_t>(std::max<std::int64_t>(2, recipe.group.start_members));
  // A server has all others, and any member may be it or mix with as many.
  if (mixes(recipe)) return members - 1;
  if (!gossips(recipe)) return 0;
  const Result<Topology> topology = gossip_topology(recipe);
  return topology.ok() ? topology->degree_max(members) : 0;
}

bool is_loose_run(const Recipe& recipe) { return gossips(recipe) || mixes(recipe); }

std::string megabytes(std::uint64_t bytes) {
  const double count = static_cast<double>(bytes) / 1e6;
  return count < 10 ? fmt::format("{:.1f} MB", count) : fmt::format("{:.0f} MB", count);
}

std::string file_text(const std::string& path) {
  std::error_code failed;
  const std::uintmax_t size = std::filesystem::file_size(path, failed);
  return failed ? path : fmt::format("{} ({})", path, megabytes(size));
}

std::string data_line(const JoinPlan& plan) {
  std::string text = plan.files.data.empty() ? plan.recipe.data.name : file_text(plan.files.data);
  if (!plan.files.tokenizer.empty()) text += ", tokenizer " + file_text(plan.files.tokenizer);
  return fmt::format("{}, {} samples to train on", text, plan.size.train_samples);
}

std::string memory_line(const JoinPlan& plan) {
  const std::uint64_t wanted = memory_estimate(plan);
  std::string text = fmt::format("about {}, and what a share of a batch takes", megabytes(wanted));
  if (plan.free_bytes == 0) return text;
  text += fmt::format("; {} are free", megabytes(plan.free_bytes));
  return wanted > plan.free_bytes ? text + ", which is not enough" : text;
}

std::string time_line(const JoinPlan& plan) {
  const Round rounds = round_after(plan.recipe.run.steps, plan.recipe.local.steps);
  const double least = static_cast<double>(rounds.value()) * plan.recipe.run.round_seconds_min;
  std::string text = fmt::format("{} rounds in all", rounds.value());
  if (least > 0) text += fmt::format(", {:.0f} s at least", least);
  return text + "; how long one takes is up to the group, and Ctrl-C leaves it at any time";
}

std::string network_line(const JoinPlan& plan) {
  std::string text = fmt::format("listens on {}", plan.listen);
  if (plan.listen.ends_with(":0")) text += " (any free port)";
  if (plan.map_port) text += ", which the router is asked to open";
  if (!plan.advertise.empty()) {
    text += fmt::format(", advertises {}", fmt::join(plan.advertise, " "));
  }
  const Recipe::Group& group = plan.recipe.group;
  if (!group.rendezvous.empty()) {
    text += fmt::format(", leaves its addresses at {}", group.rendezvous);
  }
  const bool alone = is_of_this_machine_only(plan.listen) && plan.advertise.empty();
  if (group.discovery == "lan") {
    text += fmt::format(", answers searches for runs on this {}", alone ? "machine" : "network");
  }
  // A sum goes out in parts and comes back whole; a neighbour gets all of the model.
  const std::uint64_t vectors = is_loose_run(plan.recipe) ? neighbours(plan.recipe) : 2;
  return fmt::format("{}; up to {} a round each way", text, megabytes(vectors * state_bytes(plan)));
}

}  // namespace

std::uint64_t memory_estimate(const JoinPlan& plan) {
  const std::uint64_t state = state_bytes(plan);
  // No log of results there, but up to two models of each neighbour.
  if (is_loose_run(plan.recipe)) return (kValuesAParameter + 2 * neighbours(plan.recipe)) * state;
  const Round rounds = round_after(plan.recipe.run.steps, plan.recipe.local.steps);
  const auto log_max = static_cast<std::uint64_t>(plan.recipe.group.result_log_bytes);
  // Results are kept until there are too many bytes of them; a count that overflows is no matter.
  const double all_results = static_cast<double>(state) * static_cast<double>(rounds.value());
  const std::uint64_t log = all_results < static_cast<double>(log_max)
                                ? static_cast<std::uint64_t>(all_results)
                                : log_max;
  return kValuesAParameter * state + log;
}

std::string plan_text(const JoinPlan& plan) {
  return fmt::format(
      "what this run will use on this machine:\n  run      {}: {} with {} values, {} samples per "
      "step {}\n  data     {}\n  memory   {}\n  time     {}\n  network  {}\n  "
      "files    {}\n",
      plan.recipe.run.name, plan.recipe.model.name, plan.size.elements,
      plan.recipe.run.global_batch,
      is_loose_run(plan.recipe) ? "at each member" : "among all members", data_line(plan),
      memory_line(plan), time_line(plan), network_line(plan), plan.out);
}

Status review_join(const Recipe& recipe, const TrainerPlan& size, const JoinRequest& request,
                   const std::string& out) {
  if (request.yes) return {};
  JoinPlan plan;
  plan.recipe = recipe;
  plan.size = size;
  WEFT_TRY_ASSIGN(plan.files, find_data_files(recipe, foreign_data_places(request.data)));
  plan.listen = request.listen;
  plan.advertise = request.advertise;
  plan.map_port = request.map_port;
  plan.out = out;
  plan.free_bytes = memory_facts().free_bytes;
  return agree_to_plan(plan, is_terminal_there() ? AskPerson(ask_on_terminal) : AskPerson());
}

Status agree_to_plan(const JoinPlan& plan, const AskPerson& ask) {
  std::fputs(plan_text(plan).c_str(), stderr);
  if (!ask) return {};
  const std::optional<std::string> line = ask("Take part? [y/N] ");
  if (line.has_value() && (*line == "y" || *line == "Y" || *line == "yes")) return {};
  return aborted(
      "join: nobody agreed to that, so this peer does not take part; with --yes it does "
      "not ask");
}

}  // namespace weft
