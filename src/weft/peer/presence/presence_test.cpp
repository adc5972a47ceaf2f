#include "weft/peer/presence.h"

#include <memory>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/thread.h"
#include "weft/net/rendezvous_memory.h"
#include "weft/wire/discovery_message.h"

namespace weft::presence_test {
namespace {

constexpr Duration kLimit = std::chrono::seconds(30);

RunId run() {
  RunId out{};
  out.fill(1);
  return out;
}

// Remembers what it was asked to dial.
class DialledTransport final : public Transport {
 public:
  explicit DialledTransport(PeerId self) : self_(self) {}
  const PeerId& self() const override { return self_; }
  void set_handler(TransportHandler& /*handler*/) override {}
  void connect(const PeerAddress& peer) override { dialled.push_back(peer); }
  Status send(const PeerId& /*to*/, Lane /*lane*/, Frame /*frame*/) override { return {}; }
  std::size_t queued_bytes(const PeerId& /*to*/, Lane /*lane*/) const override { return 0; }
  void cancel_bulk(const PeerId& /*to*/) override {}
  void close(const PeerId& /*peer*/, const Status& /*why*/) override {}
  bool linked(const PeerId& /*peer*/) const override { return false; }
  void set_trust(const PeerId& /*peer*/, LinkTrust /*trust*/) override {}
  std::vector<std::string> endpoints() const override { return own; }

  std::vector<std::string> own = {"192.0.2.1:7420"};
  std::vector<PeerAddress> dialled;

 private:
  PeerId self_;
};

struct Peer {
  Peer() : transport(identity.id()) {}

  void start(PresenceOptions options) {
    options.run = run();
    RunPresence::Callbacks callbacks;
    callbacks.facts = [this] {
      PresenceFacts facts;
      facts.is_member = true;
      facts.is_isolated = isolated;
      facts.members = static_cast<std::uint32_t>(members.size());
      return facts;
    };
    callbacks.knows = [this](const PeerId& peer) { return members.contains(peer); };
    callbacks.invitation = [this] {
      ++invitations;
      OpenInvitation invitation;
      invitation.run = run();
      invitation.expiry_unix_s = SystemClock().unix_time_s() + 3600;
      return invitation;
    };
    presence = std::make_unique<RunPresence>(loop, transport, identity, std::move(options),
                                             std::move(callbacks));
  }

  PeerIdentity identity = PeerIdentity::generate();
  EventLoop loop;
  DialledTransport transport;
  std::set<PeerId> members;
  bool isolated = false;
  int invitations = 0;
  std::unique_ptr<RunPresence> presence;
};

PresenceOptions with_table(const std::shared_ptr<RendezvousStore>& store) {
  PresenceOptions options;
  options.make_table = [store](EventLoop& loop) -> Result<std::unique_ptr<RendezvousTable>> {
    return std::unique_ptr<RendezvousTable>(std::make_unique<MemoryRendezvousTable>(loop, store));
  };
  return options;
}

TEST(RunPresence, AnIsolatedMemberDialsTheAddressesThatOthersHaveLeft) {
  const auto store = std::make_shared<RendezvousStore>();
  Peer other;
  Peer alone;
  alone.members = {alone.identity.id(), other.identity.id()};
  alone.isolated = true;
  // One that knows the run and is no member of it: a former member, say.
  store->with([&](auto& values) {
    values[rendezvous_key(run())] = {
        Bytes(40, 1), seal_rendezvous_record(PeerIdentity::generate(), run(), {"192.0.2.66:1"},
                                             SystemClock().unix_time_s())};
  });
  other.start(with_table(store));
  const auto written = [&] {
    return store->with([](auto& values) { return values[rendezvous_key(run())].size() == 3; });
  };
  ASSERT_TRUE(other.loop.run_until(written, kLimit));
  alone.start(with_table(store));
  ASSERT_TRUE(alone.loop.run_until([&] { return !alone.transport.dialled.empty(); }, kLimit));
  for (const PeerAddress& dialled : alone.transport.dialled) {
    EXPECT_EQ(dialled.id, other.identity.id());
    EXPECT_EQ(dialled.endpoints, std::vector<std::string>{"192.0.2.1:7420"});
  }
  EXPECT_TRUE(other.transport.dialled.empty());
}

TEST(RunPresence, UnderOtherAddressesTheTableIsEnteredAnew) {
  Peer peer;
  int opened = 0;
  PresenceOptions options = with_table(std::make_shared<RendezvousStore>());
  options.make_table = [&opened, make = options.make_table](EventLoop& loop) {
    ++opened;
    return make(loop);
  };
  peer.start(std::move(options));
  EXPECT_EQ(opened, 1);
  peer.transport.own = {"192.0.2.2:7420"};
  EXPECT_TRUE(peer.loop.run_until([&] { return opened == 2; }, kLimit));
  peer.loop.run_for(std::chrono::milliseconds(20));
  EXPECT_EQ(opened, 2);
}

TEST(RunPresence, ATableThatCannotBeOpenedIsLeftOut) {
  Peer peer;
  PresenceOptions options;
  options.make_table = [](EventLoop&) -> Result<std::unique_ptr<RendezvousTable>> {
    return unavailable("no network");
  };
  peer.start(std::move(options));
  peer.loop.run_for(std::chrono::milliseconds(20));
  EXPECT_TRUE(peer.transport.dialled.empty());
}

// With a port that the system chose; 0 where it has no multicast.
DiscoveryPlace free_place(const PeerIdentity& identity) {
  EventLoop loop;
  DiscoveryPlace place;
  place.port = 0;
  const auto probe = DiscoveryListener::open(loop, identity, place);
  if (probe.ok()) place.port = (*probe)->port();
  return place;
}

TEST(RunPresence, AnOpenRunIsFoundWithAnInvitation) {
  Peer peer;
  peer.members = {peer.identity.id()};
  const DiscoveryPlace place = free_place(peer.identity);
  if (place.port == 0) GTEST_SKIP() << "this machine has no multicast";
  PresenceOptions options;
  options.on_lan = true;
  options.place = place;
  options.name = "open digits";
  options.invite = DiscoveryInvite::kOpen;
  peer.start(std::move(options));
  Thread thread([&] { peer.loop.run(); });
  DiscoverOptions search;
  search.place = place;
  search.limit = kLimit;
  search.enough = [](const std::vector<DiscoveredRun>& runs) { return !runs.empty(); };
  const auto found = discover_runs(search);
  peer.loop.stop();
  thread.join();
  ASSERT_TRUE(found.ok()) << found.status().to_string();
  ASSERT_EQ(found->size(), 1U);
  EXPECT_EQ((*found)[0].name, "open digits");
  ASSERT_TRUE((*found)[0].answers[0].open.has_value());
  EXPECT_EQ((*found)[0].answers[0].open->run, run());
  EXPECT_EQ(peer.invitations, 1);
}

TEST(RunPresence, IsolatedMembersFindEachOtherOnTheLocalNetwork) {
  Peer one;
  Peer other;
  one.members = other.members = {one.identity.id(), other.identity.id()};
  one.isolated = other.isolated = true;
  PresenceOptions options;
  options.on_lan = true;
  options.place = free_place(one.identity);
  if (options.place.port == 0) GTEST_SKIP() << "this machine has no multicast";
  one.start(options);
  other.start(options);
  const auto dialled = [](const Peer& peer) { return !peer.transport.dialled.empty(); };
  const TimePoint begun = one.loop.now();
  while (!(dialled(one) && dialled(other)) && one.loop.now() - begun < kLimit) {
    one.loop.run_for(std::chrono::milliseconds(5));
    other.loop.run_for(std::chrono::milliseconds(5));
  }
  ASSERT_TRUE(dialled(one) && dialled(other));
  EXPECT_EQ(one.transport.dialled[0].id, other.identity.id());
  EXPECT_EQ(other.transport.dialled[0].id, one.identity.id());
}

TEST(FormatCodeTicket, TheLastMembersAreLeftOutOfAnAnswerThatIsTooLong) {
  Ticket ticket;
  ticket.run = run();
  const auto member = [](std::size_t number) {
    PeerId id;
    id.bytes[0] = static_cast<std::uint8_t>(number);
    return PeerAddress{id, {"192.0.2.1:7420", "[2001:db8::1]:7420"}};
  };
  ticket.members.push_back(member(0));
  EXPECT_EQ(format_code_ticket(ticket), format_ticket(ticket));
  while (format_ticket(ticket).size() <= kCodeTicketBytesMax) {
    ticket.members.push_back(member(ticket.members.size()));
  }
  const auto read = parse_ticket(format_code_ticket(ticket));
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(read->members.size(), ticket.members.size() - 1);
  EXPECT_EQ(read->members.front().id, ticket.members.front().id);
}

}  // namespace
}  // namespace weft::presence_test
