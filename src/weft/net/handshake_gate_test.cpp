#include "weft/net/handshake_gate.h"

#include <gtest/gtest.h>

namespace weft::handshake_gate_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

HandshakeLimits small() {
  HandshakeLimits limits;
  limits.per_address_s = 2;
  limits.per_address_burst = 4;
  limits.in_all_s = 10;
  limits.in_all_burst = 20;
  limits.addresses_max = 8;
  return limits;
}

// How many of `count` connections from `origin` at `now` may go on.
int admitted(HandshakeGate& gate, const std::string& origin, int count, TimePoint now) {
  int in = 0;
  for (int i = 0; i < count; ++i) in += gate.refusal(origin, now).empty() ? 1 : 0;
  return in;
}

TEST(HandshakeGate, ABurstThenARateForEachAddress) {
  const TimePoint start{seconds(100)};
  HandshakeGate gate(small(), start);
  EXPECT_EQ(admitted(gate, "a", 10, start), 4);
  EXPECT_EQ(gate.refusal("a", start), "too many connections from this address");
  EXPECT_EQ(admitted(gate, "b", 10, start), 4);
  EXPECT_EQ(admitted(gate, "a", 10, start + milliseconds(600)), 1);
  EXPECT_EQ(admitted(gate, "a", 10, start + seconds(100)), 4);
}

TEST(HandshakeGate, AllAddressesTogetherAreBounded) {
  const TimePoint start{seconds(100)};
  HandshakeGate gate(small(), start);
  int in = 0;
  for (int i = 0; i < 8; ++i)
    in += admitted(gate, std::string(1, static_cast<char>('a' + i)), 4, start);
  EXPECT_EQ(in, 20);
  EXPECT_EQ(gate.refusal("z", start), "too many connections");
  EXPECT_EQ(admitted(gate, "z", 3, start + seconds(1)), 3);
}

TEST(HandshakeGate, OneThatFloodsLeavesRoomForOthers) {
  const TimePoint start{seconds(100)};
  HandshakeGate gate(small(), start);
  for (int ms = 0; ms < 10'000; ++ms) {
    (void)gate.refusal("flood", start + milliseconds(ms));
    if (ms % 1000 == 999) {
      EXPECT_EQ(admitted(gate, "good", 1, start + milliseconds(ms)), 1) << ms;
    }
  }
}

TEST(HandshakeGate, RemembersABoundedNumberOfAddresses) {
  const TimePoint start{seconds(100)};
  HandshakeLimits limits = small();
  limits.in_all_s = limits.in_all_burst = 1e6;
  HandshakeGate gate(limits, start);
  int in = 0;
  for (int i = 0; i < 1000; ++i) in += admitted(gate, std::to_string(i), 1, start);
  EXPECT_EQ(gate.addresses(), 8U);
  EXPECT_EQ(in, 8 + 4) << "those beyond the table share one bucket";
  // Those that have been quiet make room again.
  EXPECT_EQ(admitted(gate, "new", 3, start + seconds(60)), 3);
  EXPECT_EQ(gate.addresses(), 1U);
}

TEST(HandshakeGate, WhatHasNoAddressIsNotBounded) {
  HandshakeGate gate(small(), {});
  EXPECT_EQ(admitted(gate, "", 1000, {}), 1000);
}

}  // namespace
}  // namespace weft::handshake_gate_test
