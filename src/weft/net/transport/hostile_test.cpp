// Strangers that send anything but what they should: each is refused with a reason, and a link of
// others goes on.
#include <array>
#include <cstring>

#include <arpa/inet.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include "weft/base/rng.h"
#include "weft/net/identity/identity_impl.h"
#include "weft/net/stream/frame_codec.h"
#include "weft/net/stream/socket.h"
#include "weft/net/testing/raw_peer.h"
#include "weft/net/testing/socket_world.h"
#include "weft/net/testing/test_limit.h"
#include "weft/net/tls_transport.h"
#include "weft/wire/frame_type.h"
#include "weft/wire/link_message.h"

namespace weft::hostile_test {

namespace {

using ::testing::Test;

constexpr Duration kShort = std::chrono::milliseconds(150);
constexpr std::uint8_t kData = 0x30;

ListenOptions loopback() {
  ListenOptions options;
  options.host = "127.0.0.1";
  options.handshake_timeout = std::chrono::milliseconds(400);
  options.handshakes_max = 16;
  return options;
}

// Two peers with a link that must survive, the first being the one that strangers visit.
class Hostile : public Test {
 protected:
  using Maker = Result<std::unique_ptr<Transport>> (*)(EventLoop&, const PeerIdentity&);

  void start(Maker make) {
    for (std::size_t i : {0U, 1U}) {
      peers_[i] = make(loop_, identities_[i]).value();
      peers_[i]->set_handler(handlers_[i]);
    }
    peers_[1]->connect({id(), peers_[0]->endpoints()});
    ASSERT_TRUE(loop_.run_until([&] { return !handlers_[0].ups.empty(); }, kLimit));
  }
  void start_tcp() {
    start([](EventLoop& loop, const PeerIdentity& identity) {
      return make_tcp_transport(loop, identity.id(), loopback());
    });
  }
  void start_tls() {
    start([](EventLoop& loop, const PeerIdentity& identity) {
      return make_tls_transport(loop, identity, loopback());
    });
  }
  const PeerId& id() const { return identities_[0].id(); }
  Socket dial() { return dial_raw(peers_[0]->endpoints()[0]); }
  void write(const Socket& socket, ByteSpan bytes) {
    static_cast<void>(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
  }
  // Waits for one more refusal and returns its words.
  std::string refusal() {
    const std::size_t before = seen_;
    if (!loop_.run_until([&] { return handlers_[0].refusals.size() > before; }, kLimit)) {
      return "no refusal";
    }
    return handlers_[0].refusals[seen_++].to_string();
  }
  void expect_noise_refused(std::uint64_t seed) {
    Rng rng(seed);
    for (int turn = 0; turn < 50; ++turn) {
      const Socket socket = dial();
      Bytes noise(1 + rng.below(2000));
      for (std::uint8_t& byte : noise) byte = static_cast<std::uint8_t>(rng.next_u32());
      write(socket, noise);
      ::shutdown(socket.get(), SHUT_WR);
      EXPECT_NE(refusal(), "no refusal") << turn;
    }
  }
  HelloMessage hello(Lane lane, const PeerId& from) const {
    HelloMessage message;
    message.lane = static_cast<std::uint8_t>(lane);
    message.from = from;
    message.to = id();
    message.link = {7};
    message.instance = 42;
    return message;
  }
  Bytes hello_frame(const HelloMessage& message) const {
    return framed(frame_type::kHello, message.encode());
  }
  // A correct handshake without a transport, up to the link.
  std::pair<Socket, Socket> raw_link(const PeerId& from) {
    const std::size_t before = handlers_[0].ups.size();
    Socket control = dial();
    write(control, hello_frame(hello(Lane::kControl, from)));
    loop_.run_for(kShort);
    Socket bulk = dial();
    write(bulk, hello_frame(hello(Lane::kBulk, from)));
    EXPECT_TRUE(loop_.run_until([&] { return handlers_[0].ups.size() > before; }, kLimit));
    return {std::move(control), std::move(bulk)};
  }
  std::string last_down() {
    const std::size_t before = downs_;
    if (!loop_.run_until([&] { return handlers_[0].downs.size() > before; }, kLimit)) {
      return "no link went down";
    }
    return handlers_[0].downs[downs_++].why.to_string();
  }
  void TearDown() override {
    // Nothing that happened touched the good link.
    ASSERT_TRUE(peers_[0]->linked(identities_[1].id()));
    const std::size_t before = handlers_[0].frames.size();
    ASSERT_TRUE(peers_[1]->send(id(), Lane::kBulk, {kData, {1}, {}}).ok());
    EXPECT_TRUE(loop_.run_until([&] { return handlers_[0].frames.size() > before; }, kLimit));
    EXPECT_TRUE(handlers_[1].downs.empty());
  }

  EventLoop loop_;
  std::array<PeerIdentity, 2> identities_{PeerIdentity::generate(), PeerIdentity::generate()};
  std::array<RecordingHandler, 2> handlers_;
  std::array<std::unique_ptr<Transport>, 2> peers_;
  std::size_t seen_ = 0;
  std::size_t downs_ = 0;
};

TEST_F(Hostile, RandomBytesAreRefused) {
  start_tcp();
  expect_noise_refused(1);
  EXPECT_EQ(handlers_[0].ups.size(), 1U);
}

TEST_F(Hostile, RandomBytesAreRefusedUnderTls) {
  start_tls();
  expect_noise_refused(2);
  EXPECT_EQ(handlers_[0].ups.size(), 1U);
}

TEST_F(Hostile, HelloCutAtEveryByteIsRefused) {
  start_tcp();
  const Bytes whole = hello_frame(hello(Lane::kControl, PeerIdentity::generate().id()));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Socket socket = dial();
    write(socket, ByteSpan(whole).first(size));
    ::shutdown(socket.get(), SHUT_WR);
    EXPECT_EQ(refusal(), "unavailable: the peer's connection closed") << size;
  }
}

TEST_F(Hostile, EveryBadHeaderFieldIsNamed) {
  start_tcp();
  const auto refused = [&](std::size_t offset, std::uint8_t value) {
    Bytes frame = hello_frame(hello(Lane::kControl, PeerIdentity::generate().id()));
    frame[offset] = value;
    const Socket socket = dial();
    write(socket, frame);
    return refusal();
  };
  EXPECT_EQ(refused(3, 0xff).find("corrupt: frame.head_bytes: expected at most 1024"), 0U);
  EXPECT_EQ(refused(7, 0xff).find("corrupt: frame.body_bytes: expected at most 0"), 0U);
  EXPECT_EQ(refused(8, 0), "corrupt: frame.type: expected 1 to 255, got 0");
  EXPECT_EQ(refused(8, frame_type::kGoodbye), "corrupt: expected a hello");
  EXPECT_EQ(refused(8, kData), "corrupt: expected a hello");
  for (const std::size_t zero : {9U, 10U, 11U}) {
    EXPECT_EQ(refused(zero, 1), "corrupt: frame.zero: expected zeros");
  }
  // The hello's own fields: magic, version, lane.
  EXPECT_NE(refused(12, 0).find("magic"), std::string::npos);
  EXPECT_NE(refused(16, 9).find("hello.version: expected 1, got 9"), std::string::npos);
  EXPECT_NE(refused(18, 9).find("lane"), std::string::npos);
  // The first byte of the identity that is dialled: it is random, so any fixed value may be its
  // own.
  const auto other = static_cast<std::uint8_t>(~id().bytes.front());
  EXPECT_NE(refused(51, other).find("hello.to"), std::string::npos);
}

TEST_F(Hostile, HellosThatLieAreRefused) {
  start_tcp();
  const Socket mirror = dial();
  write(mirror, hello_frame(hello(Lane::kControl, id())));
  EXPECT_NE(refusal().find("does not dial itself"), std::string::npos);
  // A bulk lane of no link gets its answer, but no link.
  const Socket stray = dial();
  write(stray, hello_frame(hello(Lane::kBulk, PeerIdentity::generate().id())));
  loop_.run_for(kShort);
  EXPECT_EQ(handlers_[0].ups.size(), 1U);
}

TEST_F(Hostile, TheSilentAndTheSlowAreShutOut) {
  start_tcp();
  std::vector<Socket> silent;
  silent.reserve(8);
  for (int i = 0; i < 8; ++i) silent.push_back(dial());
  const Bytes whole = hello_frame(hello(Lane::kControl, PeerIdentity::generate().id()));
  const Socket slow = dial();
  for (std::size_t i = 0; i + 1 < whole.size(); ++i) {
    write(slow, ByteSpan(whole).subspan(i, 1));
    loop_.run_for(std::chrono::milliseconds(8));
  }
  for (int i = 0; i < 9; ++i) EXPECT_EQ(refusal(), "timeout: no hello in time");
}

TEST_F(Hostile, ManySilentConnectionsDoNotKeepAPeerOut) {
  start_tcp();
  std::vector<Socket> silent;
  silent.reserve(100);
  for (int i = 0; i < 100; ++i) silent.push_back(dial());
  EXPECT_EQ(refusal(), "unavailable: too many connections without a hello");
  RecordingHandler handler;
  const auto late = make_tcp_transport(loop_, PeerIdentity::generate().id(), loopback()).value();
  late->set_handler(handler);
  late->connect({id(), peers_[0]->endpoints()});
  EXPECT_TRUE(loop_.run_until([&] { return !handler.ups.empty(); }, kLimit));
}

TEST_F(Hostile, ALinkThatBreaksTheRulesEnds) {
  start_tcp();
  const PeerId stranger = PeerIdentity::generate().id();
  const auto breaks = [&](const Bytes& bytes, Lane lane) {
    const auto [control, bulk] = raw_link(stranger);
    write(lane == Lane::kControl ? control : bulk, bytes);
    return last_down();
  };
  Bytes huge = framed(kData, Bytes(4));
  huge[3] = 0xff;
  EXPECT_NE(breaks(huge, Lane::kControl).find("frame.head_bytes: expected at most 262144"),
            std::string::npos);
  huge = framed(kData, Bytes(4));
  huge[7] = 0x7f;
  EXPECT_NE(breaks(huge, Lane::kBulk).find("frame.body_bytes: expected at most 1048576"),
            std::string::npos);
  EXPECT_NE(breaks(framed(frame_type::kHello, {}), Lane::kBulk).find("expected no 1"),
            std::string::npos);
  EXPECT_NE(breaks(framed(frame_type::kGoodbye, Bytes(3, 0xff)), Lane::kControl).find("corrupt"),
            std::string::npos);
  EXPECT_NE(breaks(framed(frame_type::kIntroduce, Bytes(9)), Lane::kControl).find("introduce."),
            std::string::npos);
  EXPECT_NE(breaks(framed(frame_type::kRelayOffer, Bytes(9)), Lane::kControl).find("relay_offer."),
            std::string::npos);
  EXPECT_NE(breaks(framed(frame_type::kIntroduce, Bytes(49)), Lane::kBulk).find("expected no 4"),
            std::string::npos);
  // A body that never comes whole is no frame.
  const std::size_t frames = handlers_[0].frames.size();
  Bytes cut = framed(kData, Bytes(4), Bytes(1000));
  cut.resize(500);
  {
    const auto [control, bulk] = raw_link(stranger);
    write(bulk, cut);
    loop_.run_for(kShort);
    EXPECT_TRUE(peers_[0]->linked(stranger));
  }
  EXPECT_EQ(last_down().find("unavailable"), 0U);
  EXPECT_EQ(handlers_[0].frames.size(), frames);
}

TEST_F(Hostile, FramesBeforeTheBulkLaneEndTheAttempt) {
  start_tcp();
  const Socket control = dial();
  Bytes bytes = hello_frame(hello(Lane::kControl, PeerIdentity::generate().id()));
  const Bytes early = framed(kData, Bytes(4));
  bytes.insert(bytes.end(), early.begin(), early.end());
  write(control, bytes);
  EXPECT_NE(refusal().find("no bulk lane in time"), std::string::npos);
  EXPECT_TRUE(handlers_[0].frames.empty());
}

// --- Under TLS: a client of our own making.

struct ClientFree {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};

struct Client {
  OpenSslPtr<EVP_PKEY> key;
  OpenSslPtr<X509> certificate;
  std::string alpn = "weft/1";
  int version = TLS1_3_VERSION;
};

OpenSslPtr<X509> certificate_of(EVP_PKEY* key, EVP_PKEY* signer, const EVP_MD* digest) {
  OpenSslPtr<X509> made(X509_new());
  X509_set_version(made.get(), X509_VERSION_3);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), 0);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), 3600);
  X509_set_pubkey(made.get(), key);
  WEFT_CHECK(X509_sign(made.get(), signer, digest) > 0);
  return made;
}

OpenSslPtr<EVP_PKEY> ed25519_key() {
  return OpenSslPtr<EVP_PKEY>(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
}

class HostileTls : public Hostile {
 protected:
  // Handshakes as far as that goes, then writes `bytes`.
  void visit(const Client& client, ByteSpan bytes) {
    context_.reset(SSL_CTX_new(TLS_client_method()));
    SSL_CTX_set_min_proto_version(context_.get(), client.version);
    SSL_CTX_set_max_proto_version(context_.get(), client.version);
    if (client.certificate != nullptr) {
      WEFT_CHECK(SSL_CTX_use_certificate(context_.get(), client.certificate.get()) == 1);
      WEFT_CHECK(SSL_CTX_use_PrivateKey(context_.get(), client.key.get()) == 1);
    }
    if (!client.alpn.empty()) {
      Bytes protocols{static_cast<std::uint8_t>(client.alpn.size())};
      protocols.insert(protocols.end(), client.alpn.begin(), client.alpn.end());
      SSL_CTX_set_alpn_protos(context_.get(), protocols.data(),
                              static_cast<unsigned>(protocols.size()));
    }
    ssl_.reset(SSL_new(context_.get()));
    socket_ = begin_connect(address()).value();
    SSL_set_fd(ssl_.get(), socket_.get());
    for (int turn = 0; turn < 200 && SSL_connect(ssl_.get()) != 1; ++turn) {
      if (handlers_[0].refusals.size() > seen_) return;
      loop_.run_for(std::chrono::milliseconds(2));
    }
    std::size_t written = 0;
    if (!bytes.empty()) SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &written);
  }
  SocketAddress address() {
    const HostPort target = parse_host_port(peers_[0]->endpoints()[0]).value();
    sockaddr_in raw{};
    raw.sin_family = AF_INET;
    raw.sin_port = htons(target.port);
    inet_pton(AF_INET, target.host.c_str(), &raw.sin_addr);
    return {&raw, sizeof raw};
  }

  std::unique_ptr<SSL_CTX, ClientFree> context_;
  Socket socket_;
  std::unique_ptr<SSL, ClientFree> ssl_;
};

TEST_F(HostileTls, AForgedNameIsRefused) {
  start_tls();
  Client client;
  client.key = ed25519_key();
  client.certificate = certificate_of(client.key.get(), client.key.get(), nullptr);
  // The stranger's handshake is in order; the name that it gives is the other member's.
  visit(client, hello_frame(hello(Lane::kControl, identities_[1].id())));
  EXPECT_NE(refusal().find("hello.from: expected"), std::string::npos);
}

TEST_F(HostileTls, ACertificateThatItsKeyDidNotSignIsRefused) {
  start_tls();
  Client client;
  client.key = ed25519_key();
  const auto other = ed25519_key();
  client.certificate = certificate_of(client.key.get(), other.get(), nullptr);
  visit(client, {});
  EXPECT_EQ(refusal().find("corrupt: TLS"), 0U);
}

TEST_F(HostileTls, AnotherKindOfKeyIsRefused) {
  start_tls();
  Client client;
  client.key.reset(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"));
  client.certificate = certificate_of(client.key.get(), client.key.get(), EVP_sha256());
  visit(client, {});
  EXPECT_EQ(refusal().find("corrupt: TLS"), 0U);
}

TEST_F(HostileTls, NoCertificateIsRefused) {
  start_tls();
  visit({}, {});
  EXPECT_EQ(refusal().find("corrupt: TLS"), 0U);
}

TEST_F(HostileTls, AnotherProtocolIsRefused) {
  start_tls();
  for (const std::string& alpn : {std::string("h2"), std::string("weft/2"), std::string()}) {
    Client client;
    client.key = ed25519_key();
    client.certificate = certificate_of(client.key.get(), client.key.get(), nullptr);
    client.alpn = alpn;
    visit(client, {});
    EXPECT_EQ(refusal().find("corrupt: TLS"), 0U) << alpn;
  }
}

TEST_F(HostileTls, AnOlderTlsIsRefused) {
  start_tls();
  Client client;
  client.key = ed25519_key();
  client.certificate = certificate_of(client.key.get(), client.key.get(), nullptr);
  client.version = TLS1_2_VERSION;
  visit(client, {});
  EXPECT_EQ(refusal().find("corrupt: TLS"), 0U);
}

}  // namespace

}  // namespace weft::hostile_test
