#include "weft/net/discovery_probe.h"

#include <algorithm>
#include <array>
#include <string>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "weft/base/thread.h"
#include "weft/net/stream/socket.h"
#include "weft/net/testing/test_limit.h"
#include "weft/wire/stun_message.h"

namespace weft::discovery_probe_test {
namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

Socket bound_socket(int type) {
  Socket socket(::socket(AF_INET, type | SOCK_CLOEXEC, 0));
  const sockaddr_in address = loopback(0);
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  return socket;
}

std::string endpoint_of(const Socket& socket) {
  return address_text(local_address(socket.get()).value());
}

TEST(DiscoveryProbe, AListeningPortCanBeDialled) {
  const Socket socket = bound_socket(SOCK_STREAM);
  ASSERT_EQ(::listen(socket.get(), 1), 0);
  const DialReport report = probe_dial(endpoint_of(socket), kLimit);
  EXPECT_EQ(report.outcome, DialOutcome::kConnected) << report.text;
}

TEST(DiscoveryProbe, ToldIsWhyADialFails) {
  const Socket silent = bound_socket(SOCK_STREAM);  // bound, not listening
  EXPECT_EQ(probe_dial(endpoint_of(silent), kLimit).outcome, DialOutcome::kRefused);
  EXPECT_EQ(probe_dial("no port", kLimit).outcome, DialOutcome::kNoName);
}

TEST(DiscoveryProbe, APortThatIsTakenIsNamed) {
  const Result<std::string> free = probe_listen("127.0.0.1:0");
  ASSERT_TRUE(free.ok()) << free.status().to_string();
  EXPECT_NE(free->find("127.0.0.1:"), std::string::npos);
  const Socket taken = bound_socket(SOCK_STREAM);
  ASSERT_EQ(::listen(taken.get(), 1), 0);
  EXPECT_EQ(probe_listen(endpoint_of(taken)).status().code(), Code::kUnavailable);
  EXPECT_EQ(probe_listen("nowhere").status().code(), Code::kInvalidArgument);
}

// Answers one question, with `address` and port 80, after a wrong transaction.
void answer_once(const Socket& server) {
  pollfd waiting{server.get(), POLLIN, 0};
  if (::poll(&waiting, 1, 20'000) != 1) return;
  std::array<std::uint8_t, 100> question{};
  sockaddr_storage from{};
  socklen_t size = sizeof from;
  auto* address = reinterpret_cast<sockaddr*>(&from);
  if (::recvfrom(server.get(), question.data(), question.size(), 0, address, &size) != 20) return;
  Bytes reply = {1, 1, 0, 12, 0x21, 0x12, 0xa4, 0x42};
  reply.insert(reply.end(), 12, 0xee);
  const Bytes mapped = from_hex("000100080001005002030405").value();
  reply.insert(reply.end(), mapped.begin(), mapped.end());
  static_cast<void>(::sendto(server.get(), reply.data(), reply.size(), 0, address, size));
  std::copy_n(question.begin() + 8, 12, reply.begin() + 8);
  static_cast<void>(::sendto(server.get(), reply.data(), reply.size(), 0, address, size));
}

TEST(DiscoveryProbe, AStunServerTellsHowItSeesUs) {
  const Socket server = bound_socket(SOCK_DGRAM);
  Thread thread([&] { answer_once(server); });
  const auto report = probe_stun({endpoint_of(server)}, kLimit);
  thread.join();
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  ASSERT_EQ(report->views.size(), 1U);
  ASSERT_TRUE(report->views[0].mapped.ok()) << report->views[0].mapped.status().to_string();
  EXPECT_EQ(*report->views[0].mapped, "2.3.4.5:80");
  EXPECT_NE(report->local_port, 0);
}

TEST(DiscoveryProbe, AServerThatIsSilentIsToldApart) {
  const Socket silent = bound_socket(SOCK_DGRAM);
  const auto report = probe_stun({endpoint_of(silent), "no port"}, std::chrono::milliseconds(50));
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->views.size(), 2U);
  EXPECT_EQ(report->views[0].mapped.status().code(), Code::kTimeout);
  EXPECT_EQ(report->views[1].mapped.status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace weft::discovery_probe_test
