// The other two parts of Reach: the third peer, and the one that somebody else dials.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "weft/net/reach/reach.h"
#include "weft/net/stream/address_scope.h"
#include "weft/net/stream/preface_stream.h"
#include "weft/wire/frame_type.h"

namespace weft {

namespace {

constexpr std::size_t kAnswersMax = 16;
constexpr std::size_t kVisitsMax = 32;
constexpr Duration kVisitTimeout = std::chrono::seconds(2);
constexpr std::size_t kEarlyMax = 8;
constexpr Duration kEarlyLife = std::chrono::seconds(1);
// Introductions of the last ten seconds: for one asker, and for all.
constexpr Duration kIntroducedLife = std::chrono::seconds(10);
constexpr std::size_t kIntroducedForOneMax = 32;
constexpr std::size_t kIntroducedMax = 512;

}  // namespace

void Reach::send(const PeerId& to, std::uint8_t type, Bytes head) {
  // A link that goes down meanwhile tells by itself.
  if (Link* link = links_.link_to(to); link != nullptr) {
    static_cast<void>(link->send(Lane::kControl, {type, std::move(head), {}}));
  }
}

void Reach::refuse(const PeerId& to, const ReachAttempt& attempt, const std::string& text) {
  send(to, frame_type::kReachRefused, ReachRefusedMessage{attempt, text}.encode());
}

bool Reach::is_proved(const PeerId& peer) const {
  const Link* link = links_.link_to(peer);
  return link != nullptr && link->trust() == LinkTrust::kProved;
}

Result<SocketAddress> Reach::credible(const std::string& endpoint, const Link& from) {
  WEFT_TRY_ASSIGN(const SocketAddress address, numeric_address(endpoint));
  const AddressScope scope = scope_of(address);
  if (scope == AddressScope::kWorld) return address;
  const Result<SocketAddress> introducer = numeric_address(from.info().remote_endpoint);
  if (introducer.ok() && scope_of(*introducer) == scope) return address;
  return invalid_argument("endpoint: of a network that the peer which names it is not on");
}

// --- The third peer.

Status Reach::may_introduce(const Link& from, const IntroduceMessage& message) {
  const TimePoint now = context_.loop.now();
  std::erase_if(introduced_,
                [&](const Introduced& entry) { return now - entry.at > kIntroducedLife; });
  const PeerId& asker = from.info().peer;
  const auto of_one = static_cast<std::size_t>(
      std::count_if(introduced_.begin(), introduced_.end(),
                    [&](const Introduced& entry) { return entry.asker == asker; }));
  if (of_one >= kIntroducedForOneMax || introduced_.size() >= kIntroducedMax) {
    return unavailable("too many introductions");
  }
  const Link* other = links_.link_to(message.peer);
  if (other == nullptr || message.peer == asker || !is_proved(message.peer)) {
    return unavailable("not linked to that peer");
  }
  if (from.info().path == LinkPath::kRelayed || other->info().path == LinkPath::kRelayed) {
    return unavailable("linked through a relay only");
  }
  return {};
}

void Reach::introduce(const Link& from, const IntroduceMessage& message) {
  const PeerId asker = from.info().peer;
  const Status allowed = may_introduce(from, message);
  if (!allowed.ok()) return refuse(asker, message.attempt, allowed.message());
  introduced_.push_back({message.attempt, asker, message.peer, context_.loop.now()});
  if (!message.relay) {
    const Link& other = *links_.link_to(message.peer);
    const IntroductionMessage to_asker{message.attempt, message.peer, true,
                                       other.remote_endpoints()};
    const IntroductionMessage to_other{message.attempt, asker, false, from.remote_endpoints()};
    send(message.peer, frame_type::kIntroduction, to_other.encode());
    send(asker, frame_type::kIntroduction, to_asker.encode());
    return;
  }
  const Result<Relay::Tokens> tokens = relay_.offer(asker, message.peer);
  if (!tokens.ok()) return refuse(asker, message.attempt, tokens.status().message());
  std::vector<std::string> endpoints = links_.own_endpoints();
  std::erase_if(endpoints,
                [](const std::string& text) { return text.size() > kReachEndpointBytesMax; });
  if (endpoints.size() > kReachEndpointsMax) endpoints.resize(kReachEndpointsMax);
  RelayOfferMessage offer{message.attempt, asker, false, (*tokens)[1], endpoints};
  send(message.peer, frame_type::kRelayOffer, offer.encode());
  offer.peer = message.peer;
  offer.asker = true;
  offer.tokens = (*tokens)[0];
  send(asker, frame_type::kRelayOffer, offer.encode());
}

// --- The one that is dialled.

std::list<Reach::Answer>::iterator Reach::find_answer(const ReachAttempt& mark) {
  return std::find_if(answers_.begin(), answers_.end(),
                      [&](const Answer& answer) { return punch_mark(answer.attempt) == mark; });
}

void Reach::drop_answers(const std::function<bool(const Answer&)>& which) {
  for (auto answer = answers_.begin(); answer != answers_.end();) {
    const bool dropped = which(*answer);
    for (const auto& knock : answer->knocks) {
      if (dropped && knock != nullptr) knock->abandon();
    }
    answer = dropped ? answers_.erase(answer) : std::next(answer);
  }
}

void Reach::answer_punch(const Link& from, const IntroductionMessage& message) {
  const ReachAttempt mark = punch_mark(message.attempt);
  if (links_.link_to(message.peer) != nullptr || answers_.size() >= kAnswersMax ||
      message.peer == context_.self || find_answer(mark) != answers_.end()) {
    return;
  }
  const Result<SocketAddress> control = credible(message.endpoints[0], from);
  const Result<SocketAddress> bulk = credible(message.endpoints[1], from);
  if (!control.ok() || !bulk.ok()) return;
  if (const auto own = helps_.find(message.peer); own != helps_.end()) {
    // Both ask; as with dials, the smaller one's stays.
    if (context_.self < message.peer) return;
    const std::shared_ptr<Dial> dial = own->second->dial.lock();
    if (dial != nullptr) dial->yield_to_punch(*control);
  }
  Answer& answer = answers_.emplace_back();
  answer.attempt = message.attempt;
  answer.peer = message.peer;
  answer.by = from.info().peer;
  answer.route = {LinkPath::kPunched, from.info().peer.short_name(),
                  fmt::format("peer {} asked for it", message.peer.short_name())};
  const Duration limit = 2 * context_.options.punch_timeout;
  const std::array<SocketAddress, 2> addresses{*control, *bulk};
  for (const std::uint8_t lane : {std::uint8_t{0}, std::uint8_t{1}}) {
    answer.knocks[lane] = std::make_shared<Knock>(
        context_.loop, Knock::Plan{addresses[lane], context_.lane_ports[lane], true, limit},
        [this, lane, mark, alive = std::weak_ptr(alive_)](Result<Socket> socket) {
          if (alive.expired() || !socket.ok()) return;
          const auto found = find_answer(mark);
          if (found == answers_.end()) return;
          found->knocks[lane].reset();
          greet_punched(std::move(socket).value(), *found, lane, false);
        });
    answer.knocks[lane]->start();
  }
  context_.loop.call_at(context_.loop.now() + limit, [this, attempt = message.attempt,
                                                      alive = std::weak_ptr(alive_)] {
    if (alive.expired()) return;
    drop_answers([&](const Answer& known) { return known.attempt == attempt; });
  });
  for (Early& early : take_early(mark)) {
    greet_punched(std::move(early.socket), answer, early.preface.lane, true);
  }
}

void Reach::greet_punched(Socket socket, const Answer& answer, std::uint8_t lane, bool heard) {
  if (!context_.medium.prepare(socket.get()).ok()) return;
  PrefaceMessage preface;
  preface.kind = PrefaceKind::kPunch;
  preface.mark = punch_mark(answer.attempt);
  preface.lane = lane;
  auto stream =
      std::make_unique<PrefaceStream>(socket.get(), context_.medium.accept(socket.get()), preface,
                                      heard ? PrefaceHearing::kNone : PrefaceHearing::kOne);
  greeter_.receive(std::move(socket), std::move(stream), LinkRoute(answer.route));
}

Status Reach::on_punched(Socket socket, const PrefaceMessage& preface) {
  if (!preface.asker) {
    for (const auto& [peer, help] : helps_) {
      const std::shared_ptr<Dial> dial = help->dial.lock();
      if (dial == nullptr || punch_mark(help->attempt) != preface.mark) continue;
      // The other side was told first, and a dial of this one's has opened the way to here.
      if (help->stage == Stage::kIntroducing) return keep_early(std::move(socket), preface);
      dial->take_punched(std::move(socket), preface);
      return {};
    }
    return corrupt("preface: nobody here asked for that connection");
  }
  if (const auto answer = find_answer(preface.mark); answer != answers_.end()) {
    greet_punched(std::move(socket), *answer, preface.lane, true);
    return {};
  }
  // The introduction may still be on its way.
  return keep_early(std::move(socket), preface);
}

Status Reach::keep_early(Socket socket, const PrefaceMessage& preface) {
  const TimePoint now = context_.loop.now();
  std::erase_if(early_, [&](const Early& early) { return now - early.at > kEarlyLife; });
  if (early_.size() >= kEarlyMax) return corrupt("preface: nobody introduced that peer");
  early_.push_back({std::move(socket), preface, now});
  context_.loop.call_at(now + 2 * kEarlyLife, [this, alive = std::weak_ptr(alive_)] {
    if (alive.expired()) return;
    const TimePoint then = context_.loop.now();
    std::erase_if(early_, [&](const Early& early) { return then - early.at > kEarlyLife; });
  });
  return {};
}

std::vector<Reach::Early> Reach::take_early(const ReachAttempt& mark) {
  std::vector<Early> taken;
  for (auto early = early_.begin(); early != early_.end();) {
    if (early->preface.mark != mark) {
      ++early;
      continue;
    }
    taken.push_back(std::move(*early));
    early = early_.erase(early);
  }
  return taken;
}

void Reach::answer_relay(const Link& from, const RelayOfferMessage& message) {
  if (links_.link_to(message.peer) != nullptr || message.peer == context_.self) return;
  std::vector<SocketAddress> addresses;
  for (auto text = message.endpoints.rbegin(); text != message.endpoints.rend(); ++text) {
    if (const Result<SocketAddress> address = credible(*text, from); address.ok()) {
      addresses.push_back(*address);
    }
  }
  // Where this peer dialled the relay, that address is the one known to answer.
  if (!from.info().inbound) {
    const Result<SocketAddress> known = numeric_address(from.info().remote_endpoint);
    if (known.ok()) addresses.push_back(*known);
  }
  const LinkRoute route{LinkPath::kRelayed, from.info().peer.short_name(),
                        fmt::format("peer {} asked for it", message.peer.short_name())};
  for (const RelayToken& token : message.tokens) visit_relay(addresses, token, route);
}

void Reach::visit_relay(std::vector<SocketAddress> addresses, const RelayToken& token,
                        const LinkRoute& route) {
  if (addresses.empty() || visits_ >= kVisitsMax) return;
  ++visits_;
  const SocketAddress address = addresses.back();
  addresses.pop_back();
  const auto knock = std::make_shared<Knock>(
      context_.loop, Knock::Plan{address, 0, false, kVisitTimeout},
      [this, addresses, token, route, alive = std::weak_ptr(alive_)](Result<Socket> socket) {
        if (alive.expired()) return;
        --visits_;
        if (!socket.ok()) return visit_relay(addresses, token, route);
        if (!context_.medium.prepare(socket->get()).ok()) return;
        PrefaceMessage preface;
        preface.pass = relay_pass(token);
        auto stream = std::make_unique<PrefaceStream>(
            socket->get(), context_.medium.accept(socket->get()), preface, PrefaceHearing::kNone);
        greeter_.receive(std::move(socket).value(), std::move(stream), route);
      });
  knock->start();
}

}  // namespace weft
