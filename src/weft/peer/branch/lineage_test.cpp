#include "weft/peer/lineage.h"

#include <gtest/gtest.h>

namespace weft::lineage_test {
namespace {

const Hash256 kQ{1};
const Hash256 kR{2};

BranchPoint point(const Hash256& branch, std::uint64_t samples) {
  return {branch, ViewId{ViewNumber(5), {}}, samples};
}

TEST(Lineage, ABranchAndItsRunPartWhereItLeft) {
  const Divergence d = divergence({{}, 180}, {{{point(kQ, 100)}, {}}, 130});
  EXPECT_EQ(d.first, 80U);
  EXPECT_EQ(d.second, 30U);
}

TEST(Lineage, TwoBranchesOfOneRunPartAtTheEarlierPoint) {
  const Divergence d = divergence({{{point(kQ, 100)}, {}}, 150}, {{{point(kR, 120)}, {}}, 130});
  EXPECT_EQ(d.first, 50U);
  EXPECT_EQ(d.second, 30U);
}

TEST(Lineage, ABranchOfABranchSharesItsHistory) {
  const Lineage q{{point(kQ, 100)}, {}};
  const Lineage r{{point(kQ, 100), point(kR, 140)}, {}};
  const Divergence d = divergence({q, 150}, {r, 170});
  EXPECT_EQ(d.first, 10U);
  EXPECT_EQ(d.second, 30U);
  const Divergence root = divergence({{}, 110}, {r, 170});
  EXPECT_EQ(root.first, 10U);
  EXPECT_EQ(root.second, 70U);
}

TEST(Lineage, WhatWasAbsorbedCountsOnce) {
  const BranchTotal run{{}, 180};
  const BranchTotal q{{{point(kQ, 100)}, {}}, 130};
  const Lineage after = absorb(run, q);
  EXPECT_TRUE(has_absorbed(after, kQ, 130));
  EXPECT_FALSE(has_absorbed(after, kQ, 131));
  // The run has learned 80 alone and 30 from the branch, which goes on by 20 of
  // its own.
  const BranchTotal merged{after, 210};
  const Divergence d = divergence(merged, {q.lineage, 150});
  EXPECT_EQ(d.first, 80U);
  EXPECT_EQ(d.second, 20U);
  // A branch of that branch brings what it learned after the absorption, and
  // what it learned alone.
  const Lineage r{{point(kQ, 100), point(kR, 140)}, {}};
  EXPECT_EQ(divergence(merged, {r, 170}).second, 40U);
}

TEST(Lineage, ABranchMayAbsorbItsRun) {
  const BranchTotal q{{{point(kQ, 100)}, {}}, 180};
  const Lineage after = absorb(q, {{}, 130});
  const Divergence d = divergence({after, 210}, {{}, 150});
  EXPECT_EQ(d.first, 80U);
  EXPECT_EQ(d.second, 20U);
}

TEST(Lineage, WhatTheAbsorbedHadAbsorbedCountsOnce) {
  const BranchTotal q{{{point(kQ, 100)}, {}}, 130};
  const BranchTotal r{{{point(kR, 100)}, {}}, 150};
  const BranchTotal r_with_q{absorb(r, q), 180};
  const BranchTotal run{{}, 190};
  EXPECT_EQ(divergence(run, r_with_q).second, 80U);
  const BranchTotal all{absorb(run, r_with_q), 270};
  EXPECT_EQ(divergence(all, {q.lineage, 131}).second, 1U);
}

TEST(Lineage, TheListOfAbsorbedBranchesIsBounded) {
  BranchTotal run{{}, 1000};
  for (std::uint8_t i = 0; i < 100; ++i) {
    const Hash256 branch{3, i};
    run.lineage = absorb(run, {{{point(branch, 10)}, {}}, 20});
  }
  EXPECT_EQ(run.lineage.absorbed.size(), kAbsorbedMax);
}

}  // namespace
}  // namespace weft::lineage_test
