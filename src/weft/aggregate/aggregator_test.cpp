// Each rule against values of an independent reference in NumPy (which ByzFL 0.0.2 agrees with
// where it has the rule), against the definition of robustness, ties, and updates that are no
// numbers.
#include "weft/aggregate/aggregator.h"

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/aggregate/aggregator_def.h"
#include "weft/base/rng.h"

namespace weft::aggregator_test {
namespace {

using testing::HasSubstr;
using testing::Pointwise;
using Update = std::vector<float>;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

std::vector<std::span<const float>> spans(const std::vector<Update>& updates) {
  return {updates.begin(), updates.end()};
}

Update aggregate(std::string_view rule, const std::vector<Update>& updates, int liars,
                 std::uint64_t seed = 0) {
  const Result<Aggregator> aggregator = Aggregator::parse(rule);
  EXPECT_TRUE(aggregator.ok()) << aggregator.status().message();
  const Status sound = aggregator->check(static_cast<int>(updates.size()), liars);
  EXPECT_TRUE(sound.ok()) << sound.message();
  Update out(updates.front().size());
  aggregator->aggregate(spans(updates), {liars, seed}, out);
  return out;
}

std::string refusal(std::string_view rule) {
  const Result<Aggregator> aggregator = Aggregator::parse(rule);
  EXPECT_FALSE(aggregator.ok()) << rule;
  return aggregator.ok() ? "" : std::string(aggregator.status().message());
}

// 11 updates of 4 values in general position; the last two are far out.
std::vector<Update> general_position() {
  std::vector<Update> updates;
  for (int i = 0; i < 11; ++i) {
    Update& update = updates.emplace_back();
    for (int k = 0; k < 4; ++k) {
      const double far = i >= 9 ? (k % 2 == 0 ? 5 : -5) : 0;
      update.push_back(static_cast<float>(std::sin(1 + 3 * i + 7 * k) + 0.1 * i + far));
    }
  }
  return updates;
}

struct Golden {
  std::string rule;
  std::vector<double> expected;
};

TEST(Aggregator, RulesGiveTheReferencesValuesInGeneralPosition) {
  const std::vector<Golden> goldens = {
      {"mean", {1.42776727189, -0.354196372076, 1.47318477671, -0.367344423533}},
      {"median", {0.749877209663, 0.036366115787, 1.03665563854, -0.0323517500978}},
      {"trimmed_mean", {0.691342207709, 0.23166698089, 0.803888025136, 0.139919270533}},
      {"meamed", {0.437619094196, 0.481739333105, 0.485627840797, 0.447370711318}},
      {"geometric_median:rounds=3:smoothing=0.1",
       {0.650289974218, 0.282910891997, 0.48826322618, 0.143957549918}},
      {"geometric_median:rounds=1000",
       {0.753798993611, 0.604247454164, 0.774147217651, 0.276983707169}},
      {"krum", {0.841470984808, 0.989358246623, 0.650287840157, -0.0088513092904}},
      {"krum:neighbours=8", {0.841470984808, 0.989358246623, 0.650287840157, -0.0088513092904}},
      {"multi_krum", {0.561103727596, 0.554888217608, 0.465406061095, 0.336699972044}},
      {"multi_krum:neighbours=8:keep=9",
       {0.437619094196, 0.481739333105, 0.485627840797, 0.447370711318}},
      {"centered_clip:norm=2:rounds=1",
       {0.523882712331, 0.168398804946, 0.511264602204, 0.13825605894}},
      {"centered_clip:norm=2:rounds=3",
       {0.683089973226, 0.278765887411, 0.721965454822, 0.239631619616}},
      {"mda", {0.437619094196, 0.481739333105, 0.485627840797, 0.447370711318}},
      {"bulyan", {0.753730979066, 1.16430361768, 1.01443980237, -0.0576592673389}},
      {"flag:rank=1:rounds=1", {0.171091480423, 0.275007242743, 0.296599381499, 0.113995241908}},
      {"flag:rank=2:rounds=1", {0.522971608500, 0.112744155094, 0.326031417623, -0.0992565659290}},
      {"flag:rank=2", {0.496952661531, 0.163480303786, 0.309948980305, -0.114251785078}},
      {"flag:rank=3:rounds=100",
       {0.555745424383, 0.137544765472, 0.274695774495, -0.0792003764883}},
      {"flag", {0.596625707844, 0.0346729211110, 0.288386985738, 0.0764865684168}},
  };
  for (const Golden& golden : goldens) {
    EXPECT_THAT(aggregate(golden.rule, general_position(), 2),
                Pointwise(testing::DoubleNear(2e-6), golden.expected))
        << golden.rule;
  }
}

TEST(Aggregator, SelectionsMixTheUpdatesAsTheReferenceDoes) {
  const std::vector<Update> updates = general_position();
  Distances distances(11);
  distances.measure(spans(updates));
  const auto row = [&](std::string_view rule, int wanted) {
    const WeightMatrix weights = Aggregator::parse(rule)->select(distances, {2, 0});
    std::vector<double> sum(4);
    for (int i = 0; i < 11; ++i) {
      for (std::size_t k = 0; k < 4; ++k) {
        sum[k] +=
            weights.at(wanted, i) * static_cast<double>(updates[static_cast<std::size_t>(i)][k]);
      }
    }
    return sum;
  };
  const auto near = [](const std::vector<double>& expected) {
    return Pointwise(testing::DoubleNear(2e-6), expected);
  };
  EXPECT_THAT(row("nnm", 10),
              near({1.84514039966, -0.259419154934, 1.94017757251, -0.433822140382}));
  EXPECT_THAT(row("arc", 10),
              near({1.45037988416, -0.959919343861, 1.77563965418, -0.781015747957}));
}

TEST(Aggregator, AutoIsTheRuleThatWeRecommend) {
  EXPECT_EQ(Aggregator::parse("auto")->text(), "nnm trimmed_mean");
  EXPECT_THAT(refusal("auto median"), HasSubstr("got \"auto\""));
  EXPECT_EQ(aggregate("auto", general_position(), 2),
            aggregate("nnm trimmed_mean", general_position(), 2));
}

// Terms of which f32 can square none are measured in f64.
TEST(Distances, HoldAtTheEndsOfTheRangeOfF32) {
  for (const float scale : {1e-30F, 1e30F}) {
    const std::vector<Update> updates = {Update(40, 3 * scale), Update(40, -scale)};
    Distances distances(2);
    distances.measure(spans(updates));
    const auto unit = static_cast<double>(scale);
    EXPECT_NEAR(distances.between(0, 1) / (40 * 16 * unit * unit), 1, 1e-6);
    EXPECT_NEAR(distances.norm(0) / (40 * 9 * unit * unit), 1, 1e-6);
  }
}

// The inputs of ByzFL's own tests: three points on a line, so that ties decide.
TEST(Aggregator, TiesGoToTheLowestRank) {
  const std::vector<Update> line = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}};
  EXPECT_EQ(aggregate("median", line, 1), (Update{4, 5, 6}));
  EXPECT_EQ(aggregate("trimmed_mean", line, 1), (Update{4, 5, 6}));
  EXPECT_EQ(aggregate("meamed", line, 1), (Update{2.5, 3.5, 4.5}));
  EXPECT_EQ(aggregate("mda", line, 1), (Update{2.5, 3.5, 4.5}));
  EXPECT_EQ(aggregate("centered_clip:norm=100:rounds=1", line, 1), (Update{4, 5, 6}));
  EXPECT_EQ(aggregate("nnm", line, 1), (Update{3.5, 4.5, 5.5}));
  EXPECT_THAT(
      aggregate("clip:norm=2 mean", line, 1),
      Pointwise(testing::FloatNear(1e-6F), {(.53452248F + .91168461F + 1.00514142F) / 3,
                                            (1.06904497F + 1.13960576F + 1.14873305F) / 3,
                                            (1.60356745F + 1.36752692F + 1.29232469F) / 3}));
  const std::vector<Update> same(7, Update{1, -2});
  for (const AggregatorDef* def : aggregators()) {
    if (def->name == "bulyan" || def->name == "clip") continue;
    EXPECT_THAT(aggregate(def->name, same, 1), Pointwise(testing::FloatNear(1e-6F), {1.F, -2.F}))
        << def->name;
  }
  EXPECT_EQ(aggregate("krum", {{5}, {1}, {2}, {2}, {1}, {5}, {9}}, 2), Update{1});
}

TEST(Aggregator, EvenNumbersHaveTheMeanOfTheMiddleTwo) {
  EXPECT_EQ(aggregate("median", {{1}, {9}, {2}, {100}}, 1), Update{5.5F});
  EXPECT_EQ(aggregate("median", {{1}, {9}}, 0), Update{5});
  EXPECT_EQ(aggregate("trimmed_mean", {{1}, {9}}, 0), Update{5});
}

// (f, kappa)-robustness: |F(x) - mean_S|^2 <= kappa / |S| sum_S |x_i - mean_S|^2 for every S of
// n - f updates, whatever the others are. Allouah et al., AISTATS 2023, definition 2 and table 1.
struct Bound {
  std::string rule;
  double (*kappa)(double ratio);  // of ratio = f / (n - 2f)
};

double squared(const std::vector<double>& a, const std::vector<double>& b) {
  return std::transform_reduce(a.begin(), a.end(), b.begin(), 0.0, std::plus<>(),
                               [](double x, double y) { return (x - y) * (x - y); });
}

// The mean of all updates whose bit is set in `members`, and their mean squared distance to it.
std::pair<std::vector<double>, double> spread(const std::vector<Update>& updates,
                                              unsigned members) {
  std::vector<std::vector<double>> chosen;
  for (std::size_t i = 0; i < updates.size(); ++i) {
    if ((members >> i & 1U) != 0) chosen.emplace_back(updates[i].begin(), updates[i].end());
  }
  std::vector<double> mean(updates.front().size());
  for (const auto& update : chosen) {
    for (std::size_t k = 0; k < mean.size(); ++k) {
      mean[k] += update[k] / static_cast<double>(chosen.size());
    }
  }
  double sum = 0;
  for (const auto& update : chosen) sum += squared(update, mean);
  return {mean, sum / static_cast<double>(chosen.size())};
}

void expect_robust(const Bound& bound, const std::vector<Update>& updates, int liars) {
  const auto n = static_cast<int>(updates.size());
  const Update out = aggregate(bound.rule, updates, liars);
  const std::vector<double> result(out.begin(), out.end());
  const double kappa = bound.kappa(liars / static_cast<double>(n - 2 * liars));
  for (unsigned members = 0; members < 1U << static_cast<unsigned>(n); ++members) {
    if (std::popcount(members) != n - liars) continue;
    const auto [mean, variance] = spread(updates, members);
    EXPECT_LE(squared(result, mean), kappa * variance * (1 + 1e-5) + 1e-9)
        << bound.rule << ", members " << members;
  }
}

// Mixing first makes of a rule's bound 8 f / (n - f) (1 + kappa), as the same paper shows.
template <double (*kKappa)(double ratio)>
double mixed_first(double ratio) {
  return 8 * ratio / (1 + ratio) * (1 + kKappa(ratio));
}

double kappa_of_krum(double ratio) { return 6 * (1 + ratio); }
double kappa_of_middle(double ratio) { return 4 * (1 + ratio) * (1 + ratio); }
double kappa_of_trimmed(double ratio) { return 6 * ratio * (1 + ratio); }

// Liars at one place, far out, near the others, or each elsewhere.
std::vector<Update> with_liars(int members, int liars, int trial, Rng& rng) {
  std::vector<Update> updates;
  const bool together = trial % 2 == 0;
  const double far = std::pow(10, trial % 5 - 1);
  for (int i = 0; i < members; ++i) {
    if (together && i > 0 && i < liars) {
      updates.push_back(updates.front());
      continue;
    }
    Update& update = updates.emplace_back();
    for (int k = 0; k < 3; ++k) {
      update.push_back(static_cast<float>((i < liars ? far : 1) * rng.normal()));
    }
  }
  return updates;
}

TEST(Aggregator, RobustRulesKeepTheirBoundForEverySetOfHonestMembers) {
  const std::vector<Bound> bounds = {
      {"median", kappa_of_middle},
      {"geometric_median:rounds=2000", kappa_of_middle},
      {"trimmed_mean", kappa_of_trimmed},
      {"krum", kappa_of_krum},
      {"nnm median", mixed_first<kappa_of_middle>},
      {"nnm geometric_median:rounds=2000", mixed_first<kappa_of_middle>},
      {"nnm trimmed_mean", mixed_first<kappa_of_trimmed>},
      {"nnm krum", mixed_first<kappa_of_krum>},
  };
  Rng rng(7);
  for (int trial = 0; trial < 60; ++trial) {
    const int liars = 1 + trial % 3;
    const int members = std::min(9, 2 * liars + 3 + trial % 4);
    const std::vector<Update> updates = with_liars(members, liars, trial, rng);
    for (const Bound& bound : bounds) expect_robust(bound, updates, liars);
  }
}

// By trying every group of n - f.
TEST(Aggregator, MdaFindsTheGroupWithTheSmallestDiameter) {
  Rng rng(11);
  for (int trial = 0; trial < 60; ++trial) {
    const int members = 3 + trial % 8;
    const int liars = static_cast<int>(rng.below(static_cast<std::uint64_t>(members + 1) / 2));
    std::vector<Update> updates;
    for (int i = 0; i < members; ++i) {
      // Few different values, so that some groups are equally good.
      Update& update = updates.emplace_back();
      for (int k = 0; k < 2; ++k) update.push_back(static_cast<float>(rng.below(5)));
    }
    double smallest = std::numeric_limits<double>::infinity();
    std::vector<int> best;
    for (unsigned group = 0; group < 1U << static_cast<unsigned>(members); ++group) {
      if (std::popcount(group) != members - liars) continue;
      std::vector<int> ranks;
      for (int i = 0; i < members; ++i) {
        if ((group >> static_cast<unsigned>(i) & 1U) != 0) ranks.push_back(i);
      }
      double diameter = 0;
      for (const int a : ranks) {
        for (const int b : ranks) {
          const Update& one = updates[static_cast<std::size_t>(a)];
          const Update& other = updates[static_cast<std::size_t>(b)];
          diameter =
              std::max(diameter, squared({one.begin(), one.end()}, {other.begin(), other.end()}));
        }
      }
      if (diameter < smallest || (diameter == smallest && ranks < best)) best = ranks;
      smallest = std::min(smallest, diameter);
    }
    Update expected(2);
    for (const int i : best) {
      for (std::size_t k = 0; k < 2; ++k) {
        expected[k] +=
            updates[static_cast<std::size_t>(i)][k] / static_cast<float>(members - liars);
      }
    }
    EXPECT_THAT(aggregate("mda", updates, liars), Pointwise(testing::FloatNear(1e-5F), expected))
        << members << " members, " << liars << " liars, trial " << trial;
  }
}

// As many as a view may have, with as many liars as the rule takes, and distances in no order.
TEST(Aggregator, MdaIsFoundForTheMostMembers) {
  Rng rng(3);
  std::vector<Update> updates;
  for (int i = 0; i < kAggregatorMembersMax; ++i) {
    const double far = i % 16 == 5 ? 40 : 0;
    Update& update = updates.emplace_back();
    for (int k = 0; k < 4; ++k) update.push_back(static_cast<float>(rng.normal() + far));
  }
  for (const float value : aggregate("mda", updates, 16)) EXPECT_LE(std::abs(value), 1.0F);
}

TEST(Aggregator, LiarsThatSendNoNumbersAreLeftOut) {
  for (const float poison : {kNaN, kInfinity, -kInfinity, 3e38F}) {
    std::vector<Update> updates = general_position();
    for (int liar = 0; liar < 2; ++liar) updates[static_cast<std::size_t>(liar)][1] = poison;
    for (const AggregatorDef* def : aggregators()) {
      const std::string name(def->name);
      // Before another rule, which then sees the liars or what holds them.
      const bool first = def->column == nullptr && def->rows == nullptr;
      const std::string rule = first ? name + " trimmed_mean" : name;
      if (name == "bucketing") continue;
      for (const float value : aggregate(rule, updates, 2)) {
        EXPECT_LT(std::abs(value), 10) << rule << " with " << poison;
      }
    }
    EXPECT_LT(std::abs(aggregate("bucketing trimmed_mean", updates, 2, 3)[1]), 10);
  }
}

TEST(Aggregator, TheMeanHidesNothing) {
  EXPECT_FALSE(std::isfinite(aggregate("mean", {{1}, {kNaN}, {2}}, 0)[0]));
}

TEST(Aggregator, NeighboursMixedFirstSurviveDataThatDiffer) {
  // Two kinds of honest members; liars are the negative mean. The median of unlike ones is far off.
  const std::vector<Update> updates = {{4, 0}, {0, 4}, {4, 0}, {0, 4}, {4, 0}, {0, 4}, {-2, -2}};
  const Update mixed = aggregate("nnm trimmed_mean", updates, 1);
  const Update plain = aggregate("median", updates, 1);
  EXPECT_NEAR(mixed[0], 2, 0.7);
  EXPECT_NEAR(mixed[1], 2, 0.7);
  EXPECT_LT(plain[0], 1);
}

TEST(Aggregator, BucketsAreDrawnBySeedAndKeepTheMean) {
  const std::vector<Update> updates = general_position();
  EXPECT_EQ(aggregate("bucketing median", updates, 2, 5),
            aggregate("bucketing median", updates, 2, 5));
  EXPECT_NE(aggregate("bucketing median", updates, 2, 5),
            aggregate("bucketing median", updates, 2, 6));
  std::vector<Update> even(updates.begin(), updates.end() - 1);
  EXPECT_THAT(aggregate("bucketing mean", even, 2, 9),
              Pointwise(testing::FloatNear(1e-5F), aggregate("mean", even, 2)));
}

TEST(Aggregator, RefusesTooFewMembersInWords) {
  const auto check = [](std::string_view rule, int members, int liars) {
    return std::string(Aggregator::parse(rule)->check(members, liars).message());
  };
  EXPECT_EQ(check("bulyan", 8, 2), "bulyan takes 4 f + 3 = 11 members against 2 liars, got 8");
  EXPECT_THAT(check("krum", 4, 1), HasSubstr("2 f + 3 = 5 members against 1 liars, got 4"));
  EXPECT_THAT(check("bucketing:size=3 median", 7, 1), testing::IsEmpty());
  EXPECT_THAT(check("bucketing:size=4 median", 7, 1),
              HasSubstr("3 updates that the rule before it leaves against 1 liars, got 2"));
  EXPECT_THAT(check("median", 257, 1), HasSubstr("at most 256 members"));
  EXPECT_THAT(check("median", 7, -1), HasSubstr("0 or more liars"));
  EXPECT_THAT(check("mda", 256, 17), HasSubstr("mda takes at most 16 liars, got 17"));
  EXPECT_THAT(check("mda", 256, 16), testing::IsEmpty());
  EXPECT_TRUE(Aggregator().check(1, 0).ok());
}

TEST(Aggregator, NamesAndOptionsAreReadStrictly) {
  EXPECT_THAT(refusal("medain"), HasSubstr("did you mean \"median\"?"));
  EXPECT_THAT(refusal(""), HasSubstr("expected one of mean, auto, arc, bucketing, "));
  EXPECT_THAT(refusal("median krum"), HasSubstr("median gives one value for each coordinate"));
  EXPECT_THAT(refusal("median:keep=2"), HasSubstr("median: expected no option, got \"keep=2\""));
  EXPECT_THAT(refusal("multi_krum:kep=2"),
              HasSubstr("multi_krum: expected neighbours=NUMBER or keep=NUMBER, got \"kep=2\""));
  EXPECT_THAT(refusal("multi_krum:keep=1.5"), HasSubstr("expected a whole number from 0 to 256"));
  EXPECT_THAT(refusal("clip:norm=nan"), HasSubstr("got \"nan\""));
  EXPECT_THAT(refusal("clip:norm=-1"), HasSubstr("got \"-1\""));
  EXPECT_THAT(refusal("nnm nnm nnm nnm nnm nnm nnm nnm nnm"), HasSubstr("at most 8 rules"));
  EXPECT_THAT(refusal(std::string(600, 'x')), HasSubstr("at most 512 characters"));
  for (const std::string_view text : {"mean", "nnm trimmed_mean", "multi_krum:keep=5", "clip"}) {
    EXPECT_EQ(Aggregator::parse(text)->text(), text);
  }
}

// --- Distances.

TEST(Distances, PiecesAddUpToTheWholeAndSumsOfUpdatesFollow) {
  const std::vector<Update> updates = general_position();
  Distances whole(11);
  whole.measure(spans(updates));
  Distances parts(11);
  for (std::size_t at = 0; at < 4; at += 2) {
    std::vector<std::span<const float>> piece;
    piece.reserve(updates.size());
    for (const Update& update : updates) piece.push_back(std::span(update).subspan(at, 2));
    Distances part(11);
    part.measure(piece);
    parts.add(part);
  }
  EXPECT_THAT(parts.values(), Pointwise(testing::DoubleNear(1e-9), whole.values()));

  WeightMatrix weights(2, 11);
  weights.at(0, 3) = 0.25;
  weights.at(0, 9) = 0.75;
  weights.at(1, 3) = 2;
  const Distances mixed = whole.of(weights);
  double between = 0;
  double norm = 0;
  for (std::size_t k = 0; k < 4; ++k) {
    const double first = 0.25 * updates[3][k] + 0.75 * updates[9][k];
    between += std::pow(first - 2.0 * updates[3][k], 2);
    norm += first * first;
  }
  EXPECT_NEAR(mixed.between(0, 1), between, 1e-9);
  EXPECT_NEAR(mixed.norm(0), norm, 1e-9);
  EXPECT_EQ(mixed.between(1, 1), 0);
}

TEST(Distances, FromASumAreThoseOfItsRow) {
  const std::vector<Update> updates = general_position();
  Distances distances(11);
  distances.measure(spans(updates));
  WeightMatrix rows(12, 11);
  for (int i = 0; i < 11; ++i) rows.at(1 + i, i) = 1;
  rows.at(0, 2) = 0.5;
  rows.at(0, 5) = -0.25;
  rows.at(0, 10) = 1.5;
  const Distances expected = distances.of(rows);
  const std::vector<double> far = distances.from_sum(rows.row(0));
  for (int i = 0; i < 11; ++i) {
    EXPECT_NEAR(far[static_cast<std::size_t>(i)], expected.between(0, 1 + i), 1e-9);
  }
}

TEST(Distances, UpdatesThatAreNearlyEqualKeepTheirDigits) {
  const std::vector<Update> updates = {Update(5000, 1e4F), Update(5000, 1e4F)};
  std::vector<Update> near = updates;
  near[1][4999] = std::nextafter(1e4F, 2e4F);
  Distances distances(2);
  distances.measure(spans(near));
  const double step = static_cast<double>(near[1][4999]) - 1e4;
  EXPECT_EQ(distances.between(0, 1), step * step);
}

TEST(Distances, WhatIsNotFiniteIsInfinitelyFar) {
  Distances distances(3);
  distances.measure(spans({{1, kNaN}, {1, 2}, {kInfinity, 2}}));
  EXPECT_EQ(distances.between(0, 1), kInfinity);
  EXPECT_EQ(distances.between(0, 2), kInfinity);
  EXPECT_EQ(distances.between(0, 0), kInfinity);
  EXPECT_EQ(distances.norm(2), kInfinity);
  EXPECT_EQ(distances.norm(1), 5);
  EXPECT_THAT(distances.from_sum(std::vector<double>{0, 2, 0}),
              testing::ElementsAre(kInfinity, testing::DoubleNear(5, 1e-12), kInfinity));
  // Two sums with the same share of what is not finite are no nearer.
  WeightMatrix weights(3, 3);
  for (int row = 0; row < 2; ++row) weights.at(row, 0) = 0.5;
  weights.at(2, 1) = 2;
  EXPECT_EQ(distances.of(weights).between(0, 1), kInfinity);
  EXPECT_EQ(distances.of(weights).norm(2), 20);
}

}  // namespace
}  // namespace weft::aggregator_test
