#include "weft/net/link/greeter.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <sys/socket.h>

#include "weft/net/crowd.h"
#include "weft/net/link/partings.h"
#include "weft/net/stream/preface_stream.h"
#include "weft/wire/frame_type.h"

namespace weft {

namespace {

constexpr Duration kRefusalTimeout = std::chrono::seconds(2);
// After accept() failed, as it does when the process has no descriptors left.
constexpr Duration kAcceptPause = std::chrono::milliseconds(100);

std::string remote_text(int socket) {
  const Result<SocketAddress> remote = remote_address(socket);
  return remote.ok() ? address_text(*remote) : "";
}

}  // namespace

Greeter::Greeter(const LinkContext& context, Callbacks callbacks)
    : context_(context),
      callbacks_(std::move(callbacks)),
      gate_(context.options.handshakes, context.loop.now()) {}

Greeter::~Greeter() {
  for (const Guest& guest : guests_) {
    context_.loop.cancel(guest.timer);
    guest.connection->close();
  }
}

void Greeter::listen(Socket socket) {
  listeners_.push_back(std::make_unique<asio::posix::stream_descriptor>(
      context_.loop.impl().context, socket.release()));
  wait(listeners_.size() - 1);
}

void Greeter::wait(std::size_t listener) {
  listeners_[listener]->async_wait(
      asio::posix::stream_descriptor::wait_read,
      [this, listener, alive = std::weak_ptr(alive_)](const asio::error_code& error) {
        if (!error && !alive.expired()) accept_waiting(listener);
      });
}

void Greeter::accept_waiting(std::size_t listener) {
  const std::weak_ptr<bool> alive = alive_;
  for (std::size_t taken = 0; taken < context_.options.handshakes_max; ++taken) {
    Result<Socket> socket = accept_from(listeners_[listener]->native_handle());
    if (!socket.ok()) {
      callbacks_.on_refused("", socket.status().with_context("accept"));
      context_.loop.call_at(context_.loop.now() + kAcceptPause, [this, listener, alive] {
        if (!alive.expired()) wait(listener);
      });
      return;
    }
    if (!socket->valid()) break;
    receive(std::move(socket).value());
    if (alive.expired()) return;
  }
  wait(listener);
}

void Greeter::receive(Socket socket) {
  const std::string refusal = gate_.refusal(origin_of(socket.get()), context_.loop.now());
  if (!refusal.empty()) {
    return callbacks_.on_refused(remote_text(socket.get()), unavailable(refusal));
  }
  const Status prepared = context_.medium.prepare(socket.get());
  if (!prepared.ok()) return callbacks_.on_refused("", prepared);
  std::unique_ptr<ByteStream> stream = context_.medium.accept(socket.get());
  if (context_.medium.reaches_far()) {
    stream = std::make_unique<PrefaceStream>(socket.get(), std::move(stream), std::nullopt,
                                             PrefaceHearing::kPerhaps);
  }
  receive(std::move(socket), std::move(stream), {LinkPath::kDirect, "", "it dialled this peer"});
}

void Greeter::receive(Socket socket, std::unique_ptr<ByteStream> stream, const LinkRoute& route) {
  if (guests_.size() >= context_.options.handshakes_max) {
    const auto first = crowded_out(
        guests_, [](const Guest& guest) -> const std::string* { return &guest.origin; });
    if (first == guests_.end()) return;
    turn_away(*first->connection, unavailable("too many connections without a hello"));
  }
  std::string origin = origin_of(socket.get());
  auto connection = std::make_shared<Connection>(context_.loop, socket.release(), std::move(stream),
                                                 *this, context_.options.low_water_bytes);
  connection->set_route(route);
  const TimerId timer = context_.loop.call_at(
      context_.loop.now() + context_.options.handshake_timeout,
      [this, alive = std::weak_ptr(alive_), weak = std::weak_ptr(connection)] {
        const std::shared_ptr<Connection> late = weak.lock();
        if (alive.expired() || late == nullptr) return;
        turn_away(*late, timed_out("no hello in time"));
      });
  guests_.push_back({connection, timer, std::move(origin)});
  connection->start();
}

std::shared_ptr<Connection> Greeter::take(const Connection& connection) {
  const auto found = std::find_if(guests_.begin(), guests_.end(), [&](const Guest& guest) {
    return guest.connection.get() == &connection;
  });
  if (found == guests_.end()) return nullptr;
  std::shared_ptr<Connection> taken = std::move(found->connection);
  context_.loop.cancel(found->timer);
  guests_.erase(found);
  return taken;
}

void Greeter::on_ready(Connection& connection) {
  const PrefaceMessage* heard = connection.stream().preface();
  if (heard == nullptr) return;
  const PrefaceMessage preface = *heard;
  const std::shared_ptr<Connection> guest = take(connection);
  if (guest == nullptr) return;
  const std::string remote = guest->remote_endpoint();
  callbacks_.on_preface(guest->release(), preface, remote);
}

void Greeter::turn_away(Connection& connection, const Status& why) {
  const std::shared_ptr<Connection> taken = take(connection);
  if (taken == nullptr) return;
  const std::string remote = taken->remote_endpoint();
  taken->close();
  // Both sides punch, and of the connections that come about all but one are given up.
  if (taken->route().path == LinkPath::kPunched && why.code() == Code::kUnavailable) return;
  callbacks_.on_refused(remote, why);
}

void Greeter::refuse(const std::shared_ptr<Connection>& connection, HelloVerdict verdict,
                     const std::string& text) {
  const HelloReplyMessage reply{verdict, context_.self, context_.instance, text};
  connection->send({frame_type::kHelloReply, reply.encode(), {}});
  connection->close_after_sending(kRefusalTimeout);
  context_.partings.add(connection);
}

void Greeter::on_frame(Connection& connection, const FrameView& frame) {
  if (frame.type != frame_type::kHello) return turn_away(connection, corrupt("expected a hello"));
  const Result<HelloMessage> hello = HelloMessage::decode(frame.head);
  if (!hello.ok()) return turn_away(connection, hello.status());
  const std::shared_ptr<Connection> guest = take(connection);
  if (guest == nullptr) return;
  const std::string remote = guest->remote_endpoint();
  const auto refused = [&](HelloVerdict verdict, const std::string& text) {
    refuse(guest, verdict, text);
    callbacks_.on_refused(remote, corrupt(text));
  };
  if (hello->version != kLinkVersion) {
    return refused(HelloVerdict::kWrongVersion,
                   fmt::format("hello.version: expected {}, got {}", kLinkVersion, hello->version));
  }
  const std::optional<PeerId> proven = guest->stream().proven_peer();
  if (proven.has_value() && *proven != hello->from) {
    return refused(HelloVerdict::kWrongPeer,
                   fmt::format("hello.from: expected {}, the certificate's key, got {}",
                               proven->short_name(), hello->from.short_name()));
  }
  if (hello->to != context_.self) {
    return refused(HelloVerdict::kWrongPeer,
                   fmt::format("hello.to: this is {}, not {}", context_.self.short_name(),
                               hello->to.short_name()));
  }
  if (hello->from == context_.self) {
    return refused(HelloVerdict::kWrongPeer, "hello.from: a peer does not dial itself");
  }
  callbacks_.on_hello(guest, *hello);
}

void Greeter::on_ended(Connection& connection, const Status& why) { turn_away(connection, why); }

}  // namespace weft
