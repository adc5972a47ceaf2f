#include "weft/net/reach/relay.h"

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include <asio/posix/stream_descriptor.hpp>
#include <fmt/format.h>
#include <sys/socket.h>

#include "weft/base/hash.h"
#include "weft/net/stream/loop_impl.h"

namespace weft {

namespace {

constexpr Duration kTokenLife = std::chrono::seconds(8);
// One link needs two; a link that broke and is made anew, and a second try, have room beside it.
constexpr std::size_t kConnectionsOfPairMax = 8;
// For a link that broke and is made anew.
constexpr Duration kAbsentLife = std::chrono::seconds(5);
constexpr Duration kRelaySweepGap = std::chrono::seconds(1);
// The buffer of one direction of one lane.
constexpr std::size_t kBufferBytes = 64 * 1024;
// How much one direction may move before the others have their turn.
constexpr int kStepsPerTurn = 8;
constexpr Duration kPauseWhenSpent = std::chrono::milliseconds(10);
// What may be saved up while nothing moves.
constexpr double kBurstSeconds = 0.25;

}  // namespace

// Two joined connections; direction i carries what socket i sends.
class Relay::Splice final : public std::enable_shared_from_this<Relay::Splice> {
 public:
  Splice(Relay& relay, std::uint64_t number, const Ends& ends, Socket a, Socket b)
      : relay_(relay),
        ends_(ends),
        loop_(relay.context_.loop),
        number_(number),
        sockets_{asio::posix::stream_descriptor(loop_.impl().context, a.release()),
                 asio::posix::stream_descriptor(loop_.impl().context, b.release())},
        last_moved_(loop_.now()) {}

  void start() {
    pump(0);
    pump(1);
  }
  void close() {
    over_ = true;
    asio::error_code ignored;
    for (auto& socket : sockets_) socket.close(ignored);
  }
  TimePoint last_moved() const { return last_moved_; }
  const Ends& ends() const { return ends_; }

 private:
  enum class Step : std::uint8_t { kGoOn, kWait, kEnded };
  struct Direction {
    Bytes buffer;
    std::size_t begin = 0;
    std::size_t end = 0;
    bool source_ended = false;
    bool passed_end_on = false;
    bool waits = false;
  };

  void pump(std::size_t from) {
    if (over_ || directions_[from].waits) return;
    for (int i = 0; i < kStepsPerTurn; ++i) {
      const Step step = directions_[from].begin == directions_[from].end ? fill(from) : empty(from);
      if (step == Step::kEnded) return finish();
      if (step == Step::kWait) return;
    }
    directions_[from].waits = true;
    loop_.post([self = shared_from_this(), from] { self->go_on(from); });
  }

  void go_on(std::size_t from) {
    directions_[from].waits = false;
    pump(from);
  }

  Step fill(std::size_t from) {
    Direction& direction = directions_[from];
    if (direction.source_ended) {
      if (!direction.passed_end_on) {
        direction.passed_end_on = true;
        ::shutdown(sockets_[1 - from].native_handle(), SHUT_WR);
      }
      return directions_[1 - from].passed_end_on ? Step::kEnded : Step::kWait;
    }
    const std::size_t allowed = relay_.allow(kBufferBytes);
    if (allowed == 0) {
      direction.waits = true;
      loop_.call_at(loop_.now() + kPauseWhenSpent,
                    [self = shared_from_this(), from] { self->go_on(from); });
      return Step::kWait;
    }
    // Memory is taken when there is something to carry.
    if (direction.buffer.empty()) direction.buffer.resize(kBufferBytes);
    const ssize_t got = ::recv(sockets_[from].native_handle(), direction.buffer.data(), allowed, 0);
    if (got < 0) return blocked(from, from, asio::posix::stream_descriptor::wait_read);
    direction.source_ended = got == 0;
    direction.begin = 0;
    direction.end = static_cast<std::size_t>(got);
    return Step::kGoOn;
  }

  Step empty(std::size_t from) {
    Direction& direction = directions_[from];
    const ssize_t sent =
        ::send(sockets_[1 - from].native_handle(), direction.buffer.data() + direction.begin,
               direction.end - direction.begin, MSG_NOSIGNAL);
    if (sent < 0) return blocked(from, 1 - from, asio::posix::stream_descriptor::wait_write);
    direction.begin += static_cast<std::size_t>(sent);
    last_moved_ = loop_.now();
    relay_.moved(static_cast<std::size_t>(sent));
    return Step::kGoOn;
  }

  Step blocked(std::size_t from, std::size_t socket,
               asio::posix::stream_descriptor::wait_type what) {
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) return Step::kEnded;
    directions_[from].waits = true;
    sockets_[socket].async_wait(what, [self = shared_from_this(), from](const asio::error_code& e) {
      if (!e) self->go_on(from);
    });
    return Step::kWait;
  }

  void finish() {
    const std::shared_ptr<Splice> self = shared_from_this();
    close();
    relay_.splices_.erase(number_);
  }

  Relay& relay_;
  Ends ends_;
  EventLoop& loop_;
  std::uint64_t number_;
  std::array<asio::posix::stream_descriptor, 2> sockets_;
  std::array<Direction, 2> directions_;
  TimePoint last_moved_;
  bool over_ = false;
};

Relay::Relay(const LinkContext& context) : context_(context), filled_at_(context.loop.now()) {}

Relay::~Relay() {
  context_.loop.cancel(sweep_timer_);
  for (const auto& [number, splice] : splices_) splice->close();
}

template <class Which>
std::size_t Relay::count(const Which& which) const {
  const auto halves = std::count_if(halves_.begin(), halves_.end(),
                                    [&](const auto& entry) { return which(entry.second.ends); });
  const auto splices = std::count_if(splices_.begin(), splices_.end(), [&](const auto& entry) {
    return which(entry.second->ends());
  });
  return static_cast<std::size_t>(halves / 2 + splices);
}

// One asker leaves room for others, and one pair leaves its asker room for other peers.
Status Relay::has_room(const PeerId& asker, const PeerId& other) const {
  const std::size_t all_max = context_.options.relayed_connections_max;
  const Ends pair{asker, other};
  const std::size_t of_pair = count([&](const Ends& ends) {
    return std::is_permutation(ends.begin(), ends.end(), pair.begin());
  });
  const std::size_t of_asker = count([&](const Ends& ends) { return ends[0] == asker; });
  const auto fits = [](std::size_t used, std::size_t max, const char* whose) {
    if (used + 2 <= max) return Status();
    return unavailable(fmt::format("relayed connections{}: expected at most {}", whose, max));
  };
  WEFT_TRY(fits(connections(), all_max, ""));
  WEFT_TRY(fits(of_asker, all_max / 2, " that one peer asked for"));
  return fits(of_pair, kConnectionsOfPairMax, " of two peers");
}

Result<Relay::Tokens> Relay::offer(const PeerId& asker, const PeerId& other) {
  if (!context_.options.relays) return unavailable("this peer does not relay");
  WEFT_TRY(has_room(asker, other));
  Tokens tokens{};
  for (auto& side : tokens) {
    for (RelayToken& token : side) random_bytes(token);
  }
  const TimePoint expires = context_.loop.now() + kTokenLife;
  for (const std::size_t lane : {0U, 1U}) {
    const std::array<RelayToken, 2> passes{relay_pass(tokens[0][lane]),
                                           relay_pass(tokens[1][lane])};
    halves_[passes[0]] = {{asker, other}, passes[1], Socket(), expires};
    halves_[passes[1]] = {{asker, other}, passes[0], Socket(), expires};
  }
  if (halves_.size() == 4 && splices_.empty()) sweep();
  return tokens;
}

Status Relay::take(Socket socket, const RelayToken& pass) {
  const auto found = halves_.find(pass);
  if (found == halves_.end() || found->second.socket.valid()) {
    return corrupt("relay: the token was not offered, is too old, or was used");
  }
  const auto other = halves_.find(found->second.other);
  if (other == halves_.end()) return corrupt("relay: the other side's token is too old");
  if (!other->second.socket.valid()) {
    found->second.socket = std::move(socket);
    return {};
  }
  Socket waiting = std::move(other->second.socket);
  const Ends ends = found->second.ends;
  halves_.erase(found);
  halves_.erase(other);
  join(ends, std::move(waiting), std::move(socket));
  return {};
}

void Relay::join(const Ends& ends, Socket a, Socket b) {
  const std::uint64_t number = ++next_splice_;
  const auto splice = std::make_shared<Splice>(*this, number, ends, std::move(a), std::move(b));
  splices_.emplace(number, splice);
  splice->start();
}

bool Relay::serves(const PeerId& peer) const {
  const auto is_end = [&](const Ends& ends) { return ends[0] == peer || ends[1] == peer; };
  return std::any_of(halves_.begin(), halves_.end(),
                     [&](const auto& entry) { return is_end(entry.second.ends); }) ||
         std::any_of(splices_.begin(), splices_.end(),
                     [&](const auto& entry) { return is_end(entry.second->ends()); });
}

void Relay::on_absent(const PeerId& peer) {
  if (serves(peer)) absent_.try_emplace(peer, context_.loop.now());
}

void Relay::end_for(const PeerId& peer) {
  absent_.erase(peer);
  const auto is_end = [&](const Ends& ends) { return ends[0] == peer || ends[1] == peer; };
  std::erase_if(halves_, [&](const auto& entry) { return is_end(entry.second.ends); });
  std::erase_if(splices_, [&](const auto& entry) {
    const bool ends = is_end(entry.second->ends());
    if (ends) entry.second->close();
    return ends;
  });
}

// Forgets tokens that nobody used in time, and connections on which nothing moves.
void Relay::sweep() {
  const TimePoint now = context_.loop.now();
  const std::map<PeerId, TimePoint> absent = absent_;
  for (const auto& [peer, since] : absent) {
    if (now - since > kAbsentLife) end_for(peer);
  }
  std::erase_if(halves_, [&](const auto& entry) { return entry.second.expires <= now; });
  for (auto entry = splices_.begin(); entry != splices_.end();) {
    const bool idle = now - entry->second->last_moved() > context_.options.relay_idle_timeout;
    if (idle) entry->second->close();
    entry = idle ? splices_.erase(entry) : std::next(entry);
  }
  context_.loop.cancel(sweep_timer_);
  if (halves_.empty() && splices_.empty()) return absent_.clear();
  sweep_timer_ = context_.loop.call_at(now + kRelaySweepGap, [this] { sweep(); });
}

std::size_t Relay::allow(std::size_t wanted) {
  const double rate = context_.options.relay_bytes_per_second;
  const TimePoint now = context_.loop.now();
  allowance_ = std::min(allowance_ + to_seconds(now - filled_at_) * rate,
                        std::max(rate * kBurstSeconds, static_cast<double>(kBufferBytes)));
  filled_at_ = now;
  return allowance_ < 1 ? 0 : std::min(wanted, static_cast<std::size_t>(allowance_));
}

void Relay::moved(std::size_t bytes) {
  allowance_ -= static_cast<double>(bytes);
  bytes_relayed_ += bytes;
}

}  // namespace weft
