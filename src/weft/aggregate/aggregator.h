// Aggregator: combines the updates of n members, some of which may lie, into one.
//
// A text names one rule, or several in a row: "trimmed_mean", "nnm trimmed_mean",
// "multi_krum:keep=5"; "auto" is "nnm trimmed_mean". Each file NAME_aggregator.cpp is one rule; see
// docs/HACKING.md to add one.
//
// Two phases, so that no member needs whole updates of all others. First each owner of a chunk
// measures the distances that the updates have there, and the tables are added (Distances; most
// coordinate-wise rules need none). From them all members select the same weights. Then each owner
// combines its chunk.
//
// Weights come first, columns last: a rule may replace the updates by weighted sums of them (krum
// picks one, nnm mixes each with its neighbours), and the last rule may combine the values of one
// coordinate (median). Ties go to the lowest rank. NaN counts as infinitely large.
//
// It is sound only for honest owners; checking what owners compute is not its task. Where it
// stands: collective combines chunks with it. Threads: immutable once parsed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/aggregate/distances.h"
#include "weft/aggregate/weight_matrix.h"
#include "weft/base/status.h"

namespace weft {

struct AggregatorDef;  // aggregator_def.h

// For people who do not want to choose: updates are mixed with their nearest before the trimmed
// mean, which members whose data differ need (Allouah et al. 2023).
inline constexpr std::string_view kAutoRule = "auto";

// Updates of more members would make tables of distances longer than a frame.
inline constexpr int kAggregatorMembersMax = 256;

// What the members agree on for one round.
struct AggregateRound {
  // The maximum number of lying members.
  int liars = 0;
  // Seed of random choices: the same at all members, and unknown to all before the updates are
  // sent.
  std::uint64_t seed = 0;
};

class Aggregator {
 public:
  // The mean.
  Aggregator() = default;
  // kInvalidArgument for an unknown name (with the nearest one), an option that the rule lacks or
  // that is out of range, or a rule after one that returns a single value for each coordinate.
  static Result<Aggregator> parse(std::string_view text);

  // As it was parsed; "mean".
  std::string text() const;
  bool is_mean() const { return steps_.empty(); }
  // kInvalidArgument unless the rule tolerates `liars` among `members`; the message has the number
  // that it needs.
  Status check(int members, int liars) const;

  // Whether select() needs measured distances; otherwise it uses only their number.
  bool needs_distances() const;
  // Which sums of the inputs the columns are taken of. REQUIRES: check() of as many members.
  WeightMatrix select(const Distances& distances, const AggregateRound& round) const;
  // out[i] from inputs[0][i] ... inputs[n-1][i]; the mean of the rows unless a rule defines another
  // combination. `out` may be one of the inputs. REQUIRES: all of equal length.
  void combine(std::span<const std::span<const float>> inputs, const WeightMatrix& weights,
               const AggregateRound& round, std::span<float> out) const;

  // Both phases where all inputs are at one place.
  void aggregate(std::span<const std::span<const float>> inputs, const AggregateRound& round,
                 std::span<float> out) const;

 private:
  struct Step {
    const AggregatorDef* def;
    // In the order of the rule's options.
    std::vector<double> options;
  };
  static Result<Step> parse_step(std::string_view text);

  std::vector<Step> steps_;
};

// All rules, by name.
std::span<const AggregatorDef* const> aggregators();

}  // namespace weft
