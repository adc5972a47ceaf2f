#include "weft/collective/report/shares.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include "weft/base/rng.h"

namespace weft::shares_test {
namespace {

std::int64_t sum(std::span<const std::int64_t> values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

MemberReport report(std::uint32_t name, double seconds_per_sample, std::int64_t share,
                    bool settled = true) {
  MemberReport made;
  made.name = name;
  made.attendance = Attendance::kInTime;
  made.share = share;
  made.seconds_per_sample = seconds_per_sample;
  made.compute_seconds = seconds_per_sample * static_cast<double>(share);
  made.settled = settled;
  return made;
}

TEST(SharesBySpeed, AddUpToTheBatchAndNobodyIsIdle) {
  Rng rng(7, 1);
  for (int trial = 0; trial < 2000; ++trial) {
    const auto members = static_cast<std::int64_t>(1 + rng.below(256));
    const auto batch = members + static_cast<std::int64_t>(rng.below(1 << 20));
    std::vector<std::int64_t> speeds;
    std::int64_t all = 0;
    for (std::int64_t i = 0; i < members; ++i) {
      speeds.push_back(1 + static_cast<std::int64_t>(rng.below(1 << 20)));
      all += speeds.back();
    }
    const std::vector<std::int64_t> shares = shares_by_speed(batch, speeds);
    ASSERT_EQ(sum(shares), batch);
    std::int64_t lent = 0;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      ASSERT_GE(shares[i], 1);
      const double exact =
          static_cast<double>(batch) * static_cast<double>(speeds[i]) / static_cast<double>(all);
      if (exact < 1) {
        ++lent;
        continue;
      }
      // Largest remainders round to a neighbour; what the slowest need at least is taken off.
      ASSERT_LT(static_cast<double>(shares[i]), exact + 1);
      ASSERT_GT(static_cast<double>(shares[i]) + 1 + static_cast<double>(lent + members), exact);
    }
  }
}

TEST(SharesBySpeed, AFasterMemberNeverGetsLess) {
  Rng rng(9, 1);
  for (int trial = 0; trial < 500; ++trial) {
    std::vector<std::int64_t> speeds;
    const auto members = 2 + rng.below(20);
    for (std::uint64_t i = 0; i < members; ++i) {
      speeds.push_back(1 + static_cast<std::int64_t>(rng.below(1000)));
    }
    const auto shares = shares_by_speed(64 + static_cast<std::int64_t>(rng.below(4096)), speeds);
    for (std::size_t a = 0; a < speeds.size(); ++a) {
      for (std::size_t b = 0; b < speeds.size(); ++b) {
        if (speeds[a] > speeds[b]) {
          ASSERT_GE(shares[a] + 1, shares[b]);
        }
      }
    }
  }
}

TEST(SharesBySpeed, FollowLargestRemainders) {
  const std::vector<std::int64_t> speeds = {4, 4, 4, 1};
  EXPECT_EQ(shares_by_speed(13, speeds), (std::vector<std::int64_t>{4, 4, 4, 1}));
  EXPECT_EQ(shares_by_speed(256, speeds), (std::vector<std::int64_t>{79, 79, 79, 19}));
  // 24 / 13 = 1.846 samples a unit: 7.38 three times and 1.85.
  EXPECT_EQ(shares_by_speed(24, speeds), (std::vector<std::int64_t>{8, 7, 7, 2}));
  // 24 / 9 = 2.67 samples a unit, so 10.67, 2.67 and 10.67: of equal remainders the slow one loses.
  EXPECT_EQ(shares_by_speed(24, std::vector<std::int64_t>{4, 1, 4}),
            (std::vector<std::int64_t>{11, 2, 11}));
}

TEST(SharesBySpeed, MoreMembersThanSamplesShareEqually) {
  EXPECT_EQ(shares_by_speed(3, std::vector<std::int64_t>{9, 1, 1, 1, 1}), equal_shares(3, 5));
}

Bytes written(const MemberReport& told) {
  Writer out;
  told.write(out);
  return out.take();
}

TEST(MemberReport, IsReadAsItWasWritten) {
  MemberReport told = report(0xabcdef, 1.0 / 3, kShareMax);
  told.attendance = Attendance::kCarried;
  for (const bool settled : {true, false}) {
    told.settled = settled;
    const Bytes bytes = written(told);
    Reader in("member", bytes);
    EXPECT_EQ(MemberReport::read(in), told);
    EXPECT_TRUE(in.finish().ok());
  }
}

TEST(MemberReport, WhatNoMemberWritesIsNoReport) {
  const auto refused = [](const Bytes& bytes) {
    Reader in("member", bytes);
    return MemberReport::read(in) == MemberReport() && in.finish().code() == Code::kCorrupt;
  };
  const auto bytes_of = [](std::uint32_t name, std::uint8_t attendance, std::uint64_t share,
                           double seconds) {
    return Writer().u32(name).u8(attendance).u64(share).f64(0).f64(seconds).u8(1).take();
  };
  EXPECT_FALSE(refused(bytes_of(7, 1, 20, 0.01)));
  EXPECT_TRUE(refused(bytes_of(1U << 24U, 1, 20, 0.01)));
  EXPECT_TRUE(refused(bytes_of(7, 4, 20, 0.01)));
  EXPECT_TRUE(refused(bytes_of(7, 1, static_cast<std::uint64_t>(kShareMax) + 1, 0.01)));
  EXPECT_TRUE(refused(bytes_of(7, 1, 20, -0.01)));
  EXPECT_TRUE(refused(bytes_of(7, 1, 20, std::numeric_limits<double>::quiet_NaN())));
  EXPECT_TRUE(refused(bytes_of(7, 1, 20, std::numeric_limits<double>::infinity())));
  EXPECT_TRUE(refused({}));
}

TEST(Shares, HoldWhateverMembersMayReport) {
  Rng rng(3, 1);
  const double seconds[] = {0.0, 1e-300, 1e-9, 1.0, 1e300, std::numeric_limits<double>::max()};
  for (int trial = 0; trial < 5000; ++trial) {
    MemberReport told = report(static_cast<std::uint32_t>(rng.below(100)),
                               seconds[rng.below(std::size(seconds))], 1);
    told.share = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(kShareMax) + 1));
    Shares shares;
    shares.hear(std::vector<MemberReport>{told, report(77, 0.01, 20)});
    const std::vector<std::uint32_t> names = {told.name, 77};
    EXPECT_EQ(sum(shares.split(names, 100)), 100);
    EXPECT_TRUE(Shares::decode(shares.encode()).ok());
  }
}

constexpr std::uint32_t kA = 11, kB = 22, kC = 33, kD = 44;

TEST(Shares, BeginEqualAndFollowWhatWasMeasured) {
  Shares shares;
  const std::vector<std::uint32_t> names = {kA, kB, kC, kD};
  EXPECT_EQ(shares.split(names, 256), equal_shares(256, 4));
  shares.hear(std::vector<MemberReport>{report(kA, 0.001, 64), report(kB, 0.001, 64),
                                        report(kC, 0.001, 64), report(kD, 0.004, 64)});
  EXPECT_EQ(shares.split(names, 256), (std::vector<std::int64_t>{79, 79, 79, 19}));
  // In another order the shares go with the members.
  const std::vector<std::uint32_t> turned = {kD, kA, kB, kC};
  EXPECT_EQ(shares.split(turned, 256), (std::vector<std::int64_t>{19, 79, 79, 79}));
}

TEST(Shares, StayUntilAllHaveMeasuredThemselvesWithTheirs) {
  Shares shares;
  const std::vector<std::uint32_t> names = {kA, kB};
  shares.hear(std::vector<MemberReport>{report(kA, 0.001, 50), report(kB, 0.009, 50, false)});
  EXPECT_EQ(shares.split(names, 100), equal_shares(100, 2));
  shares.hear(std::vector<MemberReport>{report(kA, 0.001, 50), report(kB, 0.009, 50)});
  EXPECT_EQ(shares.split(names, 100), (std::vector<std::int64_t>{90, 10}));
}

TEST(Shares, StayWhereTheGainIsSmall) {
  const std::vector<std::uint32_t> names = {kA, kB};
  for (const auto& [slower, moves] : {std::pair(0.00130, false), std::pair(0.00140, true)}) {
    Shares shares;
    shares.hear(std::vector<MemberReport>{report(kA, 0.001, 5000), report(kB, slower, 5000)});
    // The round of an equal split is (1 + slower) / 2 times as long as that of the best.
    EXPECT_EQ(shares.split(names, 10000) != equal_shares(10000, 2), moves) << slower;
  }
}

TEST(Shares, AfterAViewChangeStartFromTheLastSpeeds) {
  Shares shares;
  shares.hear(
      std::vector<MemberReport>{report(kA, 0.001, 80, false), report(kB, 0.004, 20, false)});
  // A newcomer counts as one of mean speed: 100 / 3 of the batch.
  const auto split = shares.split(std::vector<std::uint32_t>{kA, kB, kC}, 90);
  EXPECT_EQ(split[2], 30);
  EXPECT_EQ(split, (std::vector<std::int64_t>{48, 12, 30}));
  // One that went and comes back is remembered, though it has not measured itself again.
  shares.hear(std::vector<MemberReport>{report(kB, 0.004, 90)});
  shares.hear(std::vector<MemberReport>{report(kA, 0, 45, false), report(kB, 0.004, 45)});
  EXPECT_EQ(shares.split(std::vector<std::uint32_t>{kA, kB}, 100),
            (std::vector<std::int64_t>{80, 20}));
}

TEST(Shares, OfWhoWasPutOutForComputingTooLongIsHalved) {
  using Halvings = std::vector<std::uint8_t>;
  EXPECT_EQ(halved_shares(90, Halvings{0, 0, 0}), equal_shares(90, 3));
  EXPECT_EQ(halved_shares(100, Halvings{0, 1, 0}), (std::vector<std::int64_t>{40, 20, 40}));
  EXPECT_EQ(sum(halved_shares(101, Halvings{2, 0, 16})), 101);
  Shares shares;
  const std::vector<std::uint32_t> names = {kA, kB};
  EXPECT_EQ(shares.split(names, 90, Halvings{1, 0}), (std::vector<std::int64_t>{30, 60}));
  shares.hear(std::vector<MemberReport>{report(kA, 0.001, 45), report(kB, 0.002, 45)});
  EXPECT_EQ(shares.split(names, 100, Halvings{0, 1}), (std::vector<std::int64_t>{80, 20}));
}

TEST(Shares, TravelAsText) {
  Shares shares;
  EXPECT_EQ(shares.encode(), "");
  Rng rng(5, 1);
  for (int round = 0; round < 40; ++round) {
    std::vector<MemberReport> reports;
    reports.reserve(40);
    for (int i = 0; i < 40; ++i) {
      reports.push_back(report(1 + static_cast<std::uint32_t>(rng.below(2000)), rng.uniform(),
                               static_cast<std::int64_t>(rng.below(100)), rng.chance(0.5)));
    }
    shares.hear(reports);
  }
  const std::string text = shares.encode();
  const Result<Shares> read = Shares::decode(text);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, shares);
  EXPECT_EQ(read->encode(), text);
  for (std::size_t size = 0; size < text.size(); size += 7) {
    const Result<Shares> part = Shares::decode(std::string_view(text).substr(0, size));
    if (part.ok()) {
      EXPECT_EQ(part->encode(), text.substr(0, size));
    }
  }
  for (const char* bad : {"x", "5;", "5;0 1 1 1 1", "5;1 1 2 1 1", "5;1 1 1 1 6",
                          "5;2 1 1 1 1;1 1 1 1 1", "5;16777216 1 1 1 1", "-5", "5;1 -1 1 1 1"}) {
    EXPECT_EQ(Shares::decode(bad).status().code(), Code::kCorrupt) << bad;
  }
}

TEST(Shares, RememberThoseHeardOfLast) {
  Shares shares;
  for (std::uint32_t name = 1; name <= 600; ++name) {
    shares.hear(std::vector<MemberReport>{report(name, 0.001, 10)});
  }
  const std::string text = shares.encode();
  EXPECT_EQ(static_cast<std::size_t>(std::count(text.begin(), text.end(), ';')), Shares::kKnownMax);
  EXPECT_NE(text.find(";600 "), std::string::npos);
  EXPECT_EQ(text.find(";1 "), std::string::npos);
}

// A member's time is `overhead` + share * `rate`: the split finds what the rates alone would not.
TEST(Shares, SettleWhereAllTakeEquallyLong) {
  const std::vector<std::uint32_t> names = {kA, kB, kC, kD};
  const double rates[] = {0.001, 0.001, 0.002, 0.004};
  const double overheads[] = {0.002, 0.030, 0.001, 0.002};
  Shares shares;
  std::array<SpeedMeter, 4> meters;
  std::vector<std::int64_t> last;
  int changes = 0;
  double slowest = 0;
  double first = 0;
  for (int round = 0; round < 100; ++round) {
    const auto split = shares.split(names, 256);
    ASSERT_EQ(sum(split), 256);
    changes += !last.empty() && split != last ? 1 : 0;
    last = split;
    slowest = 0;
    std::vector<MemberReport> reports;
    for (std::size_t i = 0; i < 4; ++i) {
      const double seconds = overheads[i] + rates[i] * static_cast<double>(split[i]);
      slowest = std::max(slowest, seconds);
      meters[i].add(seconds, split[i]);
      reports.push_back(
          report(names[i], meters[i].seconds_per_sample(), split[i], meters[i].settled()));
    }
    if (round == 0) first = slowest;
    shares.hear(reports);
  }
  EXPECT_NEAR(first, 0.258, 1e-9);
  // The best possible: every member works T seconds, where sum((T - overhead) / rate) = 256.
  const double best = (256 + 2 + 30 + 0.5 + 0.5) / (1000 + 1000 + 500 + 250);
  EXPECT_LT(slowest, 1.15 * best);
  EXPECT_LE(changes, 3);
}

TEST(SpeedMeter, TakesTheMedianAndBeginsAnewWithAnotherShare) {
  SpeedMeter meter;
  EXPECT_EQ(meter.seconds_per_sample(), 0.0);
  for (const double seconds : {50.0, 9.0, 1.0, 1.0, 1.0}) meter.add(seconds, 10);
  EXPECT_TRUE(meter.settled());
  EXPECT_DOUBLE_EQ(meter.seconds_per_sample(), 0.1);
  meter.add(8.0, 20);
  EXPECT_FALSE(meter.settled());
  EXPECT_DOUBLE_EQ(meter.seconds_per_sample(), 0.1);
  for (int round = 0; round < 4; ++round) meter.add(4.0, 20);
  EXPECT_TRUE(meter.settled());
  EXPECT_DOUBLE_EQ(meter.seconds_per_sample(), 0.2);
}

}  // namespace
}  // namespace weft::shares_test
