// Nine injected faults, each with 200 seeds: the class and the member must be right in all of them.
#include "weft/collective/diagnosis/diagnosis.h"

#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "weft/base/testing/test_seeds.h"
#include "weft/collective/diagnosis/test_faulty_group.h"

namespace weft::diagnosis_test {
namespace {

constexpr int kMembers = FaultyGroup::kMembers;

// "slow link 2-5, slow compute 3": what a test expects, in the order of verdicts().
std::string text_of(const std::vector<Verdict>& verdicts) {
  std::string text;
  for (const Verdict& each : verdicts) {
    text += (text.empty() ? "" : ", ") + std::string(to_string(each.fault)) + " " +
            std::to_string(each.member);
    if (each.other >= 0) text += "-" + std::to_string(each.other);
  }
  return text;
}

std::string named(FaultClass fault, int member) {
  return std::string(to_string(fault)) + " " + std::to_string(member);
}
std::string named(FaultClass fault, int from, int to) {
  return named(fault, from) + "-" + std::to_string(to);
}

// Injects a fault into a group of each seed, and compares what is found with what `inject` returns.
template <class Inject>
void expect_found(Inject inject) {
  int right = 0;
  int all = 0;
  for (const std::uint64_t seed : TestSeeds(1, 200)) {
    FaultyGroup group(seed);
    Diagnosis diagnosis(kMembers);
    const std::string want = inject(group, diagnosis);
    const std::string found = text_of(diagnosis.verdicts());
    EXPECT_EQ(found, want) << "seed " << seed;
    right += found == want ? 1 : 0;
    ++all;
  }
  EXPECT_EQ(right, all);
}

TEST(Diagnosis, OneHealthyGroupHasNoVerdict) {
  expect_found([](FaultyGroup& group, Diagnosis& to) {
    group.record(to);
    return std::string();
  });
}

TEST(Diagnosis, TwoHangsBeforeTheirEntry) {
  expect_found([](FaultyGroup& group, Diagnosis& to) {
    const int member = group.draw_member();
    group.record(to);
    group.hang(to, {member}, {});
    return named(FaultClass::kComputeHang, member);
  });
}

// A process that stops in the middle of a ring: all have entered, each waits for the one before it,
// and the stopped one gives no sign of life.
TEST(Diagnosis, ThreeHangsInTheMiddle) {
  expect_found([](FaultyGroup& group, Diagnosis& to) {
    const int stopped = group.draw_member();
    std::map<int, std::vector<int>> owing;
    for (int member = 0; member < kMembers; ++member) {
      owing[member] = {(member + kMembers - 1) % kMembers};
    }
    group.record(to);
    group.hang(to, {}, {stopped}, owing);
    return named(FaultClass::kExchangeHang, stopped);
  });
}

// Data that cannot be sent over one link: all wait for the one before them in the ring.
TEST(Diagnosis, FourALinkHangs) {
  expect_found([](FaultyGroup& group, Diagnosis& to) {
    const int from = group.draw_member();
    const int next = (from + 1) % kMembers;
    std::map<int, std::vector<int>> owing;
    for (int member = 0; member < kMembers; ++member) {
      owing[member] = {(member + kMembers - 1) % kMembers};
    }
    group.record(to);
    group.hang(to, {}, {}, owing, {{from, {next}}});
    return named(FaultClass::kExchangeHang, from, next);
  });
}

TEST(Diagnosis, FiveASourceIsSlow) {
  expect_found([](FaultyGroup& group, Diagnosis& to) {
    const int member = group.draw_member();
    group.source[member] = 2;
    group.record(to);
    return named(FaultClass::kSlowSource, member);
  });
}

TEST(Diagnosis, SixADestinationIsSlow) {
  expect_found([](FaultyGroup& group, Diagnosis& to) {
    const int member = group.draw_member();
    group.destination[member] = 2;
    group.record(to);
    return named(FaultClass::kSlowDestination, member);
  });
}

// Also one that is so slow that the means of its row and column are.
TEST(Diagnosis, SevenALinkIsSlow) {
  for (const double factor : {2.0, 20.0}) {
    expect_found([factor](FaultyGroup& group, Diagnosis& to) {
      const int from = group.draw_member();
      const int other = group.draw_member(from);
      group.link[{from, other}] = factor;
      group.record(to);
      return named(FaultClass::kSlowLink, from, other);
    });
  }
}

TEST(Diagnosis, EightAMemberComputesSlowly) {
  expect_found([](FaultyGroup& group, Diagnosis& to) {
    const int member = group.draw_member();
    group.compute[member] = 2;
    group.record(to);
    return named(FaultClass::kSlowCompute, member);
  });
}

TEST(Diagnosis, NineTwoFaultsAtOnce) {
  expect_found([](FaultyGroup& group, Diagnosis& to) {
    const int slow = group.draw_member();
    const int source = group.draw_member(slow);
    group.compute[slow] = 2;
    group.source[source] = 2;
    group.record(to);
    return named(FaultClass::kSlowCompute, slow) + ", " + named(FaultClass::kSlowSource, source);
  });
  expect_found([](FaultyGroup& group, Diagnosis& to) {
    const int source = group.draw_member();
    const int destination = group.draw_member(source);
    group.source[source] = 2;
    group.destination[destination] = 2;
    group.record(to);
    return named(FaultClass::kSlowSource, source) + ", " +
           named(FaultClass::kSlowDestination, destination);
  });
}

// --- Lies.

TEST(Diagnosis, OneEndOfALinkAccusesNobody) {
  expect_found([](FaultyGroup& group, Diagnosis& to) {
    const int from = group.draw_member();
    const int liar = group.draw_member(from);
    group.receiver_lies[{from, liar}] = 5;
    group.record(to);
    return named(FaultClass::kContradiction, from, liar);
  });
  // Nor does it help a slow source to deny it: every other end contradicts.
  expect_found([](FaultyGroup& group, Diagnosis& to) {
    const int liar = group.draw_member();
    group.source[liar] = 4;
    std::string want;
    for (int other = 0; other < kMembers; ++other) {
      if (other == liar) continue;
      group.sender_lies[{liar, other}] = 0.25;
      want += (want.empty() ? "" : ", ") + named(FaultClass::kContradiction, liar, other);
    }
    group.record(to);
    return want;
  });
}

TEST(Diagnosis, WhoIsLateAndClaimsToBeFastIsContradicted) {
  expect_found([](FaultyGroup& group, Diagnosis& to) {
    const int liar = group.draw_member();
    group.compute[liar] = 2;
    group.compute_lies[liar] = 0.5;
    group.record(to);
    return named(FaultClass::kSlowCompute, liar) + ", " + named(FaultClass::kContradiction, liar);
  });
  expect_found([](FaultyGroup& group, Diagnosis& to) {
    const int liar = group.draw_member();
    group.compute_lies[liar] = 3;
    group.record(to);
    return named(FaultClass::kContradiction, liar);
  });
}

// One that claims to have received nothing of another has a link that hangs, or lies.
TEST(Diagnosis, OneObserverCannotDeclareAMemberAbsent) {
  Diagnosis diagnosis(3);
  ASSERT_TRUE(diagnosis.add(OpenRecord{0, 7, 4, {2}, {}, {}}).ok());
  ASSERT_TRUE(diagnosis.add(OpenRecord{1, 7, 4, {}, {}, {}}).ok());
  ASSERT_TRUE(diagnosis.add(OpenRecord{2, 7, 4, {}, {}, {}}).ok());
  EXPECT_EQ(text_of(diagnosis.verdicts()), "exchange hang 2-0");
}

// --- Small groups, few records, figures.

TEST(Diagnosis, FiguresAreThoseOfTheMember) {
  Diagnosis diagnosis(3);
  for (const auto& [member, seconds] : {std::pair{0, 0.9}, {1, 2.1}, {2, 0.8}}) {
    ASSERT_TRUE(diagnosis.add(RoundRecord{member, 5, seconds, {}, {}}).ok());
  }
  const std::vector<Verdict> want = {{FaultClass::kSlowCompute, 1, -1, 2.1, 0.9, 0}};
  EXPECT_EQ(diagnosis.verdicts(), want);
}

TEST(Diagnosis, DifferencesThatCostNothingAreNoFault) {
  Diagnosis diagnosis(3);
  // 2 ms more than the others is below slow_seconds.
  for (const auto& [member, seconds] : {std::pair{0, 0.001}, {1, 0.003}, {2, 0.001}}) {
    std::vector<LinkTime> links;
    // Member 1 receives at a tenth of the rate, 1 ms for the bytes of a round.
    if (member == 1) links = {{0, 1, 1000, 0.001}, {2, 1, 1000, 0.001}};
    if (member == 0) links = {{1, 0, 1000, 0.0001}, {2, 0, 1000, 0.0001}};
    ASSERT_TRUE(diagnosis.add(RoundRecord{member, 5, seconds, {}, links}).ok());
  }
  EXPECT_EQ(text_of(diagnosis.verdicts()), "");
}

TEST(Diagnosis, EndsOfALinkContradictEachOtherOnlyIfThatCostsTime) {
  const auto verdicts = [](double bytes) {
    Diagnosis diagnosis(2);
    // 125 MB/s by the one that sends, 1,250 by the one that receives.
    const LinkTime slow{0, 1, bytes, bytes * 8e-9};
    const LinkTime fast{0, 1, bytes, bytes * 8e-10};
    EXPECT_TRUE(diagnosis.add(RoundRecord{0, 5, 1.0, {}, {slow}}).ok());
    EXPECT_TRUE(diagnosis.add(RoundRecord{1, 5, 1.0, {}, {fast}}).ok());
    return text_of(diagnosis.verdicts());
  };
  // 0.7 ms and 72 ms of a round; slow_seconds is between them.
  EXPECT_EQ(verdicts(1e5), "");
  EXPECT_EQ(verdicts(1e7), named(FaultClass::kContradiction, 0, 1));
}

TEST(Diagnosis, OnlyTheNewestRecordsCount) {
  DiagnosisOptions options;
  options.window = 4;
  Diagnosis diagnosis(2, options);
  for (std::uint64_t round = 1; round <= 8; ++round) {
    const double slow = round <= 4 ? 3.0 : 1.0;
    ASSERT_TRUE(diagnosis.add(RoundRecord{0, round, slow, {}, {}}).ok());
    ASSERT_TRUE(diagnosis.add(RoundRecord{1, round, 1.0, {}, {}}).ok());
    EXPECT_EQ(text_of(diagnosis.verdicts()), round <= 5 ? "slow compute 0" : "");
  }
  EXPECT_EQ(text_of(diagnosis.verdicts()), "");
}

// Member 2 stops when member 0 alone has its last word on round 7.
TEST(Diagnosis, WhoIsARoundAheadDoesNotHideTheHang) {
  Diagnosis diagnosis(4);
  ASSERT_TRUE(diagnosis.add(OpenRecord{0, 8, 4, {1, 2, 3}, {}, {}}).ok());
  ASSERT_TRUE(diagnosis.add(OpenRecord{1, 7, 4, {}, {2}, {}}).ok());
  ASSERT_TRUE(diagnosis.add(OpenRecord{3, 7, 4, {}, {2}, {}}).ok());
  EXPECT_EQ(text_of(diagnosis.verdicts()), "exchange hang 2");
}

TEST(Diagnosis, AShortPauseIsNoHang) {
  Diagnosis diagnosis(2);
  ASSERT_TRUE(diagnosis.add(OpenRecord{0, 7, 1.9, {1}, {}, {}}).ok());
  EXPECT_EQ(text_of(diagnosis.verdicts()), "");
  ASSERT_TRUE(diagnosis.add(OpenRecord{0, 7, 2.1, {1}, {}, {}}).ok());
  const std::vector<Verdict> want = {{FaultClass::kComputeHang, 1, -1, 2.1, 0, 7}};
  EXPECT_EQ(diagnosis.verdicts(), want);
}

TEST(Diagnosis, RecordsOfNoMemberAreRefused) {
  Diagnosis diagnosis(2);
  const double infinite = std::numeric_limits<double>::infinity();
  const double nothing = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(diagnosis.add(RoundRecord{2, 1, 1, {}, {}}).ok());
  EXPECT_FALSE(diagnosis.add(RoundRecord{-1, 1, 1, {}, {}}).ok());
  EXPECT_FALSE(diagnosis.add(RoundRecord{0, 1, nothing, {}, {}}).ok());
  EXPECT_FALSE(diagnosis.add(RoundRecord{0, 1, 1, {1}, {}}).ok());
  EXPECT_FALSE(diagnosis.add(RoundRecord{0, 1, 1, {1, infinite}, {}}).ok());
  EXPECT_FALSE(diagnosis.add(RoundRecord{0, 1, 1, {}, {{0, 0, 1, 1}}}).ok());
  EXPECT_FALSE(diagnosis.add(RoundRecord{0, 1, 1, {}, {{0, 2, 1, 1}}}).ok());
  EXPECT_FALSE(diagnosis.add(RoundRecord{0, 1, 1, {}, {{0, 1, -1, 1}}}).ok());
  EXPECT_FALSE(diagnosis.add(RoundRecord{0, 1, 1, {}, {{0, 1, 1, nothing}}}).ok());
  EXPECT_FALSE(diagnosis.add(OpenRecord{0, 1, infinite, {}, {}, {}}).ok());
  EXPECT_FALSE(diagnosis.add(OpenRecord{0, 1, 3, {2}, {}, {}}).ok());
  EXPECT_FALSE(diagnosis.add(OpenRecord{0, 1, 3, {}, {0, 1, 0}, {}}).ok());
  EXPECT_TRUE(diagnosis.verdicts().empty());
}

}  // namespace
}  // namespace weft::diagnosis_test
