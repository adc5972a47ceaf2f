// CodedRounds: a gradient code at work: what each worker computes in each round, whose messages
// came, and the coefficients that turn them into the gradient of a whole batch.
//
// Job j is the gradient of one batch at one set of parameters; it begins in round j, both counted
// from 1, and is decoded by the end of round j + delay(). So delay() + 1 jobs are open at once, and
// training has that many models. A batch is cut into chunks(), of which a worker sums some in
// each mini-task and sends the sum as one message (chunk_sums.h). All values are sums over samples:
// the mean is the decoded sum over the number of samples.
//
// What a worker does in a round may depend on which messages came in the rounds before, so the
// collector announces to all which did, before the next round begins. A message that comes after
// its round is refused, and must be dropped: what the others then do does not reckon with it.
//
// Where it stands: CodingScheme (coding_scheme.h) makes it; a caller computes, sends and adds up.
// Threads: one owner. Memory: O(workers * delay()) terms, however many rounds pass.
// Fails: delivered() and decode(), as said there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "weft/base/status.h"
#include "weft/code/chunk/chunk_sums.h"
#include "weft/code/rounds/straggler_model.h"

namespace weft {

// A part of a job that one worker does in one round.
struct MiniTask {
  std::int64_t job = 0;
  // Its place among the worker's parts of the job, by which the collector credits it.
  std::size_t part = 0;
  // The message is the sum of these.
  std::vector<ChunkTerm> terms;
};

// Names a message: mini-task `index` of the list of `worker` in `round`.
struct MessageId {
  std::size_t worker = 0;
  std::int64_t round = 0;
  std::size_t index = 0;
};

struct MessageTerm {
  MessageId message;
  Coefficient coefficient = 1;
};

struct JobDecode {
  // Their sum is that of the gradients of all chunks.
  std::vector<MessageTerm> terms;
  // As in ChunkDecode.
  double largest_coefficient = 0;
  double amplification = 0;
};

// Each worker's mini-tasks.
using CodedPlan = std::vector<std::vector<MiniTask>>;

// What a code decides. CodedRounds calls it in the order of the rounds.
class RoundPlanner {
 public:
  RoundPlanner() = default;
  virtual ~RoundPlanner() = default;
  RoundPlanner(const RoundPlanner&) = delete;
  RoundPlanner& operator=(const RoundPlanner&) = delete;

  // The mini-tasks of a round, after all messages of those before it.
  virtual CodedPlan plan(std::int64_t round) = 0;
  // A message of the round that was planned last came, for the first time.
  virtual void delivered(const MessageId& message, const MiniTask& task) = 0;
  // kUnavailable while messages are missing.
  virtual Result<JobDecode> decode(std::int64_t job) const = 0;
};

struct CodedRoundsInfo {
  std::size_t workers = 1;
  // 0: without end.
  std::int64_t jobs = 0;
  // The share of a batch in each chunk; they sum to 1.
  std::vector<double> shares;
  // Rounds between the first of a job and the one after which it is decoded.
  std::int64_t delay = 0;
  // The largest share of a batch, over all mini-tasks, that a worker computes in a round.
  double load = 0;
  StragglerModel model;
};

class CodedRounds {
 public:
  CodedRounds(CodedRoundsInfo info, std::unique_ptr<RoundPlanner> planner);

  std::size_t workers() const { return info_.workers; }
  std::size_t chunks() const { return info_.shares.size(); }
  double share(std::size_t chunk) const { return info_.shares[chunk]; }
  std::int64_t delay() const { return info_.delay; }
  double load() const { return info_.load; }
  // Where the rounds so far are of this model, every job j is decodable by the end of round
  // j + delay().
  const StragglerModel& model() const { return info_.model; }

  // The round that is open, from 1.
  std::int64_t round() const { return round_; }
  // In the open round, or one of the delay() + 1 before it. REQUIRES: one of these, and a worker.
  const std::vector<MiniTask>& task(std::size_t worker, std::int64_t round) const;
  // A message came whole. Again changes nothing. kAborted if its round is over: drop the message;
  // kInvalidArgument if there is none of that name.
  Status delivered(const MessageId& message);
  // The open round is over, and the next one begins.
  void end_round();

  // kUnavailable with what is missing if the messages so far do not give the sum, and
  // kInvalidArgument for jobs that have not begun, or ended more than delay() + 1 rounds ago.
  Result<JobDecode> decode(std::int64_t job) const;

 private:
  struct Round {
    CodedPlan plan;
    std::vector<std::vector<bool>> came;
  };

  void open(std::int64_t round);

  CodedRoundsInfo info_;
  std::unique_ptr<RoundPlanner> planner_;
  std::int64_t round_ = 0;
  // The open one is the last.
  std::deque<Round> rounds_;
};

}  // namespace weft
