// sr_sgc: selective repeat. A code for fewer stragglers than a round may have, and workers whose
// result was one of too many missing ones repeat it `burst` rounds later.
//
// With bursts of at most B rounds, W = x B + 1 and s = ceil(B lambda / (W - 1 + B)) = ceil(lambda /
// (x + 1)): a worker that straggled in round t - B does not straggle in round t, and in no x + 1
// rounds that are B apart do more than lambda <= (x + 1) s workers straggle, so repeating never
// falls behind for longer than the model lets those who repeat be on time.
//
// IMPLEMENTATION: Krishnan, Ebrahimi, Khisti, 2023, section 3.1 (SR-SGC). Those who repeat are
// those with the lowest numbers. The code of a round is fractional repetition where that exists,
// else cyclic.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "weft/code/code_def.h"
#include "weft/code/rounds/arrivals.h"
#include "weft/code/rounds/open_jobs.h"

namespace weft {
namespace {

constexpr Option kSelectiveRepeatOptions[] = {
    {.name = "burst",
     .fallback = 1,
     .min = 1,
     .max = 16,
     .whole = true,
     .help = "Rounds within which a straggler is slow, and after which a task is repeated."},
    {.name = "window",
     .fallback = 2,
     .min = 2,
     .max = 65,
     .whole = true,
     .help =
         "Rounds in which at most `distinct` workers straggle; one more than a multiple of burst."},
    {.name = "distinct",
     .fallback = 1,
     .min = 0,
     .max = 512,
     .whole = true,
     .help = "Different workers that may straggle in a window."},
};

class SelectiveRepeat final : public RoundPlanner {
 public:
  SelectiveRepeat(std::unique_ptr<const ChunkSums> sums, std::int64_t jobs, std::int64_t burst)
      : sums_(std::move(sums)), jobs_(jobs), burst_(burst), open_(burst) {}

  CodedPlan plan(std::int64_t round) override {
    const bool begins = jobs_ == 0 || round <= jobs_;
    if (begins) open_.begin(round, Arrivals(sums_->workers()));
    std::size_t repeats = 0;
    const Arrivals* past = open_.find(round - burst_);
    if (past != nullptr) {
      const std::size_t missing = sums_->workers() - past->count();
      repeats = missing - std::min(missing, sums_->stragglers());
    }
    CodedPlan plan(sums_->workers());
    for (std::size_t worker = 0; worker < plan.size(); ++worker) {
      if (repeats > 0 && !past->has(worker)) {
        plan[worker].push_back({.job = round - burst_, .terms = sums_->row(worker)});
        --repeats;
      } else if (begins) {
        plan[worker].push_back({.job = round, .terms = sums_->row(worker)});
      }
    }
    return plan;
  }

  void delivered(const MessageId& message, const MiniTask& task) override {
    if (Arrivals* arrivals = open_.find(task.job)) arrivals->add(message);
  }

  Result<JobDecode> decode(std::int64_t job) const override {
    return decode_open(open_, *sums_, job);
  }

 private:
  std::unique_ptr<const ChunkSums> sums_;
  std::int64_t jobs_;
  std::int64_t burst_;
  OpenJobs<Arrivals> open_;
};

Status check_selective_repeat(std::span<const double> options) {
  const auto burst = static_cast<int>(options[0]);
  const auto window = static_cast<int>(options[1]);
  if ((window - 1) % burst == 0) return {};
  return invalid_argument(fmt::format(
      "sr_sgc: window: expected one more than a multiple of burst = {}, got {}", burst, window));
}

Result<std::unique_ptr<CodedRounds>> selective_repeat(const CodeInput& input) {
  const std::size_t burst = input.option(0);
  const std::size_t window = input.option(1);
  const std::size_t distinct = input.option(2);
  if (distinct > input.workers) {
    return invalid_argument(
        fmt::format("distinct: expected at most the {} workers, got {}", input.workers, distinct));
  }
  const std::size_t apart = window - 1 + burst;
  const std::size_t stragglers = (burst * distinct + apart - 1) / apart;
  WEFT_TRY_ASSIGN(auto sums, any_sums({input.workers, stragglers}));
  const double share = 1 / static_cast<double>(sums->chunks());
  CodedRoundsInfo info = {
      .workers = input.workers,
      .jobs = input.jobs,
      .shares = std::vector<double>(sums->chunks(), share),
      .delay = static_cast<std::int64_t>(burst),
      .load = share * static_cast<double>(sums->row(0).size()),
      .model = {.burst = burst, .window = window, .distinct = distinct},
  };
  return std::make_unique<CodedRounds>(
      std::move(info), std::make_unique<SelectiveRepeat>(std::move(sums), input.jobs,
                                                         static_cast<std::int64_t>(burst)));
}

}  // namespace

extern const CodeDef sr_sgc_code = {
    .name = "sr_sgc",
    .summary =
        "Cyclic or fractional repetition for fewer stragglers; missing results are repeated later "
        "(Krishnan et al. 2023, SR-SGC).",
    .load_text = "(ceil(burst distinct / (window - 1 + burst)) + 1) / n",
    .options = kSelectiveRepeatOptions,
    .check = check_selective_repeat,
    .rounds = selective_repeat,
};

}  // namespace weft
