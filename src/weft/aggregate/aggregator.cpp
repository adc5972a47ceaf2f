#include "weft/aggregate/aggregator.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "weft/aggregate/aggregator_def.h"
#include "weft/aggregate/math/aggregate_loops.h"
#include "weft/aggregate/math/columns.h"
#include "weft/base/nearest_name.h"
#include "weft/base/text/option_text.h"

namespace weft {

#define WEFT_PLUGIN(name) extern const AggregatorDef name##_aggregator;
#include "aggregator_table.inc"
#undef WEFT_PLUGIN

namespace {

constexpr const AggregatorDef* kAggregators[] = {
#define WEFT_PLUGIN(name) &name##_aggregator,
#include "aggregator_table.inc"
#undef WEFT_PLUGIN
};

constexpr std::string_view kMean = "mean";
constexpr std::string_view kAutoSteps = "nnm trimmed_mean";
constexpr std::size_t kStepsMax = 8;
constexpr std::size_t kTextMax = 512;
// Coordinates that are combined together: many, so that each update is read in long pieces, and
// fewer where there are many rows, so that all stays in the second cache.
constexpr std::size_t kBlock = 1024;
constexpr std::size_t kBlockMin = 256;
constexpr std::size_t kBlockValues = 65536;
// Between the rows, which would else begin at places that share the lines of a cache.
constexpr std::size_t kBlockGap = 16;

Status unknown_rule(std::string_view name) {
  std::vector<std::string_view> names = {kMean, kAutoRule};
  for (const AggregatorDef* def : kAggregators) names.push_back(def->name);
  return invalid_argument(fmt::format("expected one of {}, got \"{}\"{}", fmt::join(names, ", "),
                                      name, did_you_mean(name, names)));
}

// The inputs that a row of weights takes in; a weight of 0 leaves an update out, whatever is in it.
struct RowInputs {
  std::vector<const float*> values;
  std::vector<double> weights;
};

RowInputs row_inputs(std::span<const std::span<const float>> inputs,
                     std::span<const double> weights) {
  RowInputs row;
  for (std::size_t input = 0; input < inputs.size(); ++input) {
    if (weights[input] == 0) continue;
    row.values.push_back(inputs[input].data());
    row.weights.push_back(weights[input]);
  }
  return row;
}

// The update that this row is, unchanged; null: it is another sum.
const float* update_of(const RowInputs& row) {
  return row.weights.size() == 1 && row.weights.front() == 1 ? row.values.front() : nullptr;
}

// out[i] = the weighted sum of the inputs at the coordinate of `row`, infinity for NaN.
void weigh_inputs(const RowInputs& row, std::span<float> out) {
  const AggregateLoops& loops = aggregate_loops();
  if (const float* const update = update_of(row)) {
    loops.copy(update, out.data(), out.size());
  } else {
    loops.mix(row.values.data(), row.weights.data(), row.values.size(), out.data(), out.size());
  }
}

// The values of each coordinate side by side, as `column` takes them.
void combine_columns(const AggregatorDef& def, const RuleInput& input, ColumnRows rows,
                     std::span<float> out) {
  std::vector<float> column(rows.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    for (std::size_t row = 0; row < rows.size(); ++row) column[row] = rows[row][i];
    out[i] = def.column(input, column);
  }
}

// Rows of a block of coordinates: where the updates are, or sums of them in a place of their own.
class BlockRows {
 public:
  // `in_place`: updates may be read where they are.
  BlockRows(std::vector<RowInputs> inputs, std::size_t block_size, bool in_place)
      : inputs_(std::move(inputs)), rows_(inputs_.size()), stride_(block_size + kBlockGap) {
    in_place_ = in_place && std::ranges::all_of(inputs_, [](const RowInputs& row) {
                  return update_of(row) != nullptr;
                });
    if (!in_place_) sums_.resize(stride_ * rows_.size());
  }

  // The next `count` coordinates.
  ColumnRows next(std::size_t count) {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      RowInputs& row = inputs_[i];
      if (in_place_) {
        rows_[i] = row.values.front();
      } else {
        const std::span<float> sums = std::span(sums_).subspan(i * stride_, count);
        weigh_inputs(row, sums);
        rows_[i] = sums.data();
      }
      for (const float*& values : row.values) values += count;
    }
    return rows_;
  }

 private:
  std::vector<RowInputs> inputs_;
  std::vector<const float*> rows_;
  std::size_t stride_;
  bool in_place_;
  std::vector<float> sums_;
};

}  // namespace

std::span<const AggregatorDef* const> aggregators() { return kAggregators; }

Result<Aggregator::Step> Aggregator::parse_step(std::string_view text) {
  const std::vector<std::string_view> parts = split_words(text, ':');
  const auto def = std::ranges::find(kAggregators, parts.empty() ? text : parts.front(),
                                     [](const AggregatorDef* each) { return each->name; });
  if (def == std::end(kAggregators)) return unknown_rule(parts.empty() ? text : parts.front());
  WEFT_TRY_ASSIGN(std::vector<double> options,
                  parse_options((*def)->name, (*def)->options, std::span(parts).subspan(1)));
  return Step{*def, std::move(options)};
}

Result<Aggregator> Aggregator::parse(std::string_view text) {
  if (text.size() > kTextMax) {
    return invalid_argument(
        fmt::format("expected at most {} characters, got {}", kTextMax, text.size()));
  }
  Aggregator result;
  const std::vector<std::string_view> words = split_words(text, ' ');
  if (words.empty()) return unknown_rule(text);
  if (words.size() == 1 && words.front() == kMean) return result;
  if (words.size() == 1 && words.front() == kAutoRule) return parse(kAutoSteps);
  if (words.size() > kStepsMax) {
    return invalid_argument(
        fmt::format("expected at most {} rules in a row, got {}", kStepsMax, words.size()));
  }
  for (const std::string_view word : words) {
    // What the rules before leave is averaged in any case.
    if (word == kMean && word.data() == words.back().data()) continue;
    if (!result.steps_.empty() && result.steps_.back().def->column != nullptr) {
      return invalid_argument(
          fmt::format("{} gives one value for each coordinate; expected no rule "
                      "behind it, got \"{}\"",
                      result.steps_.back().def->name, word));
    }
    WEFT_TRY_ASSIGN(Step step, parse_step(word));
    result.steps_.push_back(std::move(step));
  }
  return result;
}

std::string Aggregator::text() const {
  std::string text;
  for (const Step& step : steps_) {
    if (!text.empty()) text += ' ';
    text += step.def->name;
    text += format_options(step.def->options, step.options);
  }
  return text.empty() ? std::string(kMean) : text;
}

Status Aggregator::check(int members, int liars) const {
  if (liars < 0 || members > kAggregatorMembersMax) {
    return invalid_argument(
        fmt::format("expected 0 or more liars of at most {} members, got {} of {}",
                    kAggregatorMembersMax, liars, members));
  }
  int inputs = members;
  for (const Step& step : steps_) {
    if (liars > step.def->most_liars) {
      return invalid_argument(fmt::format("{} takes at most {} liars, got {}", step.def->name,
                                          step.def->most_liars, liars));
    }
    const int least = step.def->least(liars);
    if (inputs < least) {
      return invalid_argument(fmt::format(
          "{} takes {} = {} {} against {} liars, got {}", step.def->name, step.def->least_text,
          least, inputs == members ? "members" : "updates that the rule before it leaves", liars,
          inputs));
    }
    if (step.def->rows != nullptr) inputs = step.def->rows({inputs, liars, 0, step.options});
  }
  return {};
}

bool Aggregator::needs_distances() const {
  return std::ranges::any_of(steps_, [](const Step& step) { return step.def->needs_distances; });
}

WeightMatrix Aggregator::select(const Distances& distances, const AggregateRound& round) const {
  WeightMatrix weights = WeightMatrix::identity(distances.members());
  for (const Step& step : steps_) {
    if (step.def->select == nullptr) continue;
    const RuleInput input{weights.rows(), round.liars, round.seed, step.options};
    weights = weights.followed_by(
        step.def->select(input, &step == steps_.data() ? distances : distances.of(weights)));
  }
  return weights;
}

void Aggregator::combine(std::span<const std::span<const float>> inputs,
                         const WeightMatrix& weights, const AggregateRound& round,
                         std::span<float> out) const {
  const AggregatorDef* const last = steps_.empty() ? nullptr : steps_.back().def;
  const RuleInput input{weights.rows(), round.liars, round.seed,
                        steps_.empty() ? std::span<const double>() : steps_.back().options};
  const auto count_rows = static_cast<std::size_t>(weights.rows());
  const std::size_t block_size = std::clamp(kBlockValues / count_rows, kBlockMin, kBlock);
  std::vector<RowInputs> mixed;
  mixed.reserve(count_rows);
  for (int row = 0; row < weights.rows(); ++row) {
    mixed.push_back(row_inputs(inputs, weights.row(row)));
  }
  const bool has_columns = last != nullptr && last->columns != nullptr;
  BlockRows block(std::move(mixed), block_size, has_columns);
  for (std::size_t at = 0; at < out.size(); at += block_size) {
    const std::span<float> results = out.subspan(at, std::min(block_size, out.size() - at));
    const ColumnRows rows = block.next(results.size());
    if (last == nullptr || last->column == nullptr) {
      means_of_rows(rows, results);
    } else if (has_columns) {
      last->columns(input, rows, results);
    } else {
      combine_columns(*last, input, rows, results);
    }
  }
}

void Aggregator::aggregate(std::span<const std::span<const float>> inputs,
                           const AggregateRound& round, std::span<float> out) const {
  Distances distances(static_cast<int>(inputs.size()));
  if (needs_distances()) distances.measure(inputs);
  combine(inputs, select(distances, round), round, out);
}

}  // namespace weft
