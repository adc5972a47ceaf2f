#include "weft/net/transport/link_transport.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <openssl/rand.h>

#include "weft/base/log.h"

namespace weft {

namespace {

// Endpoints kept for one peer while a link to it is being made; a dial leaves room for relays.
constexpr std::size_t kWantedEndpointsMax = 16;
std::uint64_t draw_instance() {
  std::uint64_t value = 0;
  WEFT_CHECK(RAND_bytes(reinterpret_cast<unsigned char*>(&value), sizeof value) == 1);
  return value;
}

void add(TransportStats& sum, const TransportStats& stats) {
  sum.bytes_sent += stats.bytes_sent;
  sum.bytes_received += stats.bytes_received;
}

}  // namespace

LinkTransport::LinkTransport(EventLoop& loop, const PeerId& self, const LinkOptions& options,
                             std::unique_ptr<Medium> medium, Endpoints endpoints)
    : medium_(std::move(medium)),
      context_{loop, self, draw_instance(), options, *medium_, partings_},
      endpoints_(std::move(endpoints)),
      greeter_(context_,
               {[this](const std::shared_ptr<Connection>& connection, const HelloMessage& hello)
                    WEFT_REQUIRES(thread()) { on_hello(connection, hello); },
                [this](const std::string& remote, const Status& why) WEFT_REQUIRES(thread()) {
                  log(LogLevel::kInfo, "refused a connection from {}: {}", remote, why.to_string());
                  if (handler_ != nullptr) handler_->on_refused(remote, why);
                },
                [this](Socket socket, const PrefaceMessage& preface, const std::string& remote)
                    WEFT_REQUIRES(thread()) { on_preface(std::move(socket), preface, remote); }}),
      relay_(context_),
      reach_(context_, greeter_, relay_, *this),
      shortcuts_(context_,
                 [this](const PeerId& peer) WEFT_REQUIRES(thread()) { return find_link(peer); }),
      stripes_(context_,
               [this](const PeerId& peer) WEFT_REQUIRES(thread()) { return find_link(peer); }) {}

LinkTransport::~LinkTransport() {
  for (auto& [id, peer] : peers_) {
    if (peer.link != nullptr) peer.link->drop();
    if (peer.dial != nullptr) peer.dial->abandon();
    drop_half(peer);
    if (const auto doubt = take_doubt(id)) doubt->control->close();
  }
}

void LinkTransport::take_port_map(std::unique_ptr<PortMap> port_map) {
  thread().assert_here();
  port_map_ = std::move(port_map);
}

std::vector<std::string> LinkTransport::endpoints() const {
  thread().assert_here();
  std::vector<std::string> all = endpoints_();
  if (port_map_ != nullptr) all.insert(all.begin(), port_map_->endpoint());
  return all;
}

void LinkTransport::post(std::function<void()> body) {
  context_.loop.post([alive = std::weak_ptr(alive_), body = std::move(body)] {
    if (!alive.expired()) body();
  });
}

Link* LinkTransport::find_link(const PeerId& peer) const {
  const auto found = peers_.find(peer);
  return found == peers_.end() ? nullptr : found->second.link.get();
}

void LinkTransport::forget_if_idle(const PeerId& id) {
  const auto found = peers_.find(id);
  if (found != peers_.end() && found->second.idle()) peers_.erase(found);
}

std::size_t LinkTransport::links_and_halves() const {
  std::size_t count = 0;
  for (const auto& [id, peer] : peers_) count += peer.link != nullptr || peer.half != nullptr;
  return count;
}

void LinkTransport::connect(const PeerAddress& address) {
  thread().assert_here();
  WEFT_CHECK(handler_ != nullptr);
  if (address.id == context_.self) {
    // Addresses come from other peers.
    return post([this]() WEFT_REQUIRES(thread()) {
      handler_->on_link_down(context_.self, invalid_argument("dial: this is the peer itself"));
    });
  }
  Peer& peer = peers_[address.id];
  if (peer.link != nullptr) return;
  if (peer.wanted.has_value()) return tell_dial(peer, address);
  peer.wanted = address;
  // A link that the peer is making may be all that is needed.
  if (peer.half == nullptr) start_dial(peer);
}

void LinkTransport::start_dial(Peer& peer) {
  const PeerId id = peer.wanted->id;
  peer.dial = std::make_shared<Dial>(context_, *peer.wanted,
                                     [this, id](Result<LinkParts> result) WEFT_REQUIRES(thread()) {
                                       on_dialled(id, std::move(result));
                                     });
  if (medium_->reaches_far()) reach_.help(peer.dial);
  post([dial = peer.dial] { dial->start(); });
}

// The address under way may be dead: whoever has moved is found at those that are told since.
void LinkTransport::tell_dial(Peer& peer, const PeerAddress& address) {
  std::vector<std::string>& known = peer.wanted->endpoints;
  std::vector<std::string> fresh;
  for (const std::string& endpoint : address.endpoints) {
    if (known.size() >= kWantedEndpointsMax) break;
    if (std::find(known.begin(), known.end(), endpoint) != known.end()) continue;
    known.push_back(endpoint);
    fresh.push_back(endpoint);
  }
  if (fresh.empty() || peer.dial == nullptr) return;
  // Later, as the dial may end by them; after its start, which was posted before.
  post([dial = peer.dial, fresh = std::move(fresh)] { dial->add_endpoints(fresh); });
}

void LinkTransport::on_dialled(const PeerId& id, Result<LinkParts> result) {
  Peer& peer = peers_[id];
  peer.dial.reset();
  if (result.ok()) return bring_up(id, std::move(result).value());
  if (peer.half != nullptr) return;
  peer.wanted.reset();
  forget_if_idle(id);
  handler_->on_link_down(id, result.status());
}

Status LinkTransport::on_link_reach(Link& link, const FrameView& frame) {
  if (find_link(link.info().peer) != &link) return {};
  if (!medium_->reaches_far()) return corrupt("peers of this transport need no introduction");
  return reach_.on_frame(link, frame);
}

Status LinkTransport::on_link_shortcut(Link& link, ByteSpan head) {
  if (find_link(link.info().peer) != &link) return {};
  return shortcuts_.on_offer(link, head);
}

Status LinkTransport::on_link_connections(Link& link, ByteSpan head) {
  if (find_link(link.info().peer) != &link) return {};
  return stripes_.on_message(link, head);
}

std::vector<PeerId> LinkTransport::proved_peers() const {
  std::vector<PeerId> proved;
  for (const auto& [id, peer] : peers_) {
    if (peer.link != nullptr && peer.link->trust() == LinkTrust::kProved) proved.push_back(id);
  }
  return proved;
}

void LinkTransport::set_trust(const PeerId& peer, LinkTrust trust) {
  thread().assert_here();
  Link* link = find_link(peer);
  if (link == nullptr || link->trust() == trust) return;
  remember_address(*link);
  link->set_trust(trust);
  remember_address(*link);
  reach_.on_trust(peer, trust);
  begin_services(*link);
}

void LinkTransport::remember_address(const Link& link) {
  if (link.trust() == LinkTrust::kProved) greeter_.prove(link.info().origin);
}

void LinkTransport::begin_services(Link& link) {
  if (!link.begin_services()) return;
  shortcuts_.on_link_up(link);
  stripes_.on_link_up(link);
}

void LinkTransport::bring_up(const PeerId& id, LinkParts parts) {
  Peer& peer = peers_[id];
  if (peer.dial != nullptr) peer.dial->abandon();
  peer.dial.reset();
  drop_half(peer);
  peer.wanted.reset();
  LinkOwner& owner = *this;
  const auto link = std::make_shared<Link>(context_, std::move(parts), owner);
  peer.link = link;
  // Frames are held back until the loop's next turn.
  link->open(handler_->first_trust(link->info()));
  remember_address(*link);
  reach_.on_link_up(id);
  begin_services(*link);
  handler_->on_link_up(link->info());
}

void LinkTransport::end_link(const PeerId& id, const Status& why, bool politely) {
  Peer& peer = peers_[id];
  const std::shared_ptr<Link> link = std::move(peer.link);
  peer.link.reset();
  remember_address(*link);
  add(past_, link->stats());
  if (politely) {
    link->say_goodbye(why);
  } else {
    link->drop();
  }
  forget_if_idle(id);
  reach_.on_link_down(id);
  shortcuts_.on_link_down(id);
  stripes_.on_link_down(id);
  const auto found = peers_.find(id);
  const bool doubted = found != peers_.end() && found->second.doubt != nullptr;
  if (doubted) post([this, id]() WEFT_REQUIRES(thread()) { believe_doubt(id); });
  handler_->on_link_down(id, why);
}

void LinkTransport::on_link_ended(Link& link, const Status& why) {
  const PeerId id = link.info().peer;
  if (find_link(id) == &link) end_link(id, why, why.code() == Code::kCorrupt);
}

void LinkTransport::on_link_frame(Link& link, Lane lane, const FrameView& frame) {
  if (find_link(link.info().peer) == &link) handler_->on_frame(link.info().peer, lane, frame);
}

void LinkTransport::on_link_writable(Link& link, Lane lane) {
  if (find_link(link.info().peer) == &link) handler_->on_writable(link.info().peer, lane);
}

MutableByteSpan LinkTransport::link_body_destination(Link& link, std::uint8_t type, ByteSpan head,
                                                     std::size_t body_bytes) {
  if (find_link(link.info().peer) != &link) return {};
  return handler_->body_destination(link.info().peer, type, head, body_bytes);
}

bool LinkTransport::link_reads_body_once(Link& link, std::uint8_t type) {
  return find_link(link.info().peer) == &link && handler_->reads_body_once(type);
}

Status LinkTransport::send(const PeerId& to, Lane lane, Frame frame) {
  thread().assert_here();
  WEFT_TRY(check_frame(frame));
  Link* link = find_link(to);
  if (link == nullptr) return unavailable("no link to " + to.short_name());
  return link->send(lane, std::move(frame));
}

std::size_t LinkTransport::queued_bytes(const PeerId& to, Lane lane) const {
  thread().assert_here();
  const Link* link = find_link(to);
  return link == nullptr ? 0 : link->queued_bytes(lane);
}

void LinkTransport::cancel_bulk(const PeerId& to) {
  thread().assert_here();
  if (Link* link = find_link(to); link != nullptr) link->cancel_bulk();
}

void LinkTransport::close(const PeerId& id, const Status& why) {
  thread().assert_here();
  const auto found = peers_.find(id);
  if (found == peers_.end()) return;
  Peer& peer = found->second;
  const bool report = peer.link != nullptr || peer.wanted.has_value();
  if (peer.link != nullptr) {
    const std::shared_ptr<Link> link = std::move(peer.link);
    peer.link.reset();
    remember_address(*link);
    add(past_, link->stats());
    link->say_goodbye(why);
  }
  if (peer.dial != nullptr) peer.dial->abandon();
  peer.dial.reset();
  drop_half(peer);
  peer.wanted.reset();
  forget_if_idle(id);
  reach_.on_link_down(id);
  shortcuts_.on_link_down(id);
  stripes_.on_link_down(id);
  if (report) post([this, id, why]() WEFT_REQUIRES(thread()) { handler_->on_link_down(id, why); });
}

TransportStats LinkTransport::stats(const PeerId& peer) const {
  thread().assert_here();
  const Link* link = find_link(peer);
  return link == nullptr ? TransportStats{} : link->stats();
}

TransportStats LinkTransport::total_stats() const {
  thread().assert_here();
  TransportStats sum = past_;
  for (const auto& [id, peer] : peers_) {
    if (peer.link != nullptr) add(sum, peer.link->stats());
  }
  return sum;
}

}  // namespace weft
