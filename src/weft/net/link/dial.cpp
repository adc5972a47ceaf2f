#include "weft/net/link/dial.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>
#include <openssl/rand.h>

#include "weft/net/stream/preface_stream.h"
#include "weft/net/stream/socket.h"
#include "weft/wire/frame_type.h"

// IMPLEMENTATION: addresses are raced as RFC 8305 ("Happy Eyeballs") describes, with its delay of
// 250 ms between two starts; the race ends when a peer has proved its key, not when TCP connects.

namespace weft {

namespace {

constexpr Duration kDialTimeout = std::chrono::seconds(3);
constexpr Duration kStagger = std::chrono::milliseconds(250);
constexpr Duration kPauseMin = std::chrono::milliseconds(20);
constexpr Duration kPauseMax = std::chrono::milliseconds(500);
constexpr std::size_t kTargetsMax = 32;
constexpr std::size_t kWaysMax = 16;
constexpr std::size_t kFailuresBytesMax = 1024;

}  // namespace

Dial::Dial(const LinkContext& context, PeerAddress peer, Done done)
    : context_(context), peer_(std::move(peer)), done_(std::move(done)) {
  ways_.emplace_back();
}

void Dial::start() {
  if (finished_) return;
  resolve_all(0, peer_.endpoints);
  proceed();
}

void Dial::abandon() {
  finished_ = true;
  exhausted_ = nullptr;
  for (const TimerId timer : {resolve_timer_, stagger_timer_, pause_timer_}) {
    context_.loop.cancel(timer);
  }
  drop_all();
}

void Dial::drop_all() {
  for (const TryPtr& attempt : tries_) drop(context_.loop, *attempt);
  tries_.clear();
  for (TryPtr* attempt : {&chosen_, &bulk_}) {
    if (*attempt != nullptr) drop(context_.loop, **attempt);
    attempt->reset();
  }
  early_bulk_ = Socket();
  greeted_ = false;
}

void Dial::drop(EventLoop& loop, Try& attempt) {
  attempt.over = true;
  loop.cancel(attempt.timer);
  if (attempt.knock != nullptr) attempt.knock->abandon();
  if (attempt.connection != nullptr) attempt.connection->close();
}

void Dial::finish(Result<LinkParts> result) {
  if (finished_) return;
  const Done done = std::move(done_);
  abandon();
  done(std::move(result));
}

void Dial::give_up(const std::string& why) {
  if (finished_) return;
  exhausted_ = nullptr;
  // The code stays that of the peer's own addresses.
  if (!why.empty()) failures_ += (failures_.empty() ? "" : "; ") + why;
  drop_punched();
  proceed();
}

void Dial::yield_to_punch(const SocketAddress& address) {
  if (finished_) return;
  drop_punched();
  drop_tries_to(address);
}

void Dial::drop_tries_to(const SocketAddress& address) {
  std::erase_if(tries_, [&](const TryPtr& attempt) {
    if (attempt->ready || !(attempt->target.addresses[0] == address)) return false;
    drop(context_.loop, *attempt);
    return true;
  });
}

void Dial::drop_punched() {
  const auto punched = [&](std::size_t way) { return ways_[way].punch_addresses.has_value(); };
  std::erase_if(waiting_, [&](const Target& target) { return punched(target.way); });
  std::erase_if(tries_, [&](const TryPtr& attempt) {
    if (!punched(attempt->target.way)) return false;
    drop(context_.loop, *attempt);
    return true;
  });
}

// --- The race.

void Dial::add_way(DialWay way) {
  if (finished_ || ways_.size() >= kWaysMax) return;
  ways_.push_back(std::move(way));
  const std::size_t number = ways_.size() - 1;
  if (ways_[number].punch_addresses.has_value()) {
    Target target;
    target.way = number;
    target.addresses = *ways_[number].punch_addresses;
    target.name = "punched " + address_text(target.addresses[0]);
    drop_tries_to(target.addresses[0]);
    waiting_.push_front(std::move(target));
  } else {
    resolve_all(number, ways_[number].endpoints);
  }
  due_ = true;
  proceed();
}

void Dial::add_endpoints(const std::vector<std::string>& endpoints) {
  if (finished_) return;
  resolve_all(0, endpoints);
  due_ = true;
  proceed();
}

void Dial::resolve_all(std::size_t way, const std::vector<std::string>& endpoints) {
  // So that an endpoint that cannot be resolved does not end the dial before the next is seen.
  started_ = false;
  for (const std::string& endpoint : endpoints) resolve(way, endpoint);
  started_ = true;
}

void Dial::resolve(std::size_t way, const std::string& endpoint) {
  if (finished_) return;
  if (resolving_++ == 0) {
    context_.loop.cancel(resolve_timer_);
    resolve_timer_ = context_.loop.call_at(
        context_.loop.now() + context_.options.handshake_timeout, [self = shared_from_this()] {
          if (self->finished_ || self->resolving_ == 0) return;
          self->resolving_ = 0;
          self->record("names", timed_out("not resolved in time"));
          self->proceed();
        });
  }
  context_.medium.resolve(endpoint, [self = shared_from_this(), way,
                                     endpoint](Result<std::vector<SocketAddress>> found) {
    if (self->finished_ || self->resolving_ == 0) return;
    --self->resolving_;
    if (!found.ok()) {
      self->record(endpoint, found.status());
      return self->proceed();
    }
    for (const SocketAddress& address : *found) {
      Target target;
      target.way = way;
      target.addresses = {address, address};
      target.name = endpoint;
      self->add_target(std::move(target));
    }
    if (found->empty()) self->proceed();
  });
}

void Dial::add_target(Target target) {
  if (finished_) return;
  if (++targets_ <= kTargetsMax) waiting_.push_back(std::move(target));
  proceed();
}

void Dial::start_next() {
  Target target = std::move(waiting_.front());
  waiting_.pop_front();
  due_ = false;
  tries_.push_back(begin(std::move(target), Lane::kControl));
  context_.loop.cancel(stagger_timer_);
  stagger_timer_ =
      context_.loop.call_at(context_.loop.now() + kStagger, [self = shared_from_this()] {
        self->due_ = true;
        self->proceed();
      });
}

// Called whenever something has failed or come: greets, or tries the next one.
void Dial::proceed() {
  if (finished_ || !started_ || chosen_ != nullptr || pausing_) return;
  const auto ready = std::find_if(tries_.begin(), tries_.end(),
                                  [](const TryPtr& attempt) { return attempt->ready; });
  if (ready != tries_.end()) return greet(*ready);
  if (!waiting_.empty() && (tries_.empty() || due_)) return start_next();
  if (tries_.empty() && waiting_.empty() && resolving_ == 0) run_out();
}

void Dial::run_out() {
  // A copy: it may be replaced while it runs.
  const Exhausted exhausted = exhausted_;
  if (exhausted && exhausted()) return;
  if (finished_ || chosen_ != nullptr || !tries_.empty() || !waiting_.empty()) return;
  const bool deserted = !failures_.empty() && !may_listen_;
  if (failures_.empty()) failures_ = "no endpoint is known";
  finish(Status(failure_code_, fmt::format("dial {}: {}{}", peer_.id.short_name(),
                                           deserted ? "nobody listens there: " : "", failures_)));
}

Dial::TryPtr Dial::begin(Target target, Lane lane) {
  const TimePoint now = context_.loop.now();
  if (!target.deadline.has_value()) {
    target.deadline = now + context_.options.handshake_timeout;
    target.pause = kPauseMin;
  }
  auto attempt = std::make_shared<Try>();
  attempt->target = std::move(target);
  attempt->lane = lane;
  const bool punched = ways_[attempt->target.way].punch_addresses.has_value();
  Knock::Plan plan;
  plan.address = attempt->target.addresses[lane_index(lane)];
  const bool own_port = attempt->target.way == 0 && attempt->target.own_port;
  if (punched || (own_port && !is_nearby(plan.address))) {
    plan.local_port = context_.lane_ports[lane_index(lane)];
  }
  plan.insists = punched;
  plan.limit = std::min(*attempt->target.deadline - now,
                        punched ? context_.options.punch_timeout : kDialTimeout);
  attempt->knock = std::make_shared<Knock>(
      context_.loop, std::move(plan),
      [weak = weak_from_this(), attempt_weak = std::weak_ptr(attempt)](Result<Socket> socket) {
        const std::shared_ptr<Dial> self = weak.lock();
        const TryPtr alive = attempt_weak.lock();
        if (self != nullptr && alive != nullptr) self->on_knocked(alive, std::move(socket));
      });
  attempt->knock->start();
  return attempt;
}

void Dial::on_knocked(const TryPtr& attempt, Result<Socket> socket) {
  if (finished_ || attempt->over) return;
  attempt->knock.reset();
  if (!socket.ok()) return fail(attempt, socket.status());
  take_socket(attempt, std::move(socket).value(), false);
}

// `heard`: the other side's preface has been read.
void Dial::take_socket(const TryPtr& which, Socket socket, bool heard) {
  const std::shared_ptr<Dial> self = shared_from_this();
  const TryPtr attempt = which;  // NOLINT(performance-unnecessary-copy-initialization): keeps it
  const Status prepared = context_.medium.prepare(socket.get());
  if (!prepared.ok()) return fail(attempt, prepared);
  attempt->timer =
      context_.loop.call_at(*attempt->target.deadline, [self, weak = std::weak_ptr(attempt)] {
        const TryPtr late = weak.lock();
        if (late == nullptr || late->over || self->finished_) return;
        self->fail(late, timed_out("the handshake did not finish in time"));
      });
  std::unique_ptr<ByteStream> stream = make_stream(*attempt, socket.get(), heard);
  const auto connection = std::make_shared<Connection>(
      context_.loop, socket.release(), std::move(stream), *this, context_.options.low_water_bytes);
  connection->set_route(ways_[attempt->target.way].route);
  attempt->connection = connection;
  connection->start();
}

std::unique_ptr<ByteStream> Dial::make_stream(const Try& attempt, int socket, bool heard) {
  std::unique_ptr<ByteStream> stream = context_.medium.dial(socket, attempt.lane);
  const DialWay& way = ways_[attempt.target.way];
  PrefaceMessage preface;
  if (way.punch_addresses.has_value()) {
    preface.kind = PrefaceKind::kPunch;
    preface.mark = punch_mark(way.attempt);
    preface.lane = static_cast<std::uint8_t>(attempt.lane);
    preface.asker = true;
    return std::make_unique<PrefaceStream>(socket, std::move(stream), preface,
                                           heard ? PrefaceHearing::kNone : PrefaceHearing::kOne);
  }
  if (way.tokens.has_value()) {
    preface.pass = relay_pass((*way.tokens)[lane_index(attempt.lane)]);
    return std::make_unique<PrefaceStream>(socket, std::move(stream), preface,
                                           PrefaceHearing::kNone);
  }
  return stream;
}

void Dial::take_punched(Socket socket, const PrefaceMessage& preface) {
  if (finished_) return;
  const auto way = std::find_if(ways_.begin(), ways_.end(), [&](const DialWay& known) {
    return known.punch_addresses.has_value() && punch_mark(known.attempt) == preface.mark;
  });
  if (way == ways_.end()) return;
  const auto number = static_cast<std::size_t>(way - ways_.begin());
  if (preface.lane == static_cast<std::uint8_t>(Lane::kBulk)) {
    if (bulk_ != nullptr && bulk_->target.way == number && bulk_->connection == nullptr) {
      if (bulk_->knock != nullptr) bulk_->knock->abandon();
      bulk_->knock.reset();
      return take_socket(bulk_, std::move(socket), true);
    }
    early_bulk_ = std::move(socket);
    early_way_ = number;
    return;
  }
  if (chosen_ != nullptr || pausing_) return;
  const auto attempt = std::make_shared<Try>();
  attempt->target.way = number;
  attempt->target.addresses = *way->punch_addresses;
  attempt->target.name = "punched " + address_text(attempt->target.addresses[0]);
  attempt->target.deadline = context_.loop.now() + context_.options.handshake_timeout;
  attempt->target.pause = kPauseMin;
  tries_.push_back(attempt);
  take_socket(attempt, std::move(socket), true);
}

Dial::TryPtr Dial::find(const Connection& connection) const {
  for (const TryPtr& attempt : {chosen_, bulk_}) {
    if (attempt != nullptr && attempt->connection.get() == &connection) return attempt;
  }
  const auto found = std::find_if(tries_.begin(), tries_.end(), [&](const TryPtr& attempt) {
    return attempt->connection.get() == &connection;
  });
  return found == tries_.end() ? nullptr : *found;
}

void Dial::record(const std::string& name, const Status& why) {
  failure_code_ = why.code();
  may_listen_ = may_listen_ || why.message() != system_status(ECONNREFUSED).message();
  if (failures_.size() > kFailuresBytesMax) return;
  if (!failures_.empty()) failures_ += "; ";
  failures_ += fmt::format("{}: {}", name, why.message());
}

void Dial::fail(const TryPtr& which, const Status& why) {
  // A copy: `which` may be the very place that is cleared here.
  const TryPtr attempt = which;  // NOLINT(performance-unnecessary-copy-initialization): keeps it
  if (finished_ || attempt->over) return;
  const bool was_ready = attempt->ready;
  const bool connected = attempt->connection != nullptr;
  Target target = attempt->target;
  if (attempt == chosen_ || attempt == bulk_) {
    for (TryPtr* part : {&chosen_, &bulk_}) {
      if (*part != nullptr) drop(context_.loop, **part);
      part->reset();
    }
    early_bulk_ = Socket();
    greeted_ = false;
  } else {
    drop(context_.loop, *attempt);
    tries_.remove(attempt);
  }
  // Two peers that dial each other from their own ports at the same moment share one connection,
  // and neither end of it answers.
  const bool own = target.way == 0 && target.own_port && !is_nearby(target.addresses[0]) &&
                   context_.lane_ports[0] != 0;
  if (own && connected && !was_ready) {
    target.own_port = false;
    waiting_.push_front(std::move(target));
  } else {
    record(target.name, why);
  }
  due_ = true;
  proceed();
}

// --- The one that greets.

void Dial::on_ready(Connection& connection) {
  const std::shared_ptr<Dial> self = shared_from_this();
  const TryPtr attempt = find(connection);
  if (attempt == nullptr) return;
  attempt->ready = true;
  const std::optional<PeerId> proven = connection.stream().proven_peer();
  if (proven.has_value() && *proven != peer_.id) {
    return fail(attempt, corrupt(fmt::format("expected peer {}, got {}", peer_.id.short_name(),
                                             proven->short_name())));
  }
  if (attempt == bulk_) return greet(attempt);
  proceed();
}

void Dial::greet(const TryPtr& which) {
  const TryPtr attempt = which;  // NOLINT(performance-unnecessary-copy-initialization): keeps it
  if (attempt->lane == Lane::kControl) {
    if (RAND_bytes(link_.data(), static_cast<int>(link_.size())) != 1) {
      return finish(internal_error("no random numbers"));
    }
    chosen_ = attempt;
    tries_.remove(attempt);
  }
  HelloMessage hello;
  hello.lane = static_cast<std::uint8_t>(attempt->lane);
  hello.from = context_.self;
  hello.to = peer_.id;
  hello.link = link_;
  hello.instance = context_.instance;
  greeted_ = true;
  attempt->connection->send({frame_type::kHello, hello.encode(), {}});
}

void Dial::on_frame(Connection& connection, const FrameView& frame) {
  const std::shared_ptr<Dial> self = shared_from_this();
  const TryPtr attempt = find(connection);
  if (attempt == nullptr) return;
  if (attempt != greeting()) return fail(attempt, corrupt("a frame before the hello"));
  if (frame.type != frame_type::kHelloReply) {
    return fail(attempt, corrupt("expected an answer to the hello"));
  }
  const Result<HelloReplyMessage> reply = HelloReplyMessage::decode(frame.head);
  if (!reply.ok()) return fail(attempt, reply.status());
  on_reply(*reply);
}

void Dial::on_reply(const HelloReplyMessage& reply) {
  switch (reply.verdict) {
    case HelloVerdict::kAccepted:
      return on_accepted(reply);
    case HelloVerdict::kWaitForMine:
    case HelloVerdict::kLinked:
      return try_again();
    case HelloVerdict::kTwin:
      return finish(aborted(
          fmt::format("another process uses this peer's identity and has a link with peer {}: stop "
                      "it, or give this one a folder (--out) of its own",
                      peer_.id.short_name())));
    case HelloVerdict::kWrongPeer:
    case HelloVerdict::kWrongVersion:
      break;
  }
  fail(greeting(), corrupt("refused: " + reply.text));
}

void Dial::on_accepted(const HelloReplyMessage& reply) {
  if (reply.from != peer_.id) {
    return fail(greeting(), corrupt(fmt::format("expected peer {}, got {}", peer_.id.short_name(),
                                                reply.from.short_name())));
  }
  if (bulk_ == nullptr) {
    // Frames may come as soon as the peer has both lanes, before this side has.
    chosen_->connection->halt();
    context_.loop.cancel(chosen_->timer);
    remote_instance_ = reply.instance;
    bulk_ = begin(chosen_->target, Lane::kBulk);
    if (early_bulk_.valid() && early_way_ == bulk_->target.way) {
      bulk_->knock->abandon();
      bulk_->knock.reset();
      take_socket(bulk_, std::move(early_bulk_), true);
    }
    return;
  }
  if (reply.instance != remote_instance_) return fail(bulk_, unavailable("the peer restarted"));
  LinkParts parts;
  parts.control = std::move(chosen_->connection);
  parts.bulk = std::move(bulk_->connection);
  // What follows the reply is for the link.
  parts.bulk->halt();
  parts.info = make_link_info(peer_.id, false, *parts.control, link_);
  if (parts.info.path == LinkPath::kDirect) {
    parts.info.why = failures_.empty() ? "its address answered" : "answered after " + failures_;
  }
  parts.remote_instance = remote_instance_;
  parts.id = link_;
  finish(std::move(parts));
}

void Dial::try_again() {
  Target target = chosen_->target;
  // The others' turn comes later.
  for (const TryPtr& attempt : tries_) waiting_.push_front(attempt->target);
  drop_all();
  // A token buys one connection, and of a punched one the other side's hello is on its way.
  if (target.way != 0) {
    record(target.name, timed_out("both sides dial"));
    return proceed();
  }
  const TimePoint now = context_.loop.now();
  if (now + target.pause >= *target.deadline) {
    record(target.name, timed_out("both sides dial, and the peer's dial does not arrive"));
    return proceed();
  }
  pausing_ = true;
  const Duration pause = target.pause;
  target.pause = std::min(2 * pause, kPauseMax);
  waiting_.push_front(std::move(target));
  pause_timer_ = context_.loop.call_at(now + pause, [self = shared_from_this()] {
    self->pausing_ = false;
    self->proceed();
  });
}

void Dial::on_ended(Connection& connection, const Status& why) {
  const std::shared_ptr<Dial> self = shared_from_this();
  if (const TryPtr attempt = find(connection); attempt != nullptr) fail(attempt, why);
}

}  // namespace weft
