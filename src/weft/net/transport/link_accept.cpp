// What LinkTransport does with connections that others make: hellos, links whose second lane is
// still to come, and processes that want the link of one that has it.
#include <map>
#include <utility>

#include "weft/net/crowd.h"
#include "weft/net/transport/link_transport.h"
#include "weft/wire/frame_type.h"

namespace weft {

namespace {

// A living process answers on its link within this.
constexpr Duration kAliveTimeout = std::chrono::seconds(1);

}  // namespace

void LinkTransport::on_hello(const std::shared_ptr<Connection>& connection,
                             const HelloMessage& hello) {
  if (hello.lane == static_cast<std::uint8_t>(Lane::kControl)) {
    accept_control(connection, hello);
  } else if (hello.lane == static_cast<std::uint8_t>(Lane::kBulk)) {
    accept_bulk(connection, hello);
  } else {
    accept_further(connection, hello);
  }
}

void LinkTransport::on_preface(Socket socket, const PrefaceMessage& preface,
                               const std::string& remote) {
  const Status status = preface.kind == PrefaceKind::kRelay
                            ? relay_.take(std::move(socket), preface.pass)
                            : reach_.on_punched(std::move(socket), preface);
  if (!status.ok() && handler_ != nullptr) handler_->on_refused(remote, status);
}

void LinkTransport::accept_control(const std::shared_ptr<Connection>& connection,
                                   const HelloMessage& hello) {
  const std::weak_ptr<bool> alive = alive_;
  if (const Link* link = find_link(hello.from); link != nullptr) {
    if (link->remote_instance() == hello.instance) {
      return greeter_.refuse(connection, HelloVerdict::kLinked, "linked already");
    }
    // Strangers may have as many processes as they like, but one link.
    if (link->trust() != LinkTrust::kStranger) return doubt(connection, hello);
    end_link(hello.from, unavailable("the peer restarted"), false);
    if (alive.expired()) return connection->close();
  }
  if (links_and_halves() >= context_.options.links_max) {
    greeter_.refuse(connection, HelloVerdict::kLinked, "too many links");
    return handler_->on_refused(connection->remote_endpoint(), unavailable("too many links"));
  }
  Peer& peer = peers_[hello.from];
  if (peer.link != nullptr ||
      (peer.dial != nullptr && peer.dial->greeted() && context_.self < hello.from)) {
    return greeter_.refuse(connection, HelloVerdict::kWaitForMine, "both dial");
  }
  if (peer.dial != nullptr) peer.dial->abandon();
  peer.dial.reset();
  drop_half(peer);
  make_room_for_half();
  if (alive.expired()) return connection->close();
  const auto half = std::make_shared<Half>(*this);
  half->peer = hello.from;
  half->origin = origin_of(connection->socket());
  half->number = ++halves_made_;
  half->link = hello.link;
  half->instance = hello.instance;
  half->control = connection;
  half->timer =
      context_.loop.call_at(context_.loop.now() + context_.options.handshake_timeout,
                            [this, alive, weak = std::weak_ptr(half)]() WEFT_REQUIRES(thread()) {
                              const std::shared_ptr<Half> late = weak.lock();
                              if (alive.expired() || late == nullptr) return;
                              on_half_failed(late->peer, timed_out("no bulk lane in time"));
                            });
  peers_[hello.from].half = half;
  connection->set_owner(*half);
  reply_accepted(*connection);
  connection->halt();
}

void LinkTransport::accept_bulk(const std::shared_ptr<Connection>& connection,
                                const HelloMessage& hello) {
  const auto found = peers_.find(hello.from);
  const std::shared_ptr<Half> half = found == peers_.end() ? nullptr : found->second.half;
  if (half == nullptr || half->link != hello.link || half->instance != hello.instance) {
    return greeter_.refuse(connection, HelloVerdict::kWrongPeer, "no such link is being made");
  }
  reply_accepted(*connection);
  LinkParts parts;
  parts.control = half->control;
  parts.bulk = connection;
  parts.info = make_link_info(hello.from, true, *half->control, half->link);
  parts.remote_instance = half->instance;
  parts.id = half->link;
  if (port_map_ != nullptr && parts.info.path == LinkPath::kDirect) {
    const Result<SocketAddress> remote = numeric_address(parts.info.remote_endpoint);
    if (remote.ok() && !is_nearby(*remote)) {
      parts.info.path = LinkPath::kMapped;
      parts.info.why = "it dialled the port that the router opened by " + port_map_->method();
    }
  }
  // So that drop_half() leaves the connection open.
  half->control.reset();
  connection->halt();
  bring_up(hello.from, std::move(parts));
}

void LinkTransport::accept_further(const std::shared_ptr<Connection>& connection,
                                   const HelloMessage& hello) {
  Link* link = find_link(hello.from);
  if (link == nullptr || link->trust() != LinkTrust::kProved || !stripes_.accepts(*link, hello)) {
    return greeter_.refuse(connection, HelloVerdict::kWrongPeer, "no link takes it");
  }
  reply_accepted(*connection);
  link->bulk().add(connection);
}

void LinkTransport::reply_accepted(Connection& connection) {
  const HelloReplyMessage reply{HelloVerdict::kAccepted, context_.self, context_.instance, ""};
  connection.send({frame_type::kHelloReply, reply.encode(), {}});
}

void LinkTransport::make_room_for_half() {
  std::map<std::uint64_t, const Half*> halves;
  for (const auto& [id, peer] : peers_) {
    if (peer.half != nullptr) halves.emplace(peer.half->number, peer.half.get());
  }
  if (halves.size() < context_.options.halves_max) return;
  const auto first = crowded_out(
      halves, [](const auto& entry) -> const std::string* { return &entry.second->origin; });
  if (first == halves.end()) return;
  on_half_failed(first->second->peer, unavailable("too many links without their second lane"));
}

void LinkTransport::drop_half(Peer& peer) {
  if (peer.half == nullptr) return;
  context_.loop.cancel(peer.half->timer);
  if (peer.half->control != nullptr) peer.half->control->close();
  peer.half.reset();
}

// A process that was killed leaves links that break or fall silent; one that lives answers.
void LinkTransport::doubt(const std::shared_ptr<Connection>& connection,
                          const HelloMessage& hello) {
  Peer& peer = peers_[hello.from];
  if (peer.doubt != nullptr) {
    return greeter_.refuse(connection, HelloVerdict::kLinked, "another one is asked already");
  }
  const auto doubt = std::make_shared<Doubt>(*this);
  doubt->hello = hello;
  doubt->control = connection;
  doubt->timer = context_.loop.call_at(context_.loop.now() + kAliveTimeout,
                                       [this, alive = std::weak_ptr(alive_), id = hello.from]()
                                           WEFT_REQUIRES(thread()) {
                                             if (!alive.expired()) believe_doubt(id);
                                           });
  peer.doubt = doubt;
  connection->set_owner(*doubt);
  connection->halt();
  peer.link->ask_alive();
}

std::shared_ptr<LinkTransport::Doubt> LinkTransport::take_doubt(const PeerId& id) {
  const auto found = peers_.find(id);
  if (found == peers_.end() || found->second.doubt == nullptr) return nullptr;
  context_.loop.cancel(found->second.doubt->timer);
  return std::exchange(found->second.doubt, nullptr);
}

void LinkTransport::believe_doubt(const PeerId& id) {
  const std::weak_ptr<bool> alive = alive_;
  if (find_link(id) != nullptr) end_link(id, unavailable("the peer restarted"), false);
  if (alive.expired()) return;
  const std::shared_ptr<Doubt> doubt = take_doubt(id);
  if (doubt != nullptr) accept_control(doubt->control, doubt->hello);
}

void LinkTransport::on_link_alive(Link& link) {
  const PeerId id = link.info().peer;
  if (find_link(id) != &link) return;
  const std::shared_ptr<Doubt> doubt = take_doubt(id);
  if (doubt == nullptr) return;
  const std::string remote = doubt->control->remote_endpoint();
  doubt->control->set_owner(greeter_);
  greeter_.refuse(doubt->control, HelloVerdict::kTwin, "another process uses this identity");
  handler_->on_twin(id, remote);
}

void LinkTransport::Doubt::on_frame(Connection& connection, const FrameView& /*frame*/) {
  on_ended(connection, corrupt("a frame before the answer to the hello"));
}

void LinkTransport::Doubt::on_ended(Connection& connection, const Status& why) {
  const std::shared_ptr<Doubt> self = transport.take_doubt(hello.from);
  const std::string remote = connection.remote_endpoint();
  connection.close();
  transport.forget_if_idle(hello.from);
  transport.handler_->on_refused(remote, why);
}

void LinkTransport::Half::on_frame(Connection& /*connection*/, const FrameView& /*frame*/) {
  transport.on_half_failed(peer, corrupt("a frame before both lanes were there"));
}

void LinkTransport::Half::on_ended(Connection& /*connection*/, const Status& why) {
  transport.on_half_failed(peer, why);
}

void LinkTransport::on_half_failed(const PeerId& id, const Status& why) {
  Peer& peer = peers_[id];
  const std::shared_ptr<Half> half = peer.half;
  if (half == nullptr) return;
  const std::string remote = half->control->remote_endpoint();
  drop_half(peer);
  if (peer.wanted.has_value() && peer.dial == nullptr) start_dial(peer);
  forget_if_idle(id);
  handler_->on_refused(remote, why);
}

}  // namespace weft
