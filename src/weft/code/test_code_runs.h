// Runs of a gradient code over rounds with stragglers, and the sum that its coefficients give. For
// tests. Threads: one owner. Fails: never.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "weft/base/rng.h"
#include "weft/base/status.h"
#include "weft/code/code_def.h"
#include "weft/code/coding_scheme.h"
#include "weft/code/rounds/coded_rounds.h"

namespace weft {

// Each code with its defaults and with each option at both ends of its range, where that is a text
// that parses.
inline std::vector<std::string> every_code() {
  std::vector<std::string> all;
  for (const CodeDef* def : codes()) {
    all.emplace_back(def->name);
    for (const Option& option : def->options) {
      for (const double end : {option.min, option.max}) {
        std::string text = fmt::format("{}:{}={}", def->name, option.name, end);
        if (CodingScheme::parse(text).ok()) all.push_back(std::move(text));
      }
    }
  }
  return all;
}

// The mini-tasks of all rounds, kept apart from the code under test.
class SentMessages {
 public:
  // Keeps those of the open round.
  void add(const CodedRounds& rounds) {
    for (std::size_t worker = 0; worker < rounds.workers(); ++worker) {
      const std::vector<MiniTask>& tasks = rounds.task(worker, rounds.round());
      for (std::size_t i = 0; i < tasks.size(); ++i) {
        sent_[{worker, rounds.round(), i}] = tasks[i];
      }
    }
  }

  // The largest difference between a chunk's coefficient in the decoded sum and 1; infinite if a
  // message of another job, or none, is used.
  double error_of(const CodedRounds& rounds, std::int64_t job, const JobDecode& decoded) const {
    std::vector<Coefficient> totals(rounds.chunks());
    for (const MessageTerm& term : decoded.terms) {
      const auto found = sent_.find({term.message.worker, term.message.round, term.message.index});
      if (found == sent_.end() || found->second.job != job) return INFINITY;
      for (const ChunkTerm& chunk : found->second.terms) {
        totals[chunk.chunk] += term.coefficient * chunk.coefficient;
      }
    }
    double error = 0;
    for (const Coefficient& total : totals) error = std::max(error, std::abs(total - 1.0));
    return error;
  }

 private:
  std::map<std::tuple<std::size_t, std::int64_t, std::size_t>, MiniTask> sent_;
};

// As many stragglers as the model admits in the next round, of workers in random order, each with
// the probability `chance`.
inline std::vector<bool> admitted_stragglers(const StragglerHistory& history, std::size_t workers,
                                             double chance, Rng& rng) {
  std::vector<std::size_t> order(workers);
  for (std::size_t i = 0; i < workers; ++i) order[i] = i;
  for (std::size_t i = workers; i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
  std::vector<bool> late(workers, false);
  for (const std::size_t worker : order) {
    if (!rng.chance(chance)) continue;
    late[worker] = true;
    if (!history.admits(late)) late[worker] = false;
  }
  return late;
}

// Delivers the messages of the open round of all but the late ones.
inline Status deliver(CodedRounds& rounds, const std::vector<bool>& late) {
  for (std::size_t worker = 0; worker < rounds.workers(); ++worker) {
    if (late[worker]) continue;
    for (std::size_t i = 0; i < rounds.task(worker, rounds.round()).size(); ++i) {
      WEFT_TRY(rounds.delivered({worker, rounds.round(), i}));
    }
  }
  return {};
}

// The largest share of a batch that a worker computes in the open round.
inline double counted_load(const CodedRounds& rounds) {
  double largest = 0;
  for (std::size_t worker = 0; worker < rounds.workers(); ++worker) {
    double load = 0;
    for (const MiniTask& task : rounds.task(worker, rounds.round())) {
      for (const ChunkTerm& term : task.terms) load += rounds.share(term.chunk);
    }
    largest = std::max(largest, load);
  }
  return largest;
}

// Runs `jobs` jobs with stragglers of the code's own model. Says what is wrong first: a job that is
// not decoded when its delay is over, or to another sum, or work beyond the load; empty if nothing.
inline std::string fault_of_run(CodedRounds& rounds, std::int64_t jobs, double chance, Rng& rng) {
  StragglerHistory history(rounds.model());
  SentMessages sent;
  double load = 0;
  for (std::int64_t round = 1; round <= jobs + rounds.delay(); ++round) {
    sent.add(rounds);
    load = std::max(load, counted_load(rounds));
    const std::vector<bool> late = admitted_stragglers(history, rounds.workers(), chance, rng);
    history.add(late);
    if (const Status status = deliver(rounds, late); !status.ok()) return status.message();
    if (const std::int64_t job = round - rounds.delay(); job >= 1) {
      const Result<JobDecode> decoded = rounds.decode(job);
      if (!decoded.ok()) return decoded.status().message();
      const double error = sent.error_of(rounds, job, *decoded);
      if (!(error < 1e-7)) return fmt::format("job {}: error {}", job, error);
    }
    rounds.end_round();
  }
  if (load > rounds.load() * (1 + 1e-12)) {
    return fmt::format("load: expected at most {}, got {}", rounds.load(), load);
  }
  return {};
}

}  // namespace weft
