#include "weft/net/discovery_socket.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <utility>

#include <arpa/inet.h>
#include <asio/posix/stream_descriptor.hpp>
#include <netinet/in.h>
#include <sys/socket.h>

#include "weft/net/discovery/interfaces.h"
#include "weft/net/stream/loop_impl.h"
#include "weft/net/stream/socket.h"

namespace weft {

namespace {

// More than any datagram that is looked at.
constexpr std::size_t kDatagramBytesMax = 2048;
// Read before the loop turns to something else.
constexpr int kDatagramsAtOnce = 64;
constexpr Duration kInterfacesEvery = std::chrono::seconds(30);
constexpr Duration kQueryTimes[] = {Duration::zero(), std::chrono::milliseconds(250),
                                    std::chrono::milliseconds(700)};

struct Datagram {
  SystemAddress address{};
  socklen_t address_size = sizeof(SystemAddress);
  std::array<std::uint8_t, kDatagramBytesMax> bytes{};
  std::size_t size = 0;
};

template <class Value>
bool set_option(int socket, int level, int name, const Value& value) {
  return ::setsockopt(socket, level, name, &value, sizeof value) == 0;
}

Result<Socket> open_socket(int family) {
  Socket socket(::socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return system_status(errno);
  if (family == AF_INET6) set_option(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1);
  return socket;
}

Status bind_to(const Socket& socket, const Datagram& to) {
  if (::bind(socket.get(), &to.address.any, to.address_size) != 0) return system_status(errno);
  return {};
}

// All addresses of `family`.
Datagram any_address(int family, std::uint16_t port) {
  Datagram out;
  out.address.any.sa_family = static_cast<sa_family_t>(family);
  if (family == AF_INET) {
    out.address.v4.sin_port = htons(port);
  } else {
    out.address.v6.sin6_port = htons(port);
  }
  out.address_size = static_cast<socklen_t>(size_of_family(family));
  return out;
}

// The group of `family` and its port; no bytes.
Result<Datagram> group_of(const DiscoveryPlace& place, int family) {
  Datagram out = any_address(family, place.port);
  bool good = false;
  if (family == AF_INET) {
    in_addr& ip = out.address.v4.sin_addr;
    good = ::inet_pton(AF_INET, place.group_v4.c_str(), &ip) == 1 && IN_MULTICAST(ntohl(ip.s_addr));
  } else {
    in6_addr& ip = out.address.v6.sin6_addr;
    good = ::inet_pton(AF_INET6, place.group_v6.c_str(), &ip) == 1 && ip.s6_addr[0] == 0xff;
  }
  if (!good) return invalid_argument("discovery: expected the address of a multicast group");
  return out;
}

// Whether any interface is listened on. One that is already does no harm.
bool join_groups(const Socket& socket, const Datagram& group, int family,
                 const std::vector<Interface>& own) {
  bool joined = false;
  for (const Interface& interface : own) {
    if (interface.family != family) continue;
    bool good = false;
    if (family == AF_INET) {
      ip_mreqn request{};
      request.imr_multiaddr = group.address.v4.sin_addr;
      request.imr_ifindex = static_cast<int>(interface.index);
      good = set_option(socket.get(), IPPROTO_IP, IP_ADD_MEMBERSHIP, request);
    } else {
      ipv6_mreq request{};
      request.ipv6mr_multiaddr = group.address.v6.sin6_addr;
      request.ipv6mr_interface = interface.index;
      good = set_option(socket.get(), IPPROTO_IPV6, IPV6_ADD_MEMBERSHIP, request);
    }
    joined = joined || good || errno == EADDRINUSE;
  }
  return joined;
}

// Sends on all interfaces of the socket's family; true if any accepted the datagram.
bool send_to_group(const Socket& socket, const Datagram& group, int family, const Bytes& bytes) {
  bool sent = false;
  unsigned last = 0;
  for (const Interface& interface : interfaces()) {
    if (interface.family != family || interface.index == last) continue;
    last = interface.index;
    if (family == AF_INET) {
      ip_mreqn request{};
      request.imr_ifindex = static_cast<int>(interface.index);
      if (!set_option(socket.get(), IPPROTO_IP, IP_MULTICAST_IF, request)) continue;
    } else if (!set_option(socket.get(), IPPROTO_IPV6, IPV6_MULTICAST_IF,
                           static_cast<int>(interface.index))) {
      continue;
    }
    const auto count = ::sendto(socket.get(), bytes.data(), bytes.size(), 0, &group.address.any,
                                group.address_size);
    sent = sent || count == static_cast<ssize_t>(bytes.size());
  }
  return sent;
}

// False when nothing is waiting. A datagram that is too long comes back as one without bytes.
bool receive_from(int socket, Datagram& out) {
  out.address_size = sizeof out.address;
  const auto count = ::recvfrom(socket, out.bytes.data(), out.bytes.size(), MSG_TRUNC,
                                &out.address.any, &out.address_size);
  if (count < 0) return false;
  const auto size = static_cast<std::size_t>(count);
  out.size = size > out.bytes.size() ? 0 : size;
  return true;
}

// Calls `take` for each datagram that arrives, until it is destroyed.
class Receiver {
 public:
  using Take = std::function<void(const Socket& socket, const Datagram& datagram)>;

  Receiver(EventLoop& loop, Socket socket, Take take)
      : socket_(std::move(socket)),
        descriptor_(loop.impl().context, socket_.get()),
        take_(std::move(take)) {
    wait();
  }
  ~Receiver() {
    // The socket belongs to socket_.
    descriptor_.release();
  }
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;
  const Socket& socket() const { return socket_; }

 private:
  void wait() {
    descriptor_.async_wait(
        asio::posix::stream_descriptor::wait_read,
        [this, alive = std::weak_ptr(alive_)](const asio::error_code& error) {
          if (error || alive.expired()) return;
          for (int i = 0; i < kDatagramsAtOnce && receive_from(socket_.get(), datagram_); ++i) {
            take_(socket_, datagram_);
            if (alive.expired()) return;
          }
          wait();
        });
  }

  Socket socket_;
  asio::posix::stream_descriptor descriptor_;
  Take take_;
  Datagram datagram_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

std::uint16_t port_of(const Socket& socket) {
  Datagram bound;
  if (::getsockname(socket.get(), &bound.address.any, &bound.address_size) != 0) return 0;
  return ntohs(bound.address.any.sa_family == AF_INET ? bound.address.v4.sin_port
                                                      : bound.address.v6.sin6_port);
}

}  // namespace

// --- The member's side.

struct DiscoveryListener::Impl {
  Impl(EventLoop& on, const PeerIdentity& identity) : loop(on), responder(identity) {}

  Status open(int family, DiscoveryPlace& place);
  void refresh();
  void take(const Socket& socket, const Datagram& datagram);

  EventLoop& loop;
  DiscoveryResponder responder;
  DiscoveryAudience audience = DiscoveryAudience::kNetwork;
  std::vector<Interface> own;
  TimePoint looked_at;
  std::uint16_t port = 0;
  // By family.
  std::map<int, Datagram> groups;
  std::map<int, std::unique_ptr<Receiver>> receivers;
};

Status DiscoveryListener::Impl::open(int family, DiscoveryPlace& place) {
  WEFT_TRY_ASSIGN(Datagram group, group_of(place, family));
  WEFT_TRY_ASSIGN(Socket socket, open_socket(family));
  // Several peers of one machine hear the same group.
  set_option(socket.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (family == AF_INET) {
    // Bound to the group itself: what is sent to this machine alone is not heard.
    set_option(socket.get(), IPPROTO_IP, IP_MULTICAST_ALL, 0);
    WEFT_TRY(bind_to(socket, group));
  } else {
    WEFT_TRY(bind_to(socket, any_address(family, place.port)));
  }
  if (!join_groups(socket, group, family, own)) {
    return unavailable("no network interface takes part in multicast");
  }
  place.port = port = port_of(socket);
  WEFT_TRY_ASSIGN(group, group_of(place, family));
  groups.emplace(family, group);
  receivers.emplace(
      family, std::make_unique<Receiver>(
                  loop, std::move(socket),
                  [this](const Socket& from, const Datagram& datagram) { take(from, datagram); }));
  return {};
}

void DiscoveryListener::Impl::refresh() {
  if (loop.now() - looked_at < kInterfacesEvery) return;
  looked_at = loop.now();
  own = interfaces();
  for (const auto& [family, receiver] : receivers) {
    static_cast<void>(join_groups(receiver->socket(), groups.at(family), family, own));
  }
}

void DiscoveryListener::Impl::take(const Socket& socket, const Datagram& datagram) {
  const Bytes asker = ip_bytes(datagram.address);
  const bool heard =
      audience == DiscoveryAudience::kThisMachine ? is_own(asker, own) : is_neighbour(asker, own);
  if (!heard) return;
  const std::optional<Bytes> answer =
      responder.answer(ip_text(datagram.address), ByteSpan(datagram.bytes).first(datagram.size),
                       loop.now(), loop.clock().unix_time_s());
  if (!answer) return;
  // A lost answer is asked for again.
  static_cast<void>(::sendto(socket.get(), answer->data(), answer->size(), 0, &datagram.address.any,
                             datagram.address_size));
}

DiscoveryListener::DiscoveryListener(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DiscoveryListener::~DiscoveryListener() = default;

Result<std::unique_ptr<DiscoveryListener>> DiscoveryListener::open(EventLoop& loop,
                                                                   const PeerIdentity& identity,
                                                                   const DiscoveryPlace& place,
                                                                   DiscoveryAudience audience) {
  auto impl = std::make_unique<Impl>(loop, identity);
  impl->audience = audience;
  impl->own = interfaces();
  impl->looked_at = loop.now();
  DiscoveryPlace chosen = place;
  const Status v4 = impl->open(AF_INET, chosen);
  const Status v6 = impl->open(AF_INET6, chosen);
  if (!v4.ok() && !v6.ok()) return v4.with_context("discovery");
  return std::make_unique<DiscoveryListener>(std::move(impl));
}

void DiscoveryListener::set_card(std::optional<DiscoveryCard> card) {
  impl_->responder.set_card(std::move(card));
  impl_->refresh();
}

std::uint16_t DiscoveryListener::port() const { return impl_->port; }

void DiscoveryListener::set_codes(std::vector<OfferedCode> codes) {
  impl_->responder.set_codes(std::move(codes));
}

// --- The side that looks.

namespace {

// Sockets to send queries by, and to hear the answers.
class GroupAsker {
 public:
  using Take = std::function<void(const Datagram& datagram)>;

  // Both families, or one where the other is not there.
  Status open(EventLoop& loop, const DiscoveryPlace& place, const Take& take) {
    const Status v4 = open(loop, place, AF_INET, take);
    const Status v6 = open(loop, place, AF_INET6, take);
    return !v4.ok() && !v6.ok() ? v4.with_context("discovery") : Status();
  }
  // Whether any interface took it.
  bool send(const Bytes& query) {
    bool sent = false;
    for (const auto& [family, receiver] : receivers_) {
      const Datagram& group = groups_.at(family);
      sent = send_to_group(receiver->socket(), group, family, query) || sent;
    }
    return sent;
  }

 private:
  Status open(EventLoop& loop, const DiscoveryPlace& place, int family, const Take& take) {
    WEFT_TRY_ASSIGN(const Datagram group, group_of(place, family));
    WEFT_TRY_ASSIGN(Socket socket, open_socket(family));
    WEFT_TRY(bind_to(socket, any_address(family, 0)));
    if (family == AF_INET) {
      set_option(socket.get(), IPPROTO_IP, IP_MULTICAST_TTL, 1);
    } else {
      set_option(socket.get(), IPPROTO_IPV6, IPV6_MULTICAST_HOPS, 1);
    }
    groups_.emplace(family, group);
    receivers_.emplace(family, std::make_unique<Receiver>(
                                   loop, std::move(socket),
                                   [take](const Socket&, const Datagram& got) { take(got); }));
    return {};
  }

  // By family.
  std::map<int, Datagram> groups_;
  std::map<int, std::unique_ptr<Receiver>> receivers_;
};

DiscoveryNonce drawn_nonce() {
  DiscoveryNonce nonce{};
  random_bytes(nonce);
  return nonce;
}

// Calls `ask` at the times of queries until `done` or the limit. kUnavailable where none was sent.
Status ask_in_turn(EventLoop& loop, Duration limit, const std::function<bool()>& ask,
                   const std::function<bool()>& done) {
  bool asked = false;
  const TimePoint begun = loop.now();
  for (const Duration after : kQueryTimes) {
    loop.call_at(begun + after, [&] { asked = ask() || asked; });
  }
  loop.run_until(done, limit);
  if (asked) return {};
  return unavailable("discovery: no network interface of this machine takes multicast");
}

}  // namespace

struct DiscoveryAsker::Impl {
  Impl(EventLoop& on, std::optional<RunId> run, std::function<void()> heard)
      : loop(on), search(run), on_answer(std::move(heard)) {}

  void take(const Datagram& got);

  EventLoop& loop;
  DiscoverySearch search;
  std::function<void()> on_answer;
  GroupAsker asker;
};

void DiscoveryAsker::Impl::take(const Datagram& got) {
  const Status status =
      search.on_datagram(ip_text(got.address), ByteSpan(got.bytes).first(got.size), loop.now(),
                         loop.clock().unix_time_s());
  if (status.ok()) on_answer();
}

DiscoveryAsker::DiscoveryAsker(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DiscoveryAsker::~DiscoveryAsker() = default;

Result<std::unique_ptr<DiscoveryAsker>> DiscoveryAsker::open(EventLoop& loop,
                                                             std::optional<RunId> run,
                                                             const DiscoveryPlace& place,
                                                             std::function<void()> on_answer) {
  auto impl = std::make_unique<Impl>(loop, run, std::move(on_answer));
  WEFT_TRY(impl->asker.open(loop, place, [&impl = *impl](const Datagram& got) { impl.take(got); }));
  return std::make_unique<DiscoveryAsker>(std::move(impl));
}

bool DiscoveryAsker::ask() { return impl_->asker.send(impl_->search.query(drawn_nonce())); }

std::vector<DiscoveredRun> DiscoveryAsker::runs() const { return impl_->search.runs(); }

Result<std::vector<DiscoveredRun>> discover_runs(const DiscoverOptions& options) {
  EventLoop loop;
  bool enough = false;
  std::unique_ptr<DiscoveryAsker> asker;
  const auto on_answer = [&] { enough = options.enough && options.enough(asker->runs()); };
  WEFT_TRY_ASSIGN(asker, DiscoveryAsker::open(loop, options.run, options.place, on_answer));
  WEFT_TRY(ask_in_turn(
      loop, options.limit, [&] { return asker->ask(); }, [&] { return enough; }));
  return asker->runs();
}

Result<std::string> discover_ticket(const JoinCode& code, const DiscoveryPlace& place,
                                    Duration limit) {
  CodeSearch search(code);
  std::optional<std::string> found;
  EventLoop loop;
  GroupAsker asker;
  WEFT_TRY(asker.open(loop, place, [&](const Datagram& got) {
    Result<std::string> ticket = search.on_datagram(ByteSpan(got.bytes).first(got.size));
    if (ticket.ok()) found = std::move(ticket).value();
  }));
  WEFT_TRY(ask_in_turn(
      loop, limit, [&] { return asker.send(search.query(drawn_nonce())); },
      [&] { return found.has_value(); }));
  if (!found) return unavailable("code: nobody on this network answers to it");
  return std::move(*found);
}

}  // namespace weft
