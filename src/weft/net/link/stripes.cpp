#include "weft/net/link/stripes.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "weft/base/log.h"
#include "weft/net/link/tcp_link.h"
#include "weft/wire/frame_type.h"

namespace weft {

namespace {

constexpr Duration kStripeTimeout = std::chrono::seconds(3);
constexpr Duration kStripePauseMax = std::chrono::minutes(1);
constexpr std::size_t kAcceptedMax = 256;

LinkSample sample_of(const BulkLane& lane, TimePoint now) {
  LinkSample sample;
  sample.now = now;
  sample.connections = lane.in_use();
  sample.rtt_seconds = std::numeric_limits<double>::infinity();
  for (std::size_t number = 0; number < lane.in_use(); ++number) {
    const TcpLink line = read_tcp_link(lane.socket(number));
    sample.rtt_seconds = std::min(sample.rtt_seconds, line.rtt_seconds);
    sample.busy_seconds += line.busy_seconds;
    sample.window_limited_seconds += line.window_limited_seconds;
    sample.bytes_acknowledged += line.bytes_acknowledged;
  }
  return sample;
}

void say_count(Link& link, std::size_t count) {
  const ConnectionsMessage message{static_cast<std::uint8_t>(count)};
  static_cast<void>(link.send(Lane::kControl, {frame_type::kConnections, message.encode(), {}}));
}

}  // namespace

Stripes::~Stripes() {
  context_.loop.cancel(timer_);
  for (auto& [peer, line] : lines_) drop(line);
}

void Stripes::drop(Line& line) {
  context_.loop.cancel(line.timer);
  if (line.knock != nullptr) line.knock->abandon();
  if (line.connection != nullptr) line.connection->close();
  line.knock.reset();
  line.connection.reset();
}

// 1 where this side wants no others.
std::size_t Stripes::most() const {
  return context_.options.connections == 0 ? kBulkConnectionsMax : context_.options.connections;
}

bool Stripes::may_have_more(const Link& link) const {
  const LinkPath path = link.info().path;
  return context_.medium.reaches_far() && most() > 1 &&
         (path == LinkPath::kDirect || path == LinkPath::kMapped) &&
         !(context_.options.shortcuts && link.within_one_machine());
}

void Stripes::on_link_up(Link& link) {
  if (!may_have_more(link)) return;
  Line& line = lines_[link.info().peer];
  if (lines_.size() == 1) set_timer();
  if (context_.options.connections > 1) want(link, line, context_.options.connections);
}

void Stripes::on_link_down(const PeerId& peer) {
  const auto line = lines_.find(peer);
  if (line == lines_.end()) return;
  drop(line->second);
  lines_.erase(line);
  if (lines_.empty()) context_.loop.cancel(timer_);
}

void Stripes::set_timer() {
  context_.loop.cancel(timer_);
  timer_ = context_.loop.call_at(context_.loop.now() + LinkGauge::kInterval,
                                 [this, alive = std::weak_ptr(alive_)] {
                                   if (!alive.expired()) measure();
                                 });
}

void Stripes::measure() {
  if (lines_.empty()) return;
  set_timer();
  for (auto& [peer, line] : lines_) {
    Link* link = find_link_(peer);
    if (link == nullptr || link->bulk().has_shortcut()) continue;
    const LinkSample sample = sample_of(link->bulk(), context_.loop.now());
    if (context_.options.connections == 0) {
      const std::size_t wanted = line.gauge.wanted(sample, kBulkConnectionsMax);
      if (wanted > line.wanted) want(*link, line, wanted);
    }
    open_next(peer);
  }
}

void Stripes::want(Link& link, Line& line, std::size_t count) {
  line.wanted = std::max(line.wanted, count);
  // Who did not dial does not know where the other may be dialled.
  if (link.info().inbound) return say_count(link, line.wanted);
  open_next(link.info().peer);
}

Status Stripes::on_message(Link& link, ByteSpan head) {
  WEFT_TRY_ASSIGN(const ConnectionsMessage message, ConnectionsMessage::decode(head));
  const std::size_t count = message.count;
  if (link.info().inbound) {
    if (count > link.bulk().connections() || count < link.bulk().in_use()) {
      return corrupt("connections.count: expected those that stand");
    }
    link.bulk().use(count);
    return {};
  }
  const auto line = lines_.find(link.info().peer);
  if (line != lines_.end()) want(link, line->second, std::min(count, most()));
  return {};
}

bool Stripes::accepts(const Link& link, const HelloMessage& hello) const {
  return may_have_more(link) && link.info().inbound && link.id() == hello.link &&
         link.remote_instance() == hello.instance && link.bulk().takes_connection() &&
         hello.lane == link.bulk().connections() + 1 && accepted() < kAcceptedMax;
}

std::size_t Stripes::accepted() const {
  std::size_t sum = 0;
  for (const auto& [peer, line] : lines_) {
    const Link* link = find_link_(peer);
    if (link != nullptr && link->info().inbound) sum += link->bulk().connections() - 1;
  }
  return sum;
}

// --- The dialler's side.

void Stripes::open_next(const PeerId& peer) {
  const auto found = lines_.find(peer);
  Link* link = find_link_(peer);
  if (found == lines_.end() || link == nullptr || link->info().inbound) return;
  Line& line = found->second;
  if (line.knock != nullptr || line.connection != nullptr || !link->bulk().takes_connection() ||
      link->bulk().connections() >= line.wanted || context_.loop.now() < line.not_before) {
    return;
  }
  const Result<SocketAddress> address = remote_address(link->bulk().socket(0));
  if (!address.ok()) return;
  Knock::Plan plan;
  plan.address = *address;
  plan.limit = kStripeTimeout;
  line.knock =
      std::make_shared<Knock>(context_.loop, std::move(plan),
                              [this, alive = std::weak_ptr(alive_), peer](Result<Socket> socket) {
                                if (!alive.expired()) on_knocked(peer, std::move(socket));
                              });
  line.knock->start();
}

void Stripes::on_knocked(const PeerId& peer, Result<Socket> socket) {
  const auto found = lines_.find(peer);
  if (found == lines_.end()) return;
  Line& line = found->second;
  line.knock.reset();
  if (!socket.ok()) return fail(found, socket.status());
  const Status prepared = context_.medium.prepare(socket->get());
  if (!prepared.ok()) return fail(found, prepared);
  std::unique_ptr<ByteStream> stream = context_.medium.dial(socket->get(), Lane::kBulk);
  line.connection = std::make_shared<Connection>(
      context_.loop, socket->release(), std::move(stream), *this, context_.options.low_water_bytes);
  line.timer = context_.loop.call_at(
      context_.loop.now() + context_.options.handshake_timeout,
      [this, alive = std::weak_ptr(alive_), weak = std::weak_ptr(line.connection)] {
        const std::shared_ptr<Connection> late = weak.lock();
        if (alive.expired() || late == nullptr) return;
        on_ended(*late, timed_out("the handshake did not finish in time"));
      });
  const std::shared_ptr<Connection> connection = line.connection;
  connection->start();
}

Stripes::Lines::iterator Stripes::find(const Connection& connection) {
  return std::find_if(lines_.begin(), lines_.end(), [&](const auto& each) {
    return each.second.connection.get() == &connection;
  });
}

void Stripes::on_ready(Connection& connection) {
  const auto found = find(connection);
  if (found == lines_.end()) return;
  const auto& [peer, line] = *found;
  const std::optional<PeerId> proven = connection.stream().proven_peer();
  Link* link = find_link_(peer);
  if (link == nullptr || (proven.has_value() && *proven != peer)) {
    return fail(found, corrupt("another peer answered"));
  }
  HelloMessage hello;
  hello.lane = static_cast<std::uint8_t>(link->bulk().connections() + 1);
  hello.from = context_.self;
  hello.to = peer;
  hello.link = link->id();
  hello.instance = context_.instance;
  connection.send({frame_type::kHello, hello.encode(), {}});
}

void Stripes::on_frame(Connection& connection, const FrameView& frame) {
  const auto found = find(connection);
  if (found == lines_.end()) return;
  auto& [peer, line] = *found;
  const Result<HelloReplyMessage> reply = HelloReplyMessage::decode(frame.head);
  Link* link = find_link_(peer);
  if (frame.type != frame_type::kHelloReply || !reply.ok() || link == nullptr) {
    return fail(found, corrupt("expected an answer to the hello"));
  }
  if (reply->verdict != HelloVerdict::kAccepted || reply->from != peer ||
      reply->instance != link->remote_instance() || !link->bulk().takes_connection()) {
    return fail(found, unavailable("refused: " + reply->text));
  }
  const std::shared_ptr<Connection> accepted = std::move(line.connection);
  line.connection.reset();
  context_.loop.cancel(line.timer);
  link->bulk().add(accepted);
  const std::size_t count = link->bulk().connections();
  link->bulk().use(count);
  say_count(*link, count);
  if (count < line.wanted) return open_next(peer);
  log(LogLevel::kInfo, "{} connections carry the bulk frames to {}", count, peer.short_name());
}

void Stripes::on_ended(Connection& connection, const Status& why) {
  if (const auto found = find(connection); found != lines_.end()) fail(found, why);
}

void Stripes::fail(Lines::iterator line, const Status& why) {
  log(LogLevel::kInfo, "no further connection to {}: {}", line->first.short_name(),
      why.to_string());
  drop(line->second);
  line->second.not_before = context_.loop.now() + line->second.pause;
  line->second.pause = std::min<Duration>(4 * line->second.pause, kStripePauseMax);
}

}  // namespace weft
