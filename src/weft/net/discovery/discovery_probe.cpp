#include "weft/net/discovery_probe.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <asio/ip/tcp.hpp>
#include <asio/ip/udp.hpp>
#include <poll.h>
#include <sys/socket.h>

#include "weft/net/stream/medium.h"
#include "weft/net/stream/socket.h"
#include "weft/wire/stun_message.h"

namespace weft {

namespace {

using asio::ip::tcp;
using asio::ip::udp;

constexpr std::size_t kProbeAddressesMax = 4;
constexpr Duration kStunAgain = std::chrono::milliseconds(400);

Result<std::vector<tcp::endpoint>> addresses_of(const std::string& endpoint) {
  WEFT_TRY_ASSIGN(const HostPort wanted, parse_host_port(endpoint));
  asio::error_code error;
  const asio::ip::address numeric = asio::ip::make_address(wanted.host, error);
  if (!error) return std::vector<tcp::endpoint>{tcp::endpoint(numeric, wanted.port)};
  asio::io_context context;
  tcp::resolver resolver(context);
  const auto found = resolver.resolve(wanted.host, std::to_string(wanted.port),
                                      tcp::resolver::numeric_service, error);
  if (error) return unavailable(error.message());
  std::vector<tcp::endpoint> out;
  for (const auto& entry : found) {
    if (out.size() < kProbeAddressesMax) out.push_back(entry.endpoint());
  }
  if (out.empty()) return unavailable("no address");
  return out;
}

// Whether `events` came before `deadline`.
bool wait_for(int descriptor, short events, TimePoint deadline, const Clock& clock) {
  pollfd waiting{descriptor, events, 0};
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock.now());
    if (left.count() <= 0) return false;
    const int ready = ::poll(&waiting, 1, static_cast<int>(left.count()));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

DialReport report_of(int error) {
  DialReport report;
  report.text = system_status(error).message();
  switch (error) {
    case 0:
      report.outcome = DialOutcome::kConnected;
      break;
    case ECONNREFUSED:
      report.outcome = DialOutcome::kRefused;
      break;
    case ETIMEDOUT:
      report.outcome = DialOutcome::kNoAnswer;
      break;
    case ENETUNREACH:
    case EHOSTUNREACH:
    case EADDRNOTAVAIL:
    case EAFNOSUPPORT:
      report.outcome = DialOutcome::kNoRoute;
      break;
    default:
      report.outcome = DialOutcome::kOther;
  }
  return report;
}

int dial(const tcp::endpoint& address, TimePoint deadline, const Clock& clock) {
  const Socket socket(
      ::socket(address.protocol().family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return errno;
  if (::connect(socket.get(), address.data(), static_cast<socklen_t>(address.size())) == 0) {
    return 0;
  }
  if (errno != EINPROGRESS) return errno;
  if (!wait_for(socket.get(), POLLOUT, deadline, clock)) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) return errno;
  return error;
}

// One question to one server.
struct StunQuestion {
  udp::endpoint server;
  StunRequest request;
  std::size_t view = 0;
};

// The address of `name` for the socket's family, in `out`; or why not.
Status find_server(const std::string& name, udp::endpoint& out) {
  WEFT_TRY_ASSIGN(const std::vector<tcp::endpoint> found, addresses_of(name));
  for (const tcp::endpoint& address : found) {
    if (!address.address().is_v4()) continue;
    out = udp::endpoint(address.address(), address.port());
    return {};
  }
  return unavailable("no IPv4 address");
}

std::string mapped_text(const StunReply& reply) {
  if (reply.address.size() == 4) {
    asio::ip::address_v4::bytes_type bytes{};
    std::copy_n(reply.address.begin(), bytes.size(), bytes.begin());
    return to_string(HostPort{asio::ip::address_v4(bytes).to_string(), reply.port});
  }
  asio::ip::address_v6::bytes_type bytes{};
  std::copy_n(reply.address.begin(), bytes.size(), bytes.begin());
  return to_string(HostPort{asio::ip::address_v6(bytes).to_string(), reply.port});
}

void take_reply(int socket, const std::vector<StunQuestion>& questions, StunReport& report) {
  std::array<std::uint8_t, kStunReplyBytesMax> bytes{};
  const auto count = ::recv(socket, bytes.data(), bytes.size(), 0);
  if (count <= 0) return;
  const Result<StunReply> reply =
      StunReply::decode(ByteSpan(bytes).first(static_cast<std::size_t>(count)));
  if (!reply.ok()) return;
  // The transaction was drawn for this question: nobody else can answer it.
  for (const StunQuestion& question : questions) {
    if (question.request.transaction != reply->transaction) continue;
    report.views[question.view].mapped = mapped_text(*reply);
  }
}

bool all_answered(const std::vector<StunQuestion>& questions, const StunReport& report) {
  return std::all_of(questions.begin(), questions.end(), [&](const StunQuestion& question) {
    return report.views[question.view].mapped.ok();
  });
}

}  // namespace

std::vector<std::string> own_hosts() {
  std::vector<std::string> out;
  for (const std::string& endpoint : interface_endpoints(1, true)) {
    if (const Result<HostPort> parsed = parse_host_port(endpoint); parsed.ok()) {
      out.push_back(parsed->host);
    }
  }
  return out;
}

Result<std::string> probe_listen(const std::string& endpoint) {
  WEFT_TRY_ASSIGN(const HostPort wanted, parse_host_port(endpoint));
  if (wanted.host == "*") {
    WEFT_TRY_ASSIGN(const Socket all, listen_on_all(wanted.port));
    WEFT_TRY_ASSIGN(const SocketAddress bound, local_address(all.get()));
    return address_text(bound);
  }
  const Result<std::vector<tcp::endpoint>> found = addresses_of(endpoint);
  if (!found.ok()) return found.status();
  const Result<Socket> socket = listen_on(found->front());
  if (!socket.ok()) return socket.status();
  WEFT_TRY_ASSIGN(const SocketAddress bound, local_address(socket->get()));
  return address_text(bound);
}

DialReport probe_dial(const std::string& endpoint, Duration limit) {
  const SystemClock clock;
  const TimePoint begun = clock.now();
  const Result<std::vector<tcp::endpoint>> found = addresses_of(endpoint);
  if (!found.ok()) return {DialOutcome::kNoName, {}, found.status().message()};
  DialReport report;
  for (const tcp::endpoint& address : *found) {
    report = report_of(dial(address, begun + limit, clock));
    if (report.outcome == DialOutcome::kConnected) break;
  }
  report.took = clock.now() - begun;
  return report;
}

Result<StunReport> probe_stun(const std::vector<std::string>& servers, Duration limit) {
  const SystemClock clock;
  const Socket socket(::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return system_status(errno);
  const udp::endpoint any(udp::v4(), 0);
  if (::bind(socket.get(), any.data(), static_cast<socklen_t>(any.size())) != 0) {
    return system_status(errno);
  }
  udp::endpoint bound;
  auto size = static_cast<socklen_t>(bound.capacity());
  if (::getsockname(socket.get(), bound.data(), &size) != 0) return system_status(errno);
  bound.resize(size);
  StunReport report;
  report.local_port = bound.port();
  std::vector<StunQuestion> questions;
  for (const std::string& server : servers) {
    StunQuestion question;
    question.view = report.views.size();
    const Status known = find_server(server, question.server);
    report.views.push_back({server, known.ok() ? timed_out("no answer") : known});
    if (!known.ok()) continue;
    random_bytes(question.request.transaction);
    questions.push_back(std::move(question));
  }
  const TimePoint deadline = clock.now() + limit;
  while (!questions.empty() && !all_answered(questions, report) && clock.now() < deadline) {
    for (const StunQuestion& question : questions) {
      const Bytes bytes = question.request.encode();
      // A lost question is sent again.
      static_cast<void>(::sendto(socket.get(), bytes.data(), bytes.size(), 0,
                                 question.server.data(),
                                 static_cast<socklen_t>(question.server.size())));
    }
    const TimePoint again = std::min(deadline, clock.now() + kStunAgain);
    while (!all_answered(questions, report) && wait_for(socket.get(), POLLIN, again, clock)) {
      take_reply(socket.get(), questions, report);
    }
  }
  return report;
}

}  // namespace weft
