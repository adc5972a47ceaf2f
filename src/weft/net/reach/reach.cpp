#include "weft/net/reach/reach.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "weft/base/hash.h"
#include "weft/wire/frame_type.h"

// IMPLEMENTATION: hole punching by simultaneous TCP open, after Ford, Srisuresh and Kegel,
// "Peer-to-Peer Communication Across Network Address Translators" (2005), 4.2. Both lanes are
// punched, each from a local port of its own, so that their mappings differ; and each side begins
// with a preface, so that a connection that ended at a listening socket is still recognised.

namespace weft {

namespace {

// A dial has this long for itself.
constexpr Duration kHeadStart = std::chrono::milliseconds(300);
constexpr Duration kAnswerTimeout = std::chrono::milliseconds(1500);
constexpr Duration kRelayTimeout = std::chrono::seconds(8);
constexpr std::size_t kHelpersMax = 4;
constexpr std::size_t kHelpsMax = 256;

}  // namespace

Reach::Reach(const LinkContext& context, Greeter& greeter, Relay& relay, ReachLinks& links)
    : context_(context), greeter_(greeter), relay_(relay), links_(links) {}

Reach::~Reach() {
  for (const auto& [peer, help] : helps_) context_.loop.cancel(help->timer);
  drop_answers([](const Answer&) { return true; });
}

void Reach::help(const std::shared_ptr<Dial>& dial) {
  if (helps_.size() >= kHelpsMax) return;
  const auto help = std::make_shared<Help>();
  help->peer = dial->peer().id;
  help->dial = dial;
  random_bytes(help->attempt);
  if (const auto old = helps_.find(help->peer); old != helps_.end()) end(HelpPtr(old->second));
  helps_.emplace(help->peer, help);
  dial->set_when_exhausted(
      [this, alive = std::weak_ptr(alive_), weak = std::weak_ptr(help)]() -> bool {
        const HelpPtr self = weak.lock();
        return !alive.expired() && self != nullptr && on_exhausted(self);
      });
  set_timer(help, kHeadStart, &Reach::begin);
}

void Reach::set_timer(const HelpPtr& help, Duration wait, void (Reach::*then)(const HelpPtr&)) {
  context_.loop.cancel(help->timer);
  help->timer = context_.loop.call_at(
      context_.loop.now() + wait,
      [this, then, alive = std::weak_ptr(alive_), weak = std::weak_ptr(help)] {
        const HelpPtr self = weak.lock();
        if (alive.expired() || self == nullptr || self->stage == Stage::kOver) return;
        const std::shared_ptr<Dial> dial = self->dial.lock();
        if (dial == nullptr || dial->finished()) return end(self);
        (this->*then)(self);
      });
}

void Reach::end(const HelpPtr& help) {
  help->stage = Stage::kOver;
  context_.loop.cancel(help->timer);
  const auto found = helps_.find(help->peer);
  if (found != helps_.end() && found->second == help) helps_.erase(found);
}

// The dial has nothing left to try: true if there will be more.
bool Reach::on_exhausted(const HelpPtr& help) {
  switch (help->stage) {
    case Stage::kWaiting:
      begin(help);
      break;
    case Stage::kPunching:
      ask_relays(help);
      break;
    case Stage::kRelaying:
      ask_next(help);
      break;
    case Stage::kIntroducing:
    case Stage::kAskingRelay:
    case Stage::kOver:
      break;
  }
  return help->stage != Stage::kOver;
}

void Reach::begin(const HelpPtr& help) {
  if (help->stage != Stage::kWaiting) return;
  for (const PeerId& peer : links_.proved_peers()) {
    if (peer != help->peer) help->left.push_back(peer);
  }
  if (help->left.size() > kHelpersMax) {
    // Not always the same ones.
    for (std::size_t i = 0; i < kHelpersMax; ++i) {
      const std::size_t rest = help->left.size() - i;
      std::swap(help->left[i], help->left[i + help->attempt[i] % rest]);
    }
    help->left.resize(kHelpersMax);
  }
  // Alone, nobody can help; the dial goes on by itself.
  if (help->left.empty()) return end(help);
  help->stage = Stage::kIntroducing;
  ask_next(help);
}

// Asks the next peer for what this stage needs; without one goes on to the next stage, or ends.
void Reach::ask_next(const HelpPtr& help) {
  const std::shared_ptr<Dial> dial = help->dial.lock();
  if (dial == nullptr || dial->finished()) return end(help);
  help->asked.reset();
  if (help->stage == Stage::kRelaying) help->stage = Stage::kAskingRelay;
  while (!help->left.empty()) {
    const PeerId next = help->left.back();
    help->left.pop_back();
    if (!is_proved(next)) continue;
    help->asked = next;
    IntroduceMessage message;
    message.attempt = help->attempt;
    message.peer = help->peer;
    message.relay = help->stage == Stage::kAskingRelay;
    send(next, frame_type::kIntroduce, message.encode());
    return set_timer(help, kAnswerTimeout, &Reach::ask_next);
  }
  end(help);
  // Later, as this may run inside of a call of the dial's.
  context_.loop.post([weak = help->dial, why = help->failures.empty()
                                                   ? std::string("no peer is linked to both")
                                                   : help->failures] {
    if (const std::shared_ptr<Dial> late = weak.lock(); late != nullptr) late->give_up(why);
  });
}

void Reach::ask_relays(const HelpPtr& help) {
  if (help->stage != Stage::kPunching) return;
  help->stage = Stage::kAskingRelay;
  help->left = help->helpers;
  ask_next(help);
}

Reach::HelpPtr Reach::helped(const ReachAttempt& attempt, const PeerId& by) const {
  for (const auto& [peer, help] : helps_) {
    if (help->attempt != attempt) continue;
    const bool asked = help->asked == by;
    const bool helps = std::count(help->helpers.begin(), help->helpers.end(), by) != 0;
    return asked || helps ? help : nullptr;
  }
  return nullptr;
}

Status Reach::on_frame(const Link& from, const FrameView& frame) {
  switch (frame.type) {
    case frame_type::kIntroduce: {
      WEFT_TRY_ASSIGN(const IntroduceMessage message, IntroduceMessage::decode(frame.head));
      introduce(from, message);
      return {};
    }
    case frame_type::kIntroduction: {
      WEFT_TRY_ASSIGN(const IntroductionMessage message, IntroductionMessage::decode(frame.head));
      message.asker ? on_introduced(from, message) : answer_punch(from, message);
      return {};
    }
    case frame_type::kRelayOffer: {
      WEFT_TRY_ASSIGN(const RelayOfferMessage message, RelayOfferMessage::decode(frame.head));
      message.asker ? on_relay_offered(from, message) : answer_relay(from, message);
      return {};
    }
    case frame_type::kReachRefused: {
      WEFT_TRY_ASSIGN(const ReachRefusedMessage message, ReachRefusedMessage::decode(frame.head));
      on_refusal(from, message);
      return {};
    }
    default:
      return corrupt(fmt::format("frame.type: expected no {} on an open link", frame.type));
  }
}

void Reach::on_introduced(const Link& from, const IntroductionMessage& message) {
  const HelpPtr help = helped(message.attempt, from.info().peer);
  if (help == nullptr || help->stage != Stage::kIntroducing || message.peer != help->peer) return;
  const std::shared_ptr<Dial> dial = help->dial.lock();
  if (dial == nullptr || dial->finished()) return end(help);
  const Result<SocketAddress> control = credible(message.endpoints[0], from);
  const Result<SocketAddress> bulk = credible(message.endpoints[1], from);
  help->stage = Stage::kPunching;
  // Those that were not asked may be linked to both as well; they come last.
  help->helpers = help->left;
  help->helpers.push_back(from.info().peer);
  // It sees the other on a network of its own.
  if (!control.ok() || !bulk.ok()) return ask_relays(help);
  set_timer(help, context_.options.punch_timeout, &Reach::ask_relays);
  // The other side's punch is under way already.
  const auto answered = [&](const Answer& answer) { return answer.peer == help->peer; };
  if (std::any_of(answers_.begin(), answers_.end(), answered)) return;
  DialWay way;
  way.route = {
      LinkPath::kPunched, from.info().peer.short_name(),
      dial->failures().empty() ? "its addresses did not answer in time" : dial->failures()};
  way.punch_addresses = {*control, *bulk};
  way.attempt = help->attempt;
  dial->add_way(std::move(way));
  for (Early& early : take_early(punch_mark(message.attempt))) {
    dial->take_punched(std::move(early.socket), early.preface);
  }
}

void Reach::on_relay_offered(const Link& from, const RelayOfferMessage& message) {
  const HelpPtr help = helped(message.attempt, from.info().peer);
  if (help == nullptr || help->stage != Stage::kAskingRelay || message.peer != help->peer) return;
  const std::shared_ptr<Dial> dial = help->dial.lock();
  if (dial == nullptr || dial->finished()) return end(help);
  help->stage = Stage::kRelaying;
  help->asked = from.info().peer;
  set_timer(help, kRelayTimeout, &Reach::ask_next);
  DialWay way;
  way.route = {LinkPath::kRelayed, from.info().peer.short_name(),
               dial->failures().empty() ? "neither a direct nor a punched connection could be made"
                                        : dial->failures()};
  if (!from.info().inbound) way.endpoints.push_back(from.info().remote_endpoint);
  for (const std::string& endpoint : message.endpoints) {
    // A token buys one connection: each address once.
    const bool fresh =
        std::find(way.endpoints.begin(), way.endpoints.end(), endpoint) == way.endpoints.end();
    if (fresh && credible(endpoint, from).ok()) way.endpoints.push_back(endpoint);
  }
  way.tokens = message.tokens;
  dial->add_way(std::move(way));
}

void Reach::on_refusal(const Link& from, const ReachRefusedMessage& message) {
  const HelpPtr help = helped(message.attempt, from.info().peer);
  if (help == nullptr) return;
  if (help->failures.size() < 512) {
    help->failures += fmt::format("{}{}: {}", help->failures.empty() ? "" : "; ",
                                  from.info().peer.short_name(), message.text);
  }
  std::erase(help->helpers, from.info().peer);
  if (help->stage == Stage::kPunching) return ask_relays(help);
  const bool asking = help->stage == Stage::kIntroducing || help->stage == Stage::kAskingRelay;
  if (asking && help->asked == from.info().peer) ask_next(help);
}

void Reach::on_link_up(const PeerId& peer) {
  if (is_proved(peer)) relay_.on_back(peer);
  if (const auto found = helps_.find(peer); found != helps_.end()) end(HelpPtr(found->second));
  drop_answers([&](const Answer& answer) { return answer.peer == peer; });
}

void Reach::on_link_down(const PeerId& peer) {
  relay_.on_absent(peer);
  forget_introductions(peer, "its link went down");
}

void Reach::on_trust(const PeerId& peer, LinkTrust trust) {
  if (trust == LinkTrust::kProved) return relay_.on_back(peer);
  relay_.end_for(peer);
  forget_introductions(peer, "it is no longer a member");
  drop_answers([&](const Answer& answer) { return answer.by == peer || answer.peer == peer; });
}

// Those who are being introduced to it learn at once that it is gone.
void Reach::forget_introductions(const PeerId& peer, const std::string& why) {
  const TimePoint now = context_.loop.now();
  for (auto entry = introduced_.begin(); entry != introduced_.end();) {
    const bool tell = entry->other == peer && entry->asker != peer;
    if (tell) refuse(entry->asker, entry->attempt, why);
    const bool old = now - entry->at > std::chrono::seconds(10);
    entry = tell || old ? introduced_.erase(entry) : std::next(entry);
  }
  const std::map<PeerId, HelpPtr> helps = helps_;
  for (const auto& [other, help] : helps) {
    const bool asking = help->stage == Stage::kIntroducing || help->stage == Stage::kAskingRelay;
    if (asking && help->asked == peer) ask_next(help);
  }
}

}  // namespace weft
