// LinkTransport: the Transport over sockets, the same for every Medium.
//
// When two dials meet, the one of the smaller PeerId stays: its dialler answers the other's hello
// with kWaitForMine, and the other tries again until a link is up. Only a dial that has sent its
// hello counts, so a dial that hangs on a dead address does not delay the other one. Where
// connections cross networks, Reach helps dials that get no answer, and other peers' dials.
//
// Threads: the loop thread, whose role thread() guards the links. Public functions check at run
// time that they are on it (with debug checks); the loop's callbacks and the rest require it
// statically.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>

#include "weft/base/status.h"
#include "weft/net/link/dial.h"
#include "weft/net/link/greeter.h"
#include "weft/net/link/link.h"
#include "weft/net/link/partings.h"
#include "weft/net/link/stripes.h"
#include "weft/net/port_map.h"
#include "weft/net/reach/reach.h"
#include "weft/net/reach/relay.h"
#include "weft/net/shm/shortcut.h"

namespace weft {

class LinkTransport final : public Transport, private LinkOwner, private ReachLinks {
 public:
  // The addresses that others are to dial, asked each time: a machine's addresses may change.
  using Endpoints = std::function<std::vector<std::string>()>;
  LinkTransport(EventLoop& loop, const PeerId& self, const LinkOptions& options,
                std::unique_ptr<Medium> medium, Endpoints endpoints);
  ~LinkTransport() override;
  // Takes a listening socket.
  void listen(Socket socket) { greeter_.listen(std::move(socket)); }
  // Sets the ports from which far connections are dialled; this transport listens on both.
  void set_lane_ports(const std::array<std::uint16_t, 2>& ports) { context_.lane_ports = ports; }

  // Takes a port that the router opened: it is advertised first, and is the path of those who dial
  // it.
  void take_port_map(std::unique_ptr<PortMap> port_map);

  const PeerId& self() const override { return context_.self; }
  void set_handler(TransportHandler& handler) override {
    thread().assert_here();
    handler_ = &handler;
  }
  void connect(const PeerAddress& peer) override;
  Status send(const PeerId& to, Lane lane, Frame frame) override;
  std::size_t queued_bytes(const PeerId& to, Lane lane) const override;
  void cancel_bulk(const PeerId& to) override;
  void close(const PeerId& peer, const Status& why) override;
  bool linked(const PeerId& peer) const override {
    thread().assert_here();
    return find_link(peer) != nullptr;
  }
  void set_trust(const PeerId& peer, LinkTrust trust) override;
  std::vector<std::string> endpoints() const override;
  TransportStats stats(const PeerId& peer) const override;
  TransportStats total_stats() const override;

 private:
  // The control connection of a link that another peer makes, until its bulk connection arrives.
  struct Half : ConnectionOwner {
    explicit Half(LinkTransport& owner) : transport(owner) {}
    void on_ready(Connection& /*connection*/) override {}
    void on_frame(Connection& connection, const FrameView& frame) override
        WEFT_REQUIRES(transport.thread());
    void on_ended(Connection& connection, const Status& why) override
        WEFT_REQUIRES(transport.thread());

    LinkTransport& transport;
    PeerId peer;
    // The origin by which it is counted, and a number that gives the order of arrival.
    std::string origin;
    std::uint64_t number = 0;
    LinkId link{};
    std::uint64_t instance = 0;
    std::shared_ptr<Connection> control;
    TimerId timer;
  };
  // A request of another process for a link as a peer that has one, until that peer answers or
  // fails to.
  struct Doubt : ConnectionOwner {
    explicit Doubt(LinkTransport& owner) : transport(owner) {}
    void on_ready(Connection& /*connection*/) override {}
    void on_frame(Connection& connection, const FrameView& frame) override
        WEFT_REQUIRES(transport.thread());
    void on_ended(Connection& connection, const Status& why) override
        WEFT_REQUIRES(transport.thread());

    LinkTransport& transport;
    HelloMessage hello;
    std::shared_ptr<Connection> control;
    TimerId timer;
  };
  struct Peer {
    std::shared_ptr<Link> link;
    std::shared_ptr<Doubt> doubt;
    std::shared_ptr<Dial> dial;
    std::shared_ptr<Half> half;
    // Set from connect() until a link is up or the failure is reported.
    std::optional<PeerAddress> wanted;
    bool idle() const { return !link && !dial && !half && !wanted && !doubt; }
  };

  const ThreadRole& thread() const WEFT_RETURN_CAPABILITY(context_.loop.thread()) {
    return context_.loop.thread();
  }

  // ReachLinks.
  Link* link_to(const PeerId& peer) override WEFT_REQUIRES(thread()) { return find_link(peer); }
  std::vector<PeerId> proved_peers() const override WEFT_REQUIRES(thread());
  std::vector<std::string> own_endpoints() const override WEFT_REQUIRES(thread()) {
    return endpoints();
  }

  // LinkOwner.
  Status on_link_reach(Link& link, const FrameView& frame) override WEFT_REQUIRES(thread());
  Status on_link_shortcut(Link& link, ByteSpan head) override WEFT_REQUIRES(thread());
  Status on_link_connections(Link& link, ByteSpan head) override WEFT_REQUIRES(thread());
  void on_link_frame(Link& link, Lane lane, const FrameView& frame) override
      WEFT_REQUIRES(thread());
  void on_link_alive(Link& link) override WEFT_REQUIRES(thread());
  void on_link_writable(Link& link, Lane lane) override WEFT_REQUIRES(thread());
  MutableByteSpan link_body_destination(Link& link, std::uint8_t type, ByteSpan head,
                                        std::size_t body_bytes) override WEFT_REQUIRES(thread());
  bool link_reads_body_once(Link& link, std::uint8_t type) override WEFT_REQUIRES(thread());
  void on_link_ended(Link& link, const Status& why) override WEFT_REQUIRES(thread());

  Link* find_link(const PeerId& peer) const WEFT_REQUIRES(thread());
  void start_dial(Peer& peer) WEFT_REQUIRES(thread());
  void tell_dial(Peer& peer, const PeerAddress& address) WEFT_REQUIRES(thread());
  void on_dialled(const PeerId& id, Result<LinkParts> result) WEFT_REQUIRES(thread());
  void on_hello(const std::shared_ptr<Connection>& connection, const HelloMessage& hello)
      WEFT_REQUIRES(thread());
  void accept_control(const std::shared_ptr<Connection>& connection, const HelloMessage& hello)
      WEFT_REQUIRES(thread());
  void accept_bulk(const std::shared_ptr<Connection>& connection, const HelloMessage& hello)
      WEFT_REQUIRES(thread());
  void accept_further(const std::shared_ptr<Connection>& connection, const HelloMessage& hello)
      WEFT_REQUIRES(thread());
  void on_preface(Socket socket, const PrefaceMessage& preface, const std::string& remote)
      WEFT_REQUIRES(thread());
  void reply_accepted(Connection& connection) WEFT_REQUIRES(thread());
  void make_room_for_half() WEFT_REQUIRES(thread());
  void drop_half(Peer& peer) WEFT_REQUIRES(thread());
  void doubt(const std::shared_ptr<Connection>& connection, const HelloMessage& hello)
      WEFT_REQUIRES(thread());
  // The peer's link has not answered, or has ended: the other process takes its place.
  void believe_doubt(const PeerId& id) WEFT_REQUIRES(thread());
  std::shared_ptr<Doubt> take_doubt(const PeerId& id) WEFT_REQUIRES(thread());
  void on_half_failed(const PeerId& id, const Status& why) WEFT_REQUIRES(thread());
  void bring_up(const PeerId& id, LinkParts parts) WEFT_REQUIRES(thread());
  // Takes the link out of the table, then calls the handler.
  void end_link(const PeerId& id, const Status& why, bool politely) WEFT_REQUIRES(thread());
  void begin_services(Link& link) WEFT_REQUIRES(thread());
  // While it stands and for a while after its end, connections from the address of a proved peer's
  // link are let in.
  void remember_address(const Link& link) WEFT_REQUIRES(thread());
  void forget_if_idle(const PeerId& id) WEFT_REQUIRES(thread());
  std::size_t links_and_halves() const WEFT_REQUIRES(thread());
  void post(std::function<void()> body) WEFT_REQUIRES(thread());

  std::unique_ptr<Medium> medium_;
  Partings partings_;
  LinkContext context_;
  Endpoints endpoints_;
  TransportHandler* handler_ WEFT_GUARDED_BY(thread()) = nullptr;
  std::unordered_map<PeerId, Peer> peers_ WEFT_GUARDED_BY(thread());
  TransportStats past_ WEFT_GUARDED_BY(thread());
  std::uint64_t halves_made_ WEFT_GUARDED_BY(thread()) = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::unique_ptr<PortMap> port_map_ WEFT_GUARDED_BY(thread());
  Greeter greeter_;
  Relay relay_;
  Reach reach_;
  Shortcuts shortcuts_;
  Stripes stripes_;
};

}  // namespace weft
