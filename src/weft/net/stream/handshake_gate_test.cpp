#include "weft/net/handshake_gate.h"

#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

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

// Nothing of this but what all share, and the reserve that a test is about.
HandshakeLimits without_reserves() {
  HandshakeLimits limits = small();
  limits.rarely_seen_s = limits.rarely_seen_burst = 0;
  limits.proved_s = limits.proved_burst = 0;
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
  HandshakeGate gate(without_reserves(), start);
  int in = 0;
  for (int i = 0; i < 8; ++i)
    in += admitted(gate, std::string(1, static_cast<char>('a' + i)), 4, start);
  EXPECT_EQ(in, 20);
  EXPECT_EQ(gate.refusal("a", start), "too many connections from this address");
  EXPECT_EQ(admitted(gate, "h", 3, start + seconds(1)), 2);
}

TEST(HandshakeGate, AnAddressIsRememberedUntilItCountsAsRarelySeenAgain) {
  const TimePoint start{seconds(100)};
  HandshakeLimits limits = small();
  limits.addresses_max = 2;
  HandshakeGate gate(limits, start);
  EXPECT_EQ(admitted(gate, "a", 4, start), 4);
  EXPECT_EQ(admitted(gate, "b", 4, start), 4);
  // Two seconds later each may connect as often as before; four tries come back in twenty.
  EXPECT_EQ(gate.refusal("c", start + seconds(3)), "");
  EXPECT_EQ(gate.addresses(), 2U);
  EXPECT_EQ(gate.refusal("d", start + seconds(30)), "");
  EXPECT_EQ(gate.addresses(), 1U);
}

// Each of so many addresses asks so often a second.
struct Flood {
  int addresses;
  int times;
};

// For `length` from `start`; how many newcomers, one a second from an address of its own, are let
// in, and of the others how many in all.
std::pair<int, int> flooded(HandshakeGate& gate, const Flood& flood, TimePoint start,
                            Duration length) {
  int newcomers = 0;
  int others = 0;
  for (Duration at{}; at < length; at += seconds(1)) {
    for (int i = 0; i < flood.addresses; ++i) {
      others += admitted(gate, "flood " + std::to_string(i), flood.times, start + at);
    }
    newcomers += admitted(gate, "newcomer " + std::to_string(at.count()), 1, start + at);
  }
  return {newcomers, others};
}

TEST(HandshakeGate, AddressesThatComeAgainAndAgainAreNotRareForThatTheyComeSlowly) {
  const TimePoint start{seconds(100)};
  HandshakeGate gate(HandshakeLimits(), start);
  // 3,200 strangers who come again each second, slower than one address may.
  const auto [newcomers, others] = flooded(gate, {64, 45}, start, seconds(120));
  // But for whoever comes in the same moment as all of them.
  EXPECT_GE(newcomers, 119);
  // What is let in costs the same however long it goes on.
  const auto [later, steady] = flooded(gate, {64, 45}, start + seconds(120), seconds(60));
  EXPECT_EQ(later, 60);
  EXPECT_LE(steady, 60 * 60);
  EXPECT_GE(others, 256);
}

TEST(HandshakeGate, AGroupBehindOneAddressStartsTogether) {
  const TimePoint start{seconds(100)};
  HandshakeGate gate(HandshakeLimits(), start);
  // 64 members with two connections each, twice within a second.
  EXPECT_EQ(admitted(gate, "home", 128, start), 128);
  EXPECT_EQ(admitted(gate, "home", 128, start + seconds(1)), 128);
}

TEST(HandshakeGate, AGroupOfManyAddressesStartsTogether) {
  const TimePoint start{seconds(100)};
  HandshakeGate gate(HandshakeLimits(), start);
  int in = 0;
  for (int i = 0; i < 120; ++i) in += admitted(gate, std::to_string(i), 4, start);
  EXPECT_EQ(in, 480);
}

TEST(HandshakeGate, AFloodKeepsNoMemberOut) {
  const TimePoint start{seconds(100)};
  HandshakeLimits limits = without_reserves();
  limits.proved_s = 1;
  limits.proved_burst = 3;
  limits.addresses_max = 100;
  limits.proved_for = seconds(60);
  HandshakeGate gate(limits, start);
  gate.prove("member", start);
  flooded(gate, {64, 4}, start, seconds(20));
  const TimePoint now = start + seconds(20);
  flooded(gate, {64, 4}, now, seconds(1));
  EXPECT_EQ(gate.refusal("anybody", now), "too many connections");
  EXPECT_EQ(admitted(gate, "member", 4, now), 3);
  // Not for ever.
  flooded(gate, {64, 4}, start + seconds(60), seconds(1));
  EXPECT_EQ(admitted(gate, "member", 4, start + seconds(60)), 0);
}

TEST(HandshakeGate, RemembersMembersWhenItForgetsOthers) {
  const TimePoint start{seconds(100)};
  HandshakeGate gate(small(), start);
  gate.prove("member", start);
  for (int i = 0; i < 20; ++i) (void)gate.refusal(std::to_string(i), start);
  EXPECT_EQ(gate.addresses(), 8U);
  (void)gate.refusal("new", start + std::chrono::minutes(9));
  EXPECT_EQ(gate.addresses(), 2U);
  for (int i = 0; i < 20; ++i) (void)gate.refusal(std::to_string(i), start + seconds(570));
  (void)gate.refusal("new", start + std::chrono::minutes(20));
  EXPECT_EQ(gate.addresses(), 1U);
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

// What origin_of() says of a connection over IPv4 to a socket for both families; no value where the
// machine has no IPv6.
std::optional<std::string> origin_through_both_families() {
  const int listener = ::socket(AF_INET6, SOCK_STREAM, 0);
  if (listener < 0) return std::nullopt;
  const int off = 0;
  sockaddr_in6 any = {};
  any.sin6_family = AF_INET6;
  any.sin6_addr = in6addr_any;
  socklen_t size = sizeof any;
  if (::setsockopt(listener, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) != 0 ||
      ::bind(listener, reinterpret_cast<const sockaddr*>(&any), sizeof any) != 0 ||
      ::listen(listener, 1) != 0 ||
      ::getsockname(listener, reinterpret_cast<sockaddr*>(&any), &size) != 0) {
    ::close(listener);
    return std::nullopt;
  }
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = any.sin6_port;
  const int dialled = ::socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_EQ(::connect(dialled, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  const int accepted = ::accept(listener, nullptr, nullptr);
  std::string origin = origin_of(accepted);
  for (const int each : {accepted, dialled, listener}) ::close(each);
  return origin;
}

// Else all of IPv4 would be one network of 64 bits, with one allowance.
TEST(HandshakeGate, AnIpv4AddressCountsAsItselfOnASocketForBothFamilies) {
  const std::optional<std::string> origin = origin_through_both_families();
  if (!origin) GTEST_SKIP() << "no IPv6";
  EXPECT_EQ(*origin, std::string({127, 0, 0, 1}));
}

}  // namespace
}  // namespace weft::handshake_gate_test
