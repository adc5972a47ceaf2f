// How long a training takes with gradient codes where some workers are slow, in a simulation.
//
// usage: coding_schemes [SEEDS [JITTER]]
// 64 workers compute 200 jobs. Each worker changes between a good and a bad state from round to
// round (Gilbert and Elliott); in the bad one it is 6 times slower. A round takes a worker
// base + 64 load seconds, load being the share of a batch that it computes in that round, times a
// random factor in [1, 1 + JITTER), JITTER being 0 unless it is given. A round ends as soon as the
// pattern of those who have not finished, with that of the rounds before, is one that the code's
// model admits (straggler_model.h); what they computed is dropped. Those who finish at the same
// time count together, so nobody is late for finishing last of those in a good state. Prints the
// median over seeds of the total time of each code with its best parameters of those tried, and
// stops if a job was not decoded in time. One thread.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "weft/base/rng.h"
#include "weft/code/coding_scheme.h"

namespace {

constexpr std::size_t kWorkers = 64;
constexpr std::int64_t kJobs = 200;
constexpr double kSlower = 6;

struct Trial {
  int seeds = 3;
  double jitter = 0;
};

struct Setting {
  double base;
  double worsens;
  double recovers;
  // Seconds of uncoded, cyclic, sr_sgc and m_sgc in an independent program with the same rules,
  // other random numbers and one seed.
  double reference[4];
};

constexpr Setting kSettings[] = {{0.2, .01, .9, {782, 751, 611, 370}},
                                 {0.2, .05, .9, {1450, 1833, 1901, 753}},
                                 {2.0, .01, .5, {2788, 1378, 1993, 1312}},
                                 {2.0, .05, .9, {3625, 2244, 3389, 1398}}};

// By how much each worker is slower in each round: the same for every code.
class Workers {
 public:
  Workers(const Setting& setting, std::uint64_t seed, double jitter) {
    weft::Rng rng(seed);
    std::vector<bool> slow(kWorkers, false);
    for (std::int64_t round = 0; round < kJobs + 100; ++round) {
      std::vector<double>& factors = factors_.emplace_back();
      for (std::size_t worker = 0; worker < kWorkers; ++worker) {
        slow[worker] = slow[worker] ? !rng.chance(setting.recovers) : rng.chance(setting.worsens);
        const double random = jitter > 0 ? 1 + jitter * rng.uniform() : 1;
        factors.push_back((slow[worker] ? kSlower : 1) * random);
      }
    }
  }

  double factor(std::int64_t round, std::size_t worker) const {
    return factors_[static_cast<std::size_t>(round - 1)][worker];
  }

 private:
  std::vector<std::vector<double>> factors_;
};

double seconds_of(const weft::CodedRounds& rounds, const Setting& setting, const Workers& workers,
                  std::size_t worker) {
  double load = 0;
  for (const weft::MiniTask& task : rounds.task(worker, rounds.round())) {
    for (const weft::ChunkTerm& term : task.terms) load += rounds.share(term.chunk);
  }
  return (setting.base + 64 * load) * workers.factor(rounds.round(), worker);
}

// Runs the open round up to its end; the seconds that it took.
double run_round(weft::CodedRounds& rounds, const Setting& setting, const Workers& workers,
                 weft::StragglerHistory& history) {
  std::vector<std::pair<double, std::size_t>> finish;
  for (std::size_t worker = 0; worker < kWorkers; ++worker) {
    finish.emplace_back(seconds_of(rounds, setting, workers, worker), worker);
  }
  std::ranges::sort(finish);
  std::vector<bool> late(kWorkers, true);
  double seconds = 0;
  for (const auto& [at, worker] : finish) {
    if (at > seconds && history.admits(late)) break;
    late[worker] = false;
    seconds = at;
  }
  history.add(late);
  for (std::size_t worker = 0; worker < kWorkers; ++worker) {
    if (late[worker]) continue;
    for (std::size_t i = 0; i < rounds.task(worker, rounds.round()).size(); ++i) {
      if (!rounds.delivered({worker, rounds.round(), i}).ok()) std::abort();
    }
  }
  return seconds;
}

// Stops at `limit` seconds: then the total is not of interest.
double total_seconds(weft::CodedRounds& rounds, const Setting& setting, const Workers& workers,
                     double limit) {
  weft::StragglerHistory history(rounds.model());
  double total = 0;
  for (std::int64_t round = 1; round <= kJobs + rounds.delay() && total < limit; ++round) {
    total += run_round(rounds, setting, workers, history);
    const std::int64_t job = round - rounds.delay();
    // A tenth of them: solving for coefficients takes longer than all the rest.
    if (job >= 1 && job % 10 == 0) {
      const auto decoded = rounds.decode(job);
      if (!decoded.ok()) {
        std::fprintf(stderr, "%s\n", decoded.status().message().c_str());
        std::exit(1);
      }
    }
    rounds.end_round();
  }
  return total;
}

struct Best {
  std::string text;
  double seconds = 1e9;
  double load = 0;
};

// Codes that do not exist for these workers are left out.
Best best_of(const std::vector<std::string>& texts, const Setting& setting, const Trial& trial) {
  Best best;
  for (const std::string& text : texts) {
    const auto scheme = weft::CodingScheme::parse(text);
    std::vector<double> totals;
    double load = 0;
    for (int seed = 1; seed <= trial.seeds && scheme.ok(); ++seed) {
      const auto rounds = scheme->coded_rounds(kWorkers, kJobs);
      if (!rounds.ok()) break;
      load = (*rounds)->load() * kWorkers;
      const Workers workers(setting, static_cast<std::uint64_t>(seed), trial.jitter);
      totals.push_back(total_seconds(**rounds, setting, workers, best.seconds * 1.5));
    }
    if (totals.empty()) continue;
    std::ranges::sort(totals);
    const double median = totals[totals.size() / 2];
    if (median < best.seconds) best = {text, median, load};
  }
  return best;
}

std::vector<std::vector<std::string>> all_texts() {
  std::vector<std::vector<std::string>> all(4);
  all[0] = {"uncoded"};
  for (int s = 1; s <= 10; ++s) all[1].push_back(fmt::format("cyclic:stragglers={}", s));
  for (int distinct = 2; distinct <= 24; distinct += 2) {
    for (int burst = 1; burst <= 2; ++burst) {
      for (int window = burst + 1; window <= 5; ++window) {
        const std::string options =
            fmt::format("burst={}:window={}:distinct={}", burst, window, distinct);
        if ((window - 1) % burst == 0) all[2].push_back("sr_sgc:" + options);
        all[3].push_back("m_sgc:" + options);
      }
    }
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  Trial trial;
  if (argc > 1) trial.seeds = std::max(1, std::atoi(argv[1]));
  if (argc > 2) trial.jitter = std::max(0.0, std::atof(argv[2]));
  const std::vector<std::vector<std::string>> all = all_texts();
  for (const Setting& setting : kSettings) {
    fmt::print("base {}, good to bad {}, bad to good {}\n", setting.base, setting.worsens,
               setting.recovers);
    for (std::size_t k = 0; k < all.size(); ++k) {
      const Best best = best_of(all[k], setting, trial);
      fmt::print("  {:8.0f} s (reference {:.0f} s)  {}, load {:.2f} / n\n", best.seconds,
                 setting.reference[k], best.text, best.load);
      std::fflush(stdout);
    }
  }
  return 0;
}
