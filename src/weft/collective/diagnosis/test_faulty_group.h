// FaultyGroup: what eight members of a group with injected faults record, in closed form.
//
// All members exchange with all others: a round computes 1 s and sends 10 MB over each link at
// 100 MB/s. Every time has a factor 1 + 0.1 N(0, 1), drawn from the seed, at least 0.5.
// Threads: one owner.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/rng.h"
#include "weft/collective/diagnosis/diagnosis.h"

namespace weft {

class FaultyGroup {
 public:
  static constexpr int kMembers = 8;
  static constexpr int kRounds = 12;
  static constexpr double kCompute = 1.0;
  static constexpr double kBytes = 10e6;
  static constexpr double kRate = 100e6;

  explicit FaultyGroup(std::uint64_t seed) : rng_(seed) {}

  // Times of one member, source, destination or link become so many times longer.
  std::map<int, double> compute, source, destination;
  std::map<std::pair<int, int>, double> link;
  // What one end reports in place of the truth, as a factor.
  std::map<std::pair<int, int>, double> receiver_lies, sender_lies;
  std::map<int, double> compute_lies;

  int draw_member() { return static_cast<int>(rng_.below(kMembers)); }
  // Differs from `other`.
  int draw_member(int other) {
    const int drawn = static_cast<int>(rng_.below(kMembers - 1));
    return drawn < other ? drawn : drawn + 1;
  }
  double noise() { return std::max(0.5, 1 + 0.1 * rng_.normal()); }

  void record(Diagnosis& to) {
    for (int round = 1; round <= kRounds; ++round) record_round(to, round);
  }

  // Round kRounds + 1 does not end: members enter but `absent`, and wait for `owing` of each.
  void hang(Diagnosis& to, const std::vector<int>& absent, const std::vector<int>& silent,
            const std::map<int, std::vector<int>>& owing = {},
            const std::map<int, std::vector<int>>& unsent = {}) {
    const auto in = [](const std::vector<int>& members, int member) {
      return std::ranges::find(members, member) != members.end();
    };
    for (int member = 0; member < kMembers; ++member) {
      if (in(absent, member) || in(silent, member)) continue;
      OpenRecord open{member, kRounds + 1, 5 * noise(), absent, {}, {}};
      if (const auto found = owing.find(member); found != owing.end()) open.owing = found->second;
      if (const auto found = unsent.find(member); found != unsent.end()) {
        open.unsent = found->second;
      }
      EXPECT_TRUE(to.add(std::move(open)).ok());
    }
  }

 private:
  static double factor(const std::map<int, double>& factors, int member) {
    const auto found = factors.find(member);
    return found == factors.end() ? 1.0 : found->second;
  }
  static double factor(const std::map<std::pair<int, int>, double>& factors, int from, int to) {
    const auto found = factors.find({from, to});
    return found == factors.end() ? 1.0 : found->second;
  }

  void record_round(Diagnosis& to, int round) {
    std::vector<double> computed(kMembers);
    for (int member = 0; member < kMembers; ++member) {
      computed[static_cast<std::size_t>(member)] = kCompute * factor(compute, member) * noise();
    }
    std::vector<RoundRecord> records;
    for (int member = 0; member < kMembers; ++member) {
      RoundRecord record;
      record.member = member;
      record.sequence = static_cast<std::uint64_t>(round);
      record.compute_seconds =
          computed[static_cast<std::size_t>(member)] * factor(compute_lies, member);
      for (const double seconds : computed) record.entry_seconds.push_back(seconds * noise());
      records.push_back(std::move(record));
    }
    for (int from = 0; from < kMembers; ++from) {
      for (int other = 0; other < kMembers; ++other) {
        if (from == other) continue;
        const double seconds = kBytes / kRate * factor(source, from) * factor(destination, other) *
                               factor(link, from, other) * noise();
        const double sent = seconds * noise() * factor(sender_lies, from, other);
        const double received = seconds * noise() * factor(receiver_lies, from, other);
        records[static_cast<std::size_t>(from)].links.push_back({from, other, kBytes, sent});
        records[static_cast<std::size_t>(other)].links.push_back({from, other, kBytes, received});
      }
    }
    for (RoundRecord& record : records) EXPECT_TRUE(to.add(std::move(record)).ok());
  }

  Rng rng_;
};

}  // namespace weft
