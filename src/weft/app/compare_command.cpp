#include "weft/app/compare_command.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "weft/app/compare/figures.h"
#include "weft/app/compare/number_files.h"
#include "weft/app/compare/report_page.h"
#include "weft/app/compare/report_plots.h"
#include "weft/app/compare/result_folder.h"
#include "weft/app/compare/run_plan.h"
#include "weft/app/compare/run_recorder.h"
#include "weft/app/compare_plan.h"
#include "weft/app/member/local_peers.h"
#include "weft/app/program/program_run.h"
#include "weft/app/terminal/interrupt.h"
#include "weft/app/terminal/slow_notice.h"
#include "weft/app/terminal/standard_output.h"
#include "weft/app/terminal/terminal.h"
#include "weft/base/exception_status.h"
#include "weft/base/log.h"
#include "weft/base/parallel.h"
#include "weft/base/printable.h"
#include "weft/base/time.h"

namespace weft {
namespace {

// The time that is left, from the samples that runs train on and those that are done.
class TimeLeft {
 public:
  explicit TimeLeft(double samples) : all_(samples) {}
  void run_done(double samples) { done_ += samples; }
  // `part` of a run of so many samples is done. NaN at the beginning.
  double seconds(double part, double samples) const {
    const double done = done_ + part * samples;
    if (done <= 0) return std::numeric_limits<double>::quiet_NaN();
    return to_seconds(clock_.now() - begun_) * (all_ - done) / done;
  }

 private:
  SystemClock clock_;
  TimePoint begun_ = clock_.now();
  double all_;
  double done_ = 0;
};

// What is said while the runs go on.
class CompareNews {
 public:
  CompareNews(bool json, std::size_t count) : json_(json), count_(count) {}
  std::string next(const ComparedRun& run) {
    ++number_;
    return fmt::format("run {} of {}: {}, seed {}", number_, count_, run.contender, run.seed);
  }
  void done(const ComparedRun& run, bool kept) const {
    const ComparedRunNews news{number_, count_, kept};
    print_text(json_ ? run_line(run, news) : run_text(run, news) + "\n");
  }
  void refused(const ComparedRun& run, const Status& status) const {
    ComparedRun shown = run;
    shown.fault = status.message();
    done(shown, false);
  }
  void skip() { ++number_; }

 private:
  const bool json_;
  const std::size_t count_;
  std::size_t number_ = 0;
};

Result<ComparedRun> simulate(const PlannedRun& run, SlowNotice& notice, const TimeLeft& left) {
  const SystemClock clock;
  const TimePoint begun = clock.now();
  const double samples = planned_samples(run.recipe);
  RunRecorder recorder;
  std::unique_ptr<sim::World> world;
  sim::WorldEvents events;
  events.on_round = [&](const sim::WorldRound& round) {
    recorder.on_round(world->trainer(), round);
    const auto rounds = static_cast<double>(world->trainer().training_rounds().value());
    const double part = std::min(1.0, static_cast<double>(round.round.value()) / rounds);
    notice.progress(part, 1, left.seconds(part, samples));
  };
  events.stop_asked = interrupted;
  try {
    WEFT_TRY_ASSIGN(world, simulated_world(run.sim, run.recipe, events));
    const sim::WorldResult ended = world->run();
    if (ended.stopped) return aborted("interrupted");
    ComparedRun out = recorder.finish(ended, run.result);
    out.seconds = to_seconds(clock.now() - begun);
    return out;
  } catch (const std::exception& fault) {  // no memory for so many peers, for example
    return exception_status("weft", fault);
  }
}

// A run of either kind.
Result<ComparedRun> run_one(const PlannedRun& run, const ResultFolder& folder, SlowNotice& notice,
                            const TimeLeft& left) {
  if (!run.program) return simulate(run, notice, left);
  WEFT_TRY_ASSIGN(const std::string out, folder.fresh_program_folder(run.result));
  return run_program_contender(*run.program, out, interrupted, run.result);
}

// A simulation that fails would fail again; a program may not, so that its failure is not kept.
bool is_worth_keeping(const PlannedRun& run, const ComparedRun& result) {
  return !run.program || result.fault.empty();
}

void keep(ComparePlan& plan, const PlannedRun& run, ComparedRun result) {
  if (!result.fault.empty() && !plan.first_problem) plan.first_problem = ExitCode::kUnavailable;
  plan.comparison.entrants[run.entrant].runs.push_back(std::move(result));
}

// NaN if a program is among them: nobody knows how long it takes.
double missing_samples(const ComparePlan& plan, const ResultFolder& folder) {
  double samples = 0;
  for (const PlannedRun& run : plan.runs) {
    if (folder.load(run.result, nullptr)) continue;
    if (run.program) return std::numeric_limits<double>::quiet_NaN();
    samples += planned_samples(run.recipe);
  }
  return samples;
}

// Runs what the folder does not have yet. Fails where a result cannot be written.
Status run_all(ComparePlan& plan, const ResultFolder& folder, bool json) {
  CompareNews news(json, plan.runs.size());
  TimeLeft left(missing_samples(plan, folder));
  for (const PlannedRun& run : plan.runs) {
    if (interrupted()) {
      plan.comparison.interrupted = true;
      return {};
    }
    if (!plan.comparison.entrants[run.entrant].refusal.empty()) {
      news.skip();
      continue;
    }
    const std::string words = news.next(run.result);
    std::string complaint;
    if (std::optional<ComparedRun> kept = folder.load(run.result, &complaint)) {
      news.done(*kept, true);
      keep(plan, run, *std::move(kept));
      continue;
    }
    if (!complaint.empty()) write_error("weft: " + printable(complaint) + "\n");
    std::optional<SlowNotice> notice(words);
    Result<ComparedRun> result = run_one(run, folder, *notice, left);
    notice.reset();
    left.run_done(planned_samples(run.recipe));
    if (result.status().code() == Code::kAborted) {
      plan.comparison.interrupted = true;
      return {};
    }
    if (!result.ok()) {
      refuse(plan, run.entrant, result.status());
      news.refused(run.result, result.status());
      continue;
    }
    news.done(result.value(), false);
    const Status saved =
        is_worth_keeping(run, result.value()) ? folder.save(result.value()) : Status();
    keep(plan, run, std::move(result).value());
    WEFT_TRY(saved);
  }
  return {};
}

// An interrupted comparison shows the seeds that all contenders have, if there are any.
void leave_out_later_seeds(Comparison& comparison) {
  if (!comparison.interrupted) return;
  std::size_t common = comparison.seeds.size();
  for (const Entrant& entrant : comparison.entrants) {
    if (entrant.refusal.empty()) common = std::min(common, entrant.runs.size());
  }
  if (common == 0) return;
  comparison.seeds.resize(common);
  for (Entrant& entrant : comparison.entrants) {
    if (entrant.runs.size() > common) entrant.runs.resize(common);
  }
}

Status write_report(const ResultFolder& folder, const Comparison& comparison,
                    const Figures& figures, std::vector<std::string>& files) {
  const std::vector<ReportPlot> plots = report_plots(comparison, figures);
  std::vector<std::pair<std::string, std::string>> texts = {
      {"compare.html", report_page(comparison, figures, plots)},
      {"compare.csv", comparison_csv(comparison)},
      {"compare.json", comparison_json(comparison, figures)}};
  for (const ReportPlot& plot : plots) {
    texts.emplace_back("plots/" + plot.file_name, plot_svg(plot.plot, SvgUse::kFile));
  }
  for (const auto& [name, text] : texts) {
    WEFT_TRY(folder.write(name, text));
    files.push_back(folder.path() + "/" + name);
  }
  return {};
}

// What was changed in the recipes, contenders with the same changes in one line.
std::string notes_text(const Comparison& comparison) {
  std::vector<std::pair<std::string, std::string>> names_of;  // (note, names)
  for (const Entrant& entrant : comparison.entrants) {
    if (entrant.note.empty()) continue;
    const auto same = std::find_if(names_of.begin(), names_of.end(),
                                   [&](const auto& one) { return one.first == entrant.note; });
    if (same == names_of.end()) {
      names_of.emplace_back(entrant.note, printable(entrant.contender.name));
    } else {
      same->second += ", " + printable(entrant.contender.name);
    }
  }
  std::string out;
  for (const auto& [note, names] : names_of) out += fmt::format("{}: {}\n", names, note);
  return out;
}

// Contenders without a complete result, on standard error.
void report_problems(const Comparison& comparison, const Figures& figures) {
  for (std::size_t i = 0; i < figures.rows.size(); ++i) {
    if (figures.rows[i].problem.empty()) continue;
    write_error(fmt::format("weft: {}: {}\n", printable(comparison.entrants[i].contender.name),
                            printable(figures.rows[i].problem)));
  }
}

void print_report(const Comparison& comparison, const Figures& figures, bool json,
                  const std::vector<std::string>& files) {
  if (json) {
    print_text(comparison_line(comparison, figures, files));
    return;
  }
  std::string text = "\n";
  for (const std::string& line : comparison_table(comparison, figures)) text += line + "\n";
  text += "\n" + printable(figures.verdict) + "\n";
  text += notes_text(comparison);
  if (!files.empty()) text += fmt::format("report: {}\n", for_standard_output(files.front()));
  print_text(text);
}

}  // namespace

ExitCode compare_command(const CompareRequest& request) {
  set_thread_count(request.sim.threads.value_or(threads_for(1)));
  Result<ComparePlan> made = plan_of(request);
  if (!made.ok()) return report(made.status());
  ComparePlan plan = std::move(made).value();
  const Result<ResultFolder> folder = ResultFolder::open(request.out);
  if (!folder.ok()) return report(folder.status());
  end_politely_if_interrupted("the comparison ends, and what is done is kept (once more: at once)");
  go_on_without_output(
      fmt::format("the comparison goes on; its report will be {}/compare.html", request.out));
  const Status saved = run_all(plan, folder.value(), request.sim.json);
  leave_out_later_seeds(plan.comparison);
  const Figures figures = figures_of(plan.comparison);
  std::vector<std::string> files;
  const Status written =
      saved.ok() ? write_report(folder.value(), plan.comparison, figures, files) : saved;
  print_report(plan.comparison, figures, request.sim.json, files);
  if (!written.ok()) {
    return report(Status(written.code(), written.message() +
                                             "; the results of earlier runs are kept, and the same "
                                             "command goes on from there"));
  }
  if (!plan.comparison.interrupted) report_problems(plan.comparison, figures);
  if (plan.comparison.interrupted) return ExitCode::kInterrupted;
  return plan.first_problem.value_or(ExitCode::kOk);
}

}  // namespace weft
