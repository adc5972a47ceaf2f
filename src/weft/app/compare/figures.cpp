#include "weft/app/compare/figures.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace weft {
namespace {

// How near to the best mean the target is, where nobody sets one.
constexpr double kTargetAccuracy = 0.98;
constexpr double kTargetLoss = 1.1;

bool is_complete(const EntrantFigures& row) { return row.problem.empty(); }

template <class Take>
Figure figure_of(const Entrant& entrant, const Take& take) {
  std::vector<double> values;
  for (const ComparedRun& run : entrant.runs) {
    if (run.fault.empty()) values.push_back(take(run));
  }
  return {mean_spread(values), false};
}

std::string problem_of(const Entrant& entrant, std::size_t seeds) {
  if (!entrant.refusal.empty()) return entrant.refusal;
  for (const ComparedRun& run : entrant.runs) {
    if (!run.fault.empty()) return fmt::format("seed {}: {}", run.seed, run.fault);
  }
  if (entrant.runs.size() == seeds) return "";
  return fmt::format("{} of {} seeds were run", entrant.runs.size(), seeds);
}

// Marks the best of the complete rows, where they are not all alike.
void mark_best(std::vector<EntrantFigures>& rows, Figure EntrantFigures::*figure,
               bool larger_is_better) {
  std::vector<Figure*> all;
  for (EntrantFigures& row : rows) {
    if (is_complete(row) && std::isfinite((row.*figure).value.mean)) all.push_back(&(row.*figure));
  }
  const auto below = [](const Figure* a, const Figure* b) { return a->value.mean < b->value.mean; };
  const auto [least, most] = std::minmax_element(all.begin(), all.end(), below);
  if (all.size() < 2 || (*least)->value.mean == (*most)->value.mean) return;
  const double best = larger_is_better ? (*most)->value.mean : (*least)->value.mean;
  for (Figure* one : all) one->best = one->value.mean == best;
}

bool reaches(double value, double target, Quality quality) {
  return quality == Quality::kAccuracy ? value >= target : value <= target;
}

void add_target_figures(const Comparison& comparison, Figures& figures) {
  for (std::size_t i = 0; i < comparison.entrants.size(); ++i) {
    std::vector<double> rounds;
    std::vector<double> seconds;
    std::vector<double> bytes;
    for (const ComparedRun& run : comparison.entrants[i].runs) {
      const auto first =
          std::find_if(run.measured.begin(), run.measured.end(), [&](const RunPoint& point) {
            return reaches(quality_of(point, figures.quality), figures.target, figures.quality);
          });
      if (!run.fault.empty() || first == run.measured.end()) continue;
      rounds.push_back(first->round);
      seconds.push_back(first->virtual_seconds);
      bytes.push_back(first->bytes_sent);
    }
    EntrantFigures& row = figures.rows[i];
    row.reached = rounds.size();
    row.rounds_to_target.value = mean_spread(rounds);
    row.seconds_to_target.value = mean_spread(seconds);
    row.bytes_to_target.value = mean_spread(bytes);
  }
  // A mean over the lucky seeds alone is not comparable.
  std::vector<EntrantFigures> whole = figures.rows;
  for (EntrantFigures& row : whole) {
    if (row.reached < row.finished && is_complete(row)) row.problem = "target not reached";
  }
  for (const auto figure : {&EntrantFigures::rounds_to_target, &EntrantFigures::seconds_to_target,
                            &EntrantFigures::bytes_to_target}) {
    mark_best(whole, figure, false);
    for (std::size_t i = 0; i < whole.size(); ++i) (figures.rows[i].*figure) = whole[i].*figure;
  }
}

Quality chosen_quality(const Comparison& comparison, const std::vector<EntrantFigures>& rows) {
  if (comparison.quality) return *comparison.quality;
  const bool all_have_it = std::all_of(rows.begin(), rows.end(), [](const EntrantFigures& row) {
    return row.finished == 0 || std::isfinite(row.accuracy.value.mean);
  });
  return all_have_it ? Quality::kAccuracy : Quality::kLoss;
}

const Figure& quality_figure(const EntrantFigures& row, Quality quality) {
  return quality == Quality::kAccuracy ? row.accuracy : row.loss;
}

// Indices of complete entrants with a finite quality, the best first.
std::vector<std::size_t> ranked_entrants(const Figures& figures) {
  std::vector<std::size_t> out;
  const auto mean = [&](std::size_t i) {
    return quality_figure(figures.rows[i], figures.quality).value.mean;
  };
  for (std::size_t i = 0; i < figures.rows.size(); ++i) {
    if (is_complete(figures.rows[i]) && std::isfinite(mean(i))) out.push_back(i);
  }
  std::stable_sort(out.begin(), out.end(), [&](std::size_t a, std::size_t b) {
    return figures.quality == Quality::kAccuracy ? mean(a) > mean(b) : mean(a) < mean(b);
  });
  return out;
}

double chosen_target(const Comparison& comparison, const Figures& figures,
                     const std::vector<std::size_t>& ranked) {
  if (comparison.target) return *comparison.target;
  if (ranked.empty()) return std::numeric_limits<double>::quiet_NaN();
  const double best = quality_figure(figures.rows[ranked[0]], figures.quality).value.mean;
  if (figures.quality == Quality::kAccuracy) return kTargetAccuracy * best;
  return best > 0 ? kTargetLoss * best : best;
}

// "0.8 points", "0.0123": how far two qualities are apart.
std::string quality_difference(double difference, Quality quality) {
  if (quality == Quality::kAccuracy) return fmt::format("{:.2f} points", 100 * difference);
  return fmt::format("{:.3g}", difference);
}

std::string verdict_of(const Comparison& comparison, const Figures& figures,
                       const std::vector<std::size_t>& ranked) {
  if (ranked.size() < 2) return "There are not two complete contenders to compare.";
  const std::string& first = comparison.entrants[ranked[0]].contender.name;
  const std::string& second = comparison.entrants[ranked[1]].contender.name;
  const MeanSpread& best = quality_figure(figures.rows[ranked[0]], figures.quality).value;
  const MeanSpread& next = quality_figure(figures.rows[ranked[1]], figures.quality).value;
  if (best.count < 2) {
    return "One seed has no spread, so no difference can be told from chance: compare at least "
           "three seeds (--seeds 3).";
  }
  const bool is_accuracy = figures.quality == Quality::kAccuracy;
  const std::string quality = is_accuracy ? "accuracy" : "loss";
  const double margin = std::abs(best.mean - next.mean);
  const double spread = std::hypot(best.spread, next.spread);
  if (margin <= spread) {
    return fmt::format(
        "No contender is clearly best: the test {} of the first two, {} and {}, differs by no more "
        "than their spread over {} seeds.",
        quality, first, second, best.count);
  }
  const Quantity quantity = is_accuracy ? Quantity::kShare : Quantity::kNumber;
  return fmt::format(
      "{} has the best test {}: {}, {} {} than {}, which is more than the spread of both over {} "
      "seeds ({}).",
      first, quality, spread_text(best.mean, best.spread, quantity),
      quality_difference(margin, figures.quality), is_accuracy ? "higher" : "lower", second,
      best.count, quality_difference(spread, figures.quality));
}

std::vector<const ComparedRun*> drawn_runs(const Entrant& entrant) {
  std::vector<const ComparedRun*> whole;
  std::vector<const ComparedRun*> all;
  for (const ComparedRun& run : entrant.runs) {
    all.push_back(&run);
    if (run.fault.empty()) whole.push_back(&run);
  }
  return whole.empty() ? all : whole;
}

// Point k of the curve is made of point k of each run, as far as all have one.
template <class Value>
std::vector<CurvePoint> mean_curve(const Entrant& entrant,
                                   std::vector<RunPoint> ComparedRun::*points, Effort effort,
                                   const Value& value) {
  const std::vector<const ComparedRun*> runs = drawn_runs(entrant);
  if (runs.empty()) return {};
  std::size_t count = (runs[0]->*points).size();
  for (const ComparedRun* run : runs) count = std::min(count, (run->*points).size());
  std::vector<CurvePoint> out;
  for (std::size_t k = 0; k < count; ++k) {
    std::vector<double> xs;
    std::vector<double> ys;
    for (const ComparedRun* run : runs) {
      const RunPoint& point = (run->*points)[k];
      xs.push_back(effort_of(point, effort));
      ys.push_back(value(point));
    }
    const auto [low, high] = std::minmax_element(ys.begin(), ys.end());
    out.push_back({mean_spread(xs).mean, mean_spread(ys).mean, *low, *high});
  }
  return out;
}

bool has_key(const Entrant& entrant, const std::string& name) {
  return std::any_of(entrant.recipe.begin(), entrant.recipe.end(),
                     [&](const NamedText& key) { return key.name == name; });
}

// Whether those that have the key have different values; what a program is asked to do is shown
// beside recipes without one, too.
bool differs(const Comparison& comparison, const DifferingKey& key) {
  const bool is_programs = key.name.starts_with("program.");
  const std::string* first = nullptr;
  bool lacking = false;
  for (std::size_t i = 0; i < comparison.entrants.size(); ++i) {
    const Entrant& entrant = comparison.entrants[i];
    if (!has_key(entrant, key.name)) {
      lacking = lacking || !entrant.recipe.empty();
      continue;
    }
    if (first != nullptr && *first != key.values[i]) return true;
    first = &key.values[i];
  }
  return is_programs && lacking;
}

}  // namespace

MeanSpread mean_spread(std::span<const double> values) {
  MeanSpread out;
  out.count = values.size();
  if (values.empty()) return out;
  double sum = 0;
  for (const double value : values) sum += value;
  out.mean = sum / static_cast<double>(values.size());
  if (values.size() < 2) return out;
  double squares = 0;
  for (const double value : values) squares += (value - out.mean) * (value - out.mean);
  out.spread = std::sqrt(squares / static_cast<double>(values.size() - 1));
  return out;
}

double quality_of(const RunPoint& point, Quality quality) {
  return quality == Quality::kAccuracy ? point.accuracy : point.loss;
}

double effort_of(const RunPoint& point, Effort effort) {
  switch (effort) {
    case Effort::kRounds:
      return point.round;
    case Effort::kSeconds:
      return point.virtual_seconds;
    case Effort::kBytes:
      return point.bytes_sent;
    case Effort::kSamples:
      return point.samples;
  }
  return 0;
}

Figures figures_of(const Comparison& comparison) {
  Figures out;
  for (const Entrant& entrant : comparison.entrants) {
    EntrantFigures& row = out.rows.emplace_back();
    row.accuracy = figure_of(entrant, [](const ComparedRun& run) { return run.last().accuracy; });
    row.loss = figure_of(entrant, [](const ComparedRun& run) { return run.last().loss; });
    row.virtual_seconds =
        figure_of(entrant, [](const ComparedRun& run) { return run.virtual_seconds; });
    row.bytes_sent = figure_of(entrant, [](const ComparedRun& run) { return run.bytes_sent; });
    row.samples = figure_of(entrant, [](const ComparedRun& run) { return run.samples; });
    row.finished = row.loss.value.count;
    row.problem = problem_of(entrant, comparison.seeds.size());
  }
  mark_best(out.rows, &EntrantFigures::accuracy, true);
  mark_best(out.rows, &EntrantFigures::loss, false);
  mark_best(out.rows, &EntrantFigures::virtual_seconds, false);
  mark_best(out.rows, &EntrantFigures::bytes_sent, false);
  out.quality = chosen_quality(comparison, out.rows);
  const std::vector<std::size_t> ranked = ranked_entrants(out);
  out.target = chosen_target(comparison, out, ranked);
  add_target_figures(comparison, out);
  out.verdict = verdict_of(comparison, out, ranked);
  return out;
}

std::vector<CurvePoint> measured_curve(const Entrant& entrant, Effort effort, Quality quality) {
  return mean_curve(entrant, &ComparedRun::measured, effort,
                    [&](const RunPoint& point) { return quality_of(point, quality); });
}

std::vector<CurvePoint> training_curve(const Entrant& entrant, Effort effort) {
  return mean_curve(entrant, &ComparedRun::training, effort,
                    [](const RunPoint& point) { return point.loss; });
}

std::vector<DifferingKey> differing_keys(const Comparison& comparison) {
  std::vector<DifferingKey> all;  // by first appearance
  for (std::size_t i = 0; i < comparison.entrants.size(); ++i) {
    for (const NamedText& key : comparison.entrants[i].recipe) {
      auto found = std::find_if(all.begin(), all.end(),
                                [&](const DifferingKey& one) { return one.name == key.name; });
      if (found == all.end()) {
        found = all.insert(all.end(), {key.name, {}});
        found->values.resize(comparison.entrants.size());
      }
      found->values[i] = key.text;
    }
  }
  std::erase_if(all, [&](const DifferingKey& key) { return !differs(comparison, key); });
  return all;
}

}  // namespace weft
