// What a stranger, who has proved a key and nothing else, gets of a transport: next to nothing.
// Each speaks the wire protocol by itself, over plain connections or its own TLS.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>

#include <openssl/ssl.h>
#include <sys/socket.h>

#include "weft/net/identity/identity_impl.h"
#include "weft/net/link/partings.h"
#include "weft/net/testing/raw_peer.h"
#include "weft/net/testing/socket_world.h"
#include "weft/net/testing/test_limit.h"
#include "weft/net/tls_transport.h"
#include "weft/wire/frame_type.h"
#include "weft/wire/link_message.h"
#include "weft/wire/reach_message.h"

namespace weft::gate_test {
namespace {

constexpr Duration kShort = std::chrono::milliseconds(300);

class GateTest : public ::testing::Test {
 protected:
  struct RawLink {
    PeerId peer;
    Socket control;
    Socket bulk;
  };

  void open(LinkTrust trust) {
    handler.trust = trust;
    options.host = "127.0.0.1";
    peer = make_tcp_transport(loop, PeerIdentity::generate().id(), options).value();
    peer->set_handler(handler);
  }
  Bytes hello(const PeerId& from, std::uint8_t lane) const {
    HelloMessage message;
    message.lane = lane;
    message.from = from;
    message.to = peer->self();
    message.link = {7};
    message.instance = 42;
    return framed(frame_type::kHello, message.encode());
  }
  static void write(const Socket& socket, ByteSpan bytes) {
    static_cast<void>(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
  }
  // What lies there to be read.
  static Bytes heard(const Socket& socket) {
    Bytes all(65536);
    const ssize_t got = ::recv(socket.get(), all.data(), all.size(), MSG_DONTWAIT);
    all.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return all;
  }
  RawLink raw_link() {
    RawLink link;
    link.peer = PeerIdentity::generate().id();
    const std::size_t ups = handler.ups.size();
    link.control = dial_raw(peer->endpoints()[0]);
    write(link.control, hello(link.peer, 0));
    Bytes answer;
    EXPECT_TRUE(loop.run_until([&] { return !(answer = heard(link.control)).empty(); }, kLimit));
    link.bulk = dial_raw(peer->endpoints()[0]);
    write(link.bulk, hello(link.peer, 1));
    EXPECT_TRUE(loop.run_until([&] { return handler.ups.size() > ups; }, kLimit));
    EXPECT_TRUE(loop.run_until([&] { return !(answer = heard(link.bulk)).empty(); }, kLimit));
    return link;
  }
  // A socket of this machine where a service might listen.
  void listen() {
    service = Socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* raw = reinterpret_cast<sockaddr*>(&address);
    ASSERT_EQ(::bind(service.get(), raw, size), 0);
    ASSERT_EQ(::listen(service.get(), 4096), 0);
    ASSERT_EQ(::getsockname(service.get(), raw, &size), 0);
    service_endpoint = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  }
  Bytes relay_offer(std::uint8_t number) const {
    RelayOfferMessage offer;
    offer.attempt = {number};
    offer.peer = PeerIdentity::generate().id();
    offer.tokens[0].fill('x');
    std::memcpy(offer.tokens[0].data(), "\r\nFLUSHALL\r\n", 12);
    offer.tokens[1] = offer.tokens[0];
    offer.endpoints = {service_endpoint};
    return framed(frame_type::kRelayOffer, offer.encode());
  }
  Bytes introduction(std::uint8_t number) const {
    IntroductionMessage message;
    message.attempt = {number};
    std::memcpy(message.attempt.data() + 1, "\r\nFLUSHALL\r\n", 12);
    message.peer = PeerIdentity::generate().id();
    message.endpoints = {service_endpoint, service_endpoint};
    return framed(frame_type::kIntroduction, message.encode());
  }
  // Takes whoever has connected to the service.
  void accept_all(std::vector<Socket>& guests) const {
    while (true) {
      Result<Socket> guest = accept_from(service.get());
      if (!guest.ok() || !guest->valid()) return;
      guests.push_back(std::move(guest).value());
    }
  }

  EventLoop loop;
  RecordingHandler handler;
  ListenOptions options;
  std::unique_ptr<Transport> peer;
  Socket service;
  std::string service_endpoint;
};

TEST_F(GateTest, AStrangersWordsOnOthersAreNeitherHeardNorAnswered) {
  open(LinkTrust::kStranger);
  listen();
  const RawLink link = raw_link();
  const RawLink other = raw_link();
  IntroduceMessage introduce;
  introduce.peer = other.peer;
  for (const bool relay : {false, true}) {
    introduce.relay = relay;
    write(link.control, framed(frame_type::kIntroduce, introduce.encode()));
  }
  write(link.control, relay_offer(1));
  write(link.control, introduction(2));
  write(link.control, framed(frame_type::kConnections, ConnectionsMessage{3}.encode()));
  loop.run_for(kShort);
  std::vector<Socket> guests;
  accept_all(guests);
  EXPECT_TRUE(guests.empty());
  EXPECT_TRUE(heard(link.control).empty());
  EXPECT_TRUE(heard(other.control).empty());
  EXPECT_TRUE(peer->linked(link.peer));
  // They count like any other frame.
  for (std::uint8_t i = 0; i < kStrangerFramesMax; ++i) write(link.control, relay_offer(i));
  ASSERT_TRUE(loop.run_until([&] { return !handler.downs.empty(); }, kLimit));
  EXPECT_NE(handler.downs[0].why.message().find("16 frames of a stranger"), std::string::npos);
}

TEST_F(GateTest, WhoeverIsDialledForAnotherGetsNoBytesThatSomebodyChose) {
  options.punch_timeout = std::chrono::milliseconds(200);
  open(LinkTrust::kProved);
  listen();
  const RawLink link = raw_link();
  write(link.control, relay_offer(1));
  write(link.control, introduction(2));
  loop.run_for(kShort);
  std::vector<Socket> guests;
  accept_all(guests);
  ASSERT_GE(guests.size(), 3U);
  for (const Socket& guest : guests) {
    const Bytes said = heard(guest);
    ASSERT_EQ(said.size(), kPrefaceBytes);
    EXPECT_EQ(std::search(said.begin(), said.end(), "FLUSHALL", "FLUSHALL" + 8), said.end());
  }
}

TEST_F(GateTest, ConnectionsMadeForOthersAreBoundedWithAllGuests) {
  options.handshakes_max = 16;
  options.handshake_timeout = std::chrono::seconds(5);
  open(LinkTrust::kProved);
  listen();
  const RawLink link = raw_link();
  std::vector<Socket> guests;
  for (std::uint8_t round = 0; round < 40; ++round) {
    for (std::uint8_t i = 0; i < 4; ++i) write(link.control, relay_offer(i));
    loop.run_for(std::chrono::milliseconds(5));
    accept_all(guests);
  }
  loop.run_for(kShort);
  accept_all(guests);
  ASSERT_GT(guests.size(), 100U);
  std::size_t open_ones = 0;
  for (const Socket& guest : guests) {
    std::array<std::uint8_t, 256> bytes{};
    ssize_t got = 1;
    while (got > 0) got = ::recv(guest.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    open_ones += got < 0 && errno == EAGAIN ? 1 : 0;
  }
  EXPECT_LE(open_ones, options.handshakes_max);
}

TEST_F(GateTest, LinksWithoutTheirSecondLaneAreBounded) {
  open(LinkTrust::kStranger);
  std::vector<Socket> halves;
  for (int i = 0; i < 100; ++i) {
    halves.push_back(dial_raw(peer->endpoints()[0]));
    write(halves.back(), hello(PeerIdentity::generate().id(), 0));
  }
  ASSERT_TRUE(loop.run_until([&] { return handler.refusals.size() >= 100 - 64; }, kLimit));
  EXPECT_NE(handler.refusals[0].message().find("without their second lane"), std::string::npos);
  // The next one gets in.
  raw_link();
}

TEST_F(GateTest, FarewellsAreBounded) {
  open(LinkTrust::kStranger);
  const auto descriptors = [] {
    const std::filesystem::directory_iterator entries("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
  };
  const std::size_t before = descriptors();
  std::vector<RawLink> links;
  for (int i = 0; i < 60; ++i) {
    links.push_back(raw_link());
    peer->close(links.back().peer, aborted("no"));
  }
  // Nobody reads the last words; 120 descriptors are this side's.
  EXPECT_LE(descriptors() - before, 120U + Partings::kMost);
}

// --- Under TLS.

struct SslFree {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};

TEST(GateTls, WhoTakesNewKeysAgainAndAgainIsCutOff) {
  EventLoop loop;
  RecordingHandler handler;
  ListenOptions options;
  options.host = "127.0.0.1";
  const auto peer = make_tls_transport(loop, PeerIdentity::generate(), options).value();
  peer->set_handler(handler);
  const PeerIdentity stranger = PeerIdentity::generate();
  const OpenSslPtr<X509> certificate = make_certificate(stranger).value();
  const std::unique_ptr<SSL_CTX, SslFree> context(SSL_CTX_new(TLS_client_method()));
  SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION);
  ASSERT_EQ(SSL_CTX_use_certificate(context.get(), certificate.get()), 1);
  ASSERT_EQ(SSL_CTX_use_PrivateKey(context.get(), stranger.impl().key.get()), 1);
  const Bytes alpn = {6, 'w', 'e', 'f', 't', '/', '1'};
  SSL_CTX_set_alpn_protos(context.get(), alpn.data(), static_cast<unsigned>(alpn.size()));
  const Socket socket = begin_connect(numeric_address(peer->endpoints()[0]).value()).value();
  const std::unique_ptr<SSL, SslFree> ssl(SSL_new(context.get()));
  SSL_set_fd(ssl.get(), socket.get());
  ASSERT_TRUE(loop.run_until([&] { return SSL_connect(ssl.get()) == 1; }, kLimit));
  for (int i = 0; i < 1000 && handler.refusals.empty(); ++i) {
    SSL_key_update(ssl.get(), SSL_KEY_UPDATE_REQUESTED);
    SSL_do_handshake(ssl.get());
    if (i % 10 == 0) loop.run_for(std::chrono::milliseconds(1));
  }
  ASSERT_TRUE(loop.run_until([&] { return !handler.refusals.empty(); }, kLimit));
  EXPECT_NE(handler.refusals[0].message().find("too many key updates"), std::string::npos)
      << handler.refusals[0].to_string();
}

}  // namespace
}  // namespace weft::gate_test
