#include "weft/net/shm/shortcut.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <asio/local/stream_protocol.hpp>
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "weft/base/log.h"
#include "weft/net/shm/shm_stream.h"
#include "weft/wire/frame_type.h"

namespace weft {

namespace {

// In the caches of both sides, and more than a frame.
constexpr std::size_t kRingBytes = 512 * 1024;
constexpr Duration kTimeout = std::chrono::seconds(5);
constexpr std::size_t kGuestsMax = 32;

// Abstract: in no folder, seen within one network namespace only, gone with its process.
SocketAddress address_of(const std::array<std::uint8_t, 16>& name) {
  return asio::local::stream_protocol::endpoint(std::string(1, '\0') + "weft-" + to_hex(name));
}

Status check_user(int socket) {
  ucred other{};
  socklen_t size = sizeof other;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &other, &size) != 0) {
    return system_status(errno);
  }
  return other.uid == ::geteuid() ? Status() : corrupt("shortcut: a process of another user");
}

}  // namespace

Shortcuts::~Shortcuts() {
  for (const Guest& guest : guests_) {
    context_.loop.cancel(guest.timer);
    guest.connection->close();
  }
}

Status Shortcuts::listen() {
  if (listener_ != nullptr) return {};
  if (RAND_bytes(name_.data(), static_cast<int>(name_.size())) != 1) {
    return internal_error("no random numbers");
  }
  WEFT_TRY_ASSIGN(Socket socket, listen_on(address_of(name_)));
  listener_ = std::make_unique<asio::posix::stream_descriptor>(context_.loop.impl().context,
                                                               socket.release());
  wait();
  return {};
}

void Shortcuts::wait() {
  listener_->async_wait(asio::posix::stream_descriptor::wait_read,
                        [this, alive = std::weak_ptr(alive_)](const asio::error_code& error) {
                          if (!error && !alive.expired()) accept_waiting();
                        });
}

void Shortcuts::accept_waiting() {
  for (std::size_t taken = 0; taken < kGuestsMax; ++taken) {
    Result<Socket> socket = accept_from(listener_->native_handle());
    // Without descriptors nothing is waited for any more: links do without shortcuts.
    if (!socket.ok()) return;
    if (!socket->valid()) break;
    if (!check_user(socket->get()).ok() || guests_.size() >= kGuestsMax) continue;
    const int descriptor = socket->get();
    receive(std::move(socket).value(), accept_shm_stream(descriptor), std::nullopt, {});
  }
  wait();
}

void Shortcuts::receive(Socket socket, std::unique_ptr<ByteStream> stream,
                        std::optional<PeerId> peer, const Token& token) {
  auto connection = std::make_shared<Connection>(context_.loop, socket.release(), std::move(stream),
                                                 *this, context_.options.low_water_bytes);
  const TimerId timer = context_.loop.call_at(
      context_.loop.now() + kTimeout,
      [this, alive = std::weak_ptr(alive_), weak = std::weak_ptr(connection)] {
        const std::shared_ptr<Connection> late = weak.lock();
        if (!alive.expired() && late != nullptr) on_ended(*late, timed_out("shortcut"));
      });
  guests_.push_back({connection, timer, peer, token});
  connection->start();
}

std::optional<Shortcuts::Guest> Shortcuts::take(const Connection& connection) {
  const auto found = std::find_if(guests_.begin(), guests_.end(), [&](const Guest& guest) {
    return guest.connection.get() == &connection;
  });
  if (found == guests_.end()) return std::nullopt;
  Guest guest = std::move(*found);
  context_.loop.cancel(guest.timer);
  guests_.erase(found);
  return guest;
}

void Shortcuts::on_link_up(Link& link) {
  if (!context_.options.shortcuts || link.info().inbound || !link.within_one_machine()) return;
  if (!listen().ok()) return;
  ShortcutMessage offer;
  offer.name = name_;
  if (RAND_bytes(offer.token.data(), static_cast<int>(offer.token.size())) != 1) return;
  offered_[link.info().peer] = offer.token;
  static_cast<void>(link.send(Lane::kControl, {frame_type::kShortcut, offer.encode(), {}}));
}

void Shortcuts::on_link_down(const PeerId& peer) {
  offered_.erase(peer);
  for (auto guest = guests_.begin(); guest != guests_.end();) {
    if (guest->peer != peer) {
      ++guest;
      continue;
    }
    context_.loop.cancel(guest->timer);
    guest->connection->close();
    guest = guests_.erase(guest);
  }
}

Status Shortcuts::on_offer(Link& link, ByteSpan head) {
  WEFT_TRY_ASSIGN(const ShortcutMessage offer, ShortcutMessage::decode(head));
  const PeerId peer = link.info().peer;
  const bool again =
      !link.bulk().takes_shortcut() ||
      std::any_of(guests_.begin(), guests_.end(), [&](const Guest& g) { return g.peer == peer; });
  if (!link.info().inbound || again) return corrupt("shortcut: offered where none may be");
  if (!context_.options.shortcuts || !link.within_one_machine()) return {};
  if (guests_.size() >= kGuestsMax) return {};
  // A peer that is not where its address says goes without.
  Result<Socket> socket = begin_connect(address_of(offer.name));
  if (!socket.ok() || !check_user(socket->get()).ok()) return {};
  const int descriptor = socket->get();
  receive(std::move(socket).value(), dial_shm_stream(descriptor, kRingBytes), peer, offer.token);
  return {};
}

void Shortcuts::on_ready(Connection& connection) {
  const auto guest = std::find_if(guests_.begin(), guests_.end(), [&](const Guest& each) {
    return each.connection.get() == &connection;
  });
  if (guest == guests_.end() || !guest->peer) return;
  const std::optional<Guest> taken = take(connection);
  Link* link = find_link_(*taken->peer);
  if (link == nullptr || !link->bulk().takes_shortcut()) return connection.close();
  connection.send({frame_type::kShortcutHello, ShortcutHelloMessage{taken->token}.encode(), {}});
  link->bulk().take_shortcut(taken->connection, BulkLane::Moves::kSecond);
}

void Shortcuts::on_frame(Connection& connection, const FrameView& frame) {
  const std::optional<Guest> guest = take(connection);
  if (!guest) return;
  const Result<ShortcutHelloMessage> hello = ShortcutHelloMessage::decode(frame.head);
  const auto offer = std::find_if(offered_.begin(), offered_.end(), [&](const auto& each) {
    return hello.ok() &&
           CRYPTO_memcmp(each.second.data(), hello->token.data(), each.second.size()) == 0;
  });
  Link* link = offer == offered_.end() ? nullptr : find_link_(offer->first);
  if (frame.type != frame_type::kShortcutHello || link == nullptr ||
      !link->bulk().takes_shortcut()) {
    log(LogLevel::kInfo, "refused a shortcut: its token is none that was offered");
    return connection.close();
  }
  offered_.erase(offer);
  link->bulk().take_shortcut(guest->connection, BulkLane::Moves::kFirst);
}

void Shortcuts::on_ended(Connection& connection, const Status& /*why*/) {
  if (take(connection)) connection.close();
}

}  // namespace weft
