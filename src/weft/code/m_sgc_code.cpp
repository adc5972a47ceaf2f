// m_sgc: multiplexed. In each round a worker does one small task for each of W - 1 + B jobs:
// without redundancy first, and only then coded, or what it missed.
//
// A batch is cut in two. Each worker has W - 1 chunks of the first part, which nobody else
// computes; it does one of them in each of the rounds t to t + W - 2 of job t. The second part is
// cut into B groups of n chunks; in round t + W - 1 + b each worker sends its sum of group b, of a
// code that tolerates lambda stragglers, unless it has an own chunk that did not come: then it
// repeats that. A worker that straggles is late in at most B rounds of a window, so it repeats all
// its own chunks by the end; and one that repeats in a round has straggled within the W rounds up
// to it, so no group misses more than lambda workers.
//
// All mini-tasks are of one size: own chunks have lambda + 1 times the share of those of a group.
//
// IMPLEMENTATION: Krishnan, Ebrahimi, Khisti, 2023, section 3.2 (M-SGC). The code of a group is
// fractional repetition where that exists, else cyclic. With lambda = n there are no groups, and
// the last B rounds of a job are only for repeating.
#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "weft/code/code_def.h"
#include "weft/code/rounds/arrivals.h"
#include "weft/code/rounds/open_jobs.h"

namespace weft {
namespace {

constexpr Option kMultiplexedOptions[] = {
    {.name = "burst",
     .fallback = 1,
     .min = 1,
     .max = 16,
     .whole = true,
     .help = "Rounds within which a straggler is slow; less than window."},
    {.name = "window",
     .fallback = 2,
     .min = 2,
     .max = 64,
     .whole = true,
     .help = "Rounds in which at most `distinct` workers straggle."},
    {.name = "distinct",
     .fallback = 1,
     .min = 0,
     .max = 512,
     .whole = true,
     .help = "Different workers that may straggle in a window."},
};

// What came of one job.
struct MultiplexedJob {
  // own[worker][k]: the message with its chunk k.
  std::vector<std::vector<std::optional<MessageId>>> own;
  std::vector<Arrivals> groups;
};

class Multiplexed final : public RoundPlanner {
 public:
  // `sums` is null if there are no groups.
  Multiplexed(std::unique_ptr<const ChunkSums> sums, const CodeInput& input)
      : sums_(std::move(sums)),
        workers_(input.workers),
        jobs_(input.jobs),
        burst_(input.option(0)),
        own_chunks_(input.option(1) - 1),
        open_(static_cast<std::int64_t>(own_chunks_ + burst_) - 1) {}

  CodedPlan plan(std::int64_t round) override {
    if (is_job(round)) open_.begin(round, empty_job());
    CodedPlan plan(workers_);
    for (std::size_t slot = 0; slot < own_chunks_ + burst_; ++slot) {
      const std::int64_t job = round - static_cast<std::int64_t>(slot);
      if (!is_job(job)) continue;
      const MultiplexedJob* state = open_.find(job);
      for (std::size_t worker = 0; worker < workers_; ++worker) {
        if (auto task = task_of(*state, worker, slot)) {
          task->job = job;
          plan[worker].push_back(std::move(*task));
        }
      }
    }
    return plan;
  }

  void delivered(const MessageId& message, const MiniTask& task) override {
    MultiplexedJob* state = open_.find(task.job);
    if (state == nullptr) return;
    if (task.part < own_chunks_) {
      state->own[message.worker][task.part] = message;
    } else {
      state->groups[task.part - own_chunks_].add(message);
    }
  }

  Result<JobDecode> decode(std::int64_t job) const override {
    const MultiplexedJob* state = open_.find(job);
    if (state == nullptr) return internal_error("the job is not open");
    JobDecode decoded = {.terms = {}, .largest_coefficient = 1, .amplification = 1};
    for (std::size_t worker = 0; worker < workers_; ++worker) {
      for (std::size_t k = 0; k < own_chunks_; ++k) {
        const std::optional<MessageId>& message = state->own[worker][k];
        if (!message) {
          return unavailable(
              fmt::format("not decodable: worker {} has not sent its own chunk {} of {}", worker,
                          k + 1, own_chunks_));
        }
        decoded.terms.push_back({*message, 1});
      }
    }
    for (std::size_t group = 0; group < state->groups.size(); ++group) {
      const Status status = state->groups[group].decode(*sums_, decoded);
      if (!status.ok()) return status.with_context(fmt::format("group {}", group));
    }
    return decoded;
  }

 private:
  bool is_job(std::int64_t job) const { return job >= 1 && (jobs_ == 0 || job <= jobs_); }

  MultiplexedJob empty_job() const {
    MultiplexedJob job;
    job.own.assign(workers_, std::vector<std::optional<MessageId>>(own_chunks_));
    if (sums_ != nullptr) job.groups.assign(burst_, Arrivals(workers_));
    return job;
  }

  // What `worker` does for a job in its round number `slot`; its job is not set yet.
  std::optional<MiniTask> task_of(const MultiplexedJob& state, std::size_t worker,
                                  std::size_t slot) const {
    const auto& own = state.own[worker];
    std::size_t chunk = slot;
    if (slot >= own_chunks_) {
      const auto missing = std::find(own.begin(), own.end(), std::nullopt);
      chunk = static_cast<std::size_t>(missing - own.begin());
    }
    MiniTask task;
    task.part = chunk;
    if (chunk < own_chunks_) {
      task.terms.push_back({.chunk = worker * own_chunks_ + chunk});
      return task;
    }
    if (sums_ == nullptr) return std::nullopt;
    task.part = slot;
    const std::size_t group = slot - own_chunks_;
    task.terms = terms_from(*sums_, worker, workers_ * own_chunks_ + group * sums_->chunks());
    return task;
  }

  std::unique_ptr<const ChunkSums> sums_;
  std::size_t workers_;
  std::int64_t jobs_;
  std::size_t burst_;
  // Each worker's own chunks: W - 1.
  std::size_t own_chunks_;
  OpenJobs<MultiplexedJob> open_;
};

Status check_multiplexed(std::span<const double> options) {
  if (options[0] < options[1]) return {};
  return invalid_argument(
      fmt::format("m_sgc: burst: expected less than window = {}, got {}", options[1], options[0]));
}

// The shares of all chunks: own ones, then those of the groups.
std::vector<double> multiplexed_shares(const CodeInput& input, const ChunkSums* sums) {
  const auto burst = static_cast<double>(input.options[0]);
  const double own = input.options[1] - 1;
  const auto workers = static_cast<double>(input.workers);
  std::vector<double> shares;
  if (sums == nullptr) {
    shares.assign(input.workers * (input.option(1) - 1), 1 / (workers * own));
    return shares;
  }
  const double copies = input.options[2] + 1;
  const double unit = 1 / (workers * (burst + own * copies));
  shares.assign(input.workers * (input.option(1) - 1), copies * unit);
  const double group = workers * unit / static_cast<double>(sums->chunks());
  shares.insert(shares.end(), input.option(0) * sums->chunks(), group);
  return shares;
}

Result<std::unique_ptr<CodedRounds>> multiplexed(const CodeInput& input) {
  const std::size_t distinct = input.option(2);
  if (distinct > input.workers) {
    return invalid_argument(
        fmt::format("distinct: expected at most the {} workers, got {}", input.workers, distinct));
  }
  std::unique_ptr<const ChunkSums> sums;
  if (distinct < input.workers) {
    WEFT_TRY_ASSIGN(sums, any_sums({input.workers, distinct}));
  }
  const std::size_t slots = input.option(1) - 1 + input.option(0);
  CodedRoundsInfo info = {
      .workers = input.workers,
      .jobs = input.jobs,
      .shares = multiplexed_shares(input, sums.get()),
      .delay = static_cast<std::int64_t>(slots) - 1,
      .model = {.burst = input.option(0), .window = input.option(1), .distinct = distinct},
  };
  // A mini-task has the share of an own chunk.
  info.load = static_cast<double>(slots) * info.shares.front();
  return std::make_unique<CodedRounds>(std::move(info),
                                       std::make_unique<Multiplexed>(std::move(sums), input));
}

}  // namespace

extern const CodeDef m_sgc_code = {
    .name = "m_sgc",
    .summary =
        "A small task for each of window - 1 + burst jobs per round, coded only at their end "
        "(Krishnan et al. 2023, M-SGC).",
    .load_text = "(distinct + 1) (window - 1 + burst) / (n (burst + (window - 1) (distinct + 1)))",
    .options = kMultiplexedOptions,
    .check = check_multiplexed,
    .rounds = multiplexed,
};

}  // namespace weft
