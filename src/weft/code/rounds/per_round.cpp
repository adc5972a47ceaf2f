#include "weft/code/rounds/per_round.h"

#include <algorithm>
#include <utility>

#include "weft/code/rounds/arrivals.h"
#include "weft/code/rounds/open_jobs.h"

namespace weft {
namespace {

class PerRoundPlanner final : public RoundPlanner {
 public:
  PerRoundPlanner(std::unique_ptr<const ChunkSums> sums, std::int64_t jobs)
      : sums_(std::move(sums)), jobs_(jobs), open_(0) {}

  CodedPlan plan(std::int64_t round) override {
    CodedPlan plan(sums_->workers());
    if (jobs_ != 0 && round > jobs_) return plan;
    open_.begin(round, Arrivals(sums_->workers()));
    for (std::size_t worker = 0; worker < plan.size(); ++worker) {
      plan[worker].push_back({.job = round, .terms = sums_->row(worker)});
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
  OpenJobs<Arrivals> open_;
};

}  // namespace

std::unique_ptr<CodedRounds> per_round(std::unique_ptr<const ChunkSums> sums, std::int64_t jobs) {
  const double share = 1 / static_cast<double>(sums->chunks());
  CodedRoundsInfo info = {
      .workers = sums->workers(),
      .jobs = jobs,
      .shares = std::vector<double>(sums->chunks(), share),
      .load = share * static_cast<double>(sums->row(0).size()),
      .model = {.burst = 1, .window = 1, .distinct = sums->stragglers()},
  };
  return std::make_unique<CodedRounds>(std::move(info),
                                       std::make_unique<PerRoundPlanner>(std::move(sums), jobs));
}

}  // namespace weft
