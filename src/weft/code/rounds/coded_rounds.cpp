#include "weft/code/rounds/coded_rounds.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "weft/base/check.h"

namespace weft {

CodedRounds::CodedRounds(CodedRoundsInfo info, std::unique_ptr<RoundPlanner> planner)
    : info_(std::move(info)), planner_(std::move(planner)) {
  open(1);
}

void CodedRounds::open(std::int64_t round) {
  round_ = round;
  Round& opened = rounds_.emplace_back();
  opened.plan = planner_->plan(round);
  WEFT_CHECK(opened.plan.size() == info_.workers);
  for (const std::vector<MiniTask>& tasks : opened.plan) {
    opened.came.emplace_back(tasks.size(), false);
  }
  if (rounds_.size() > static_cast<std::size_t>(info_.delay) + 2) rounds_.pop_front();
}

void CodedRounds::end_round() { open(round_ + 1); }

const std::vector<MiniTask>& CodedRounds::task(std::size_t worker, std::int64_t round) const {
  const std::int64_t first = round_ + 1 - static_cast<std::int64_t>(rounds_.size());
  WEFT_CHECK(worker < info_.workers && round >= first && round <= round_);
  return rounds_[static_cast<std::size_t>(round - first)].plan[worker];
}

Status CodedRounds::delivered(const MessageId& message) {
  if (message.worker >= info_.workers) {
    return invalid_argument(
        fmt::format("worker: expected 0 to {}, got {}", info_.workers - 1, message.worker));
  }
  if (message.round < round_) {
    return aborted(fmt::format("worker {}: round {} is over, round {} is open; drop the message",
                               message.worker, message.round, round_));
  }
  Round& open = rounds_.back();
  const std::vector<MiniTask>& tasks = open.plan[message.worker];
  if (message.round > round_ || message.index >= tasks.size()) {
    return invalid_argument(
        fmt::format("message {} of worker {} in round {}: expected one of {} in round {}",
                    message.index, message.worker, message.round, tasks.size(), round_));
  }
  if (open.came[message.worker][message.index]) return {};
  open.came[message.worker][message.index] = true;
  planner_->delivered(message, tasks[message.index]);
  return {};
}

Result<JobDecode> CodedRounds::decode(std::int64_t job) const {
  const std::int64_t first = std::max<std::int64_t>(1, round_ - 2 * info_.delay - 1);
  const std::int64_t last = info_.jobs == 0 ? round_ : std::min(round_, info_.jobs);
  if (job < first || job > last) {
    return invalid_argument(fmt::format("job: expected {} to {}, got {}", first, last, job));
  }
  Result<JobDecode> decoded = planner_->decode(job);
  return decoded.ok() ? decoded : decoded.status().with_context(fmt::format("job {}", job));
}

}  // namespace weft
