#include "weft/peer/presence.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "weft/base/log.h"
#include "weft/wire/discovery_message.h"

namespace weft {
namespace {

constexpr Duration kLookEvery = std::chrono::seconds(1);
constexpr Duration kDialEvery = std::chrono::seconds(4);
constexpr Duration kAskEvery = std::chrono::seconds(8);
// An invitation that has less time left is made anew.
constexpr std::int64_t kInvitationLeftS = 600;

Rng unpredictable_rng() {
  std::array<std::uint8_t, 8> bytes{};
  random_bytes(bytes);
  std::uint64_t seed = 0;
  for (const std::uint8_t byte : bytes) seed = seed << 8U | byte;
  return Rng(seed);
}

}  // namespace

std::string format_code_ticket(Ticket ticket) {
  std::string text = format_ticket(ticket);
  while (text.size() > kCodeTicketBytesMax && ticket.members.size() > 1) {
    ticket.members.pop_back();
    text = format_ticket(ticket);
  }
  return text;
}

RunPresence::RunPresence(EventLoop& loop, Transport& transport, const PeerIdentity& identity,
                         PresenceOptions options, Callbacks callbacks)
    : loop_(loop),
      transport_(transport),
      identity_(identity),
      options_(std::move(options)),
      callbacks_(std::move(callbacks)) {
  if (options_.on_lan) {
    const DiscoveryAudience audience =
        options_.this_machine_only ? DiscoveryAudience::kThisMachine : DiscoveryAudience::kNetwork;
    auto listener = DiscoveryListener::open(loop_, identity_, options_.place, audience);
    if (listener.ok()) {
      listener_ = std::move(listener).value();
    } else {
      log(LogLevel::kInfo, "not found on the local network: {}", listener.status().message());
    }
  }
  if (options_.make_table) open_table();
  if (listener_ || options_.make_table)
    timer_ = loop_.call_at(loop_.now(), [this]() WEFT_REQUIRES(loop_.thread()) { look_again(); });
}

RunPresence::~RunPresence() { loop_.cancel(timer_); }

void RunPresence::open_table() {
  announced_ = transport_.endpoints();
  table_.reset();
  auto table = options_.make_table(loop_);
  if (table.ok()) {
    table_ = std::move(table).value();
  } else {
    log(LogLevel::kWarning, "{}", table.status().message());
  }
}

void RunPresence::look_again() {
  const PresenceFacts facts = callbacks_.facts();
  if (listener_) show(facts);
  if (options_.on_lan && facts.is_isolated && loop_.now() >= ask_at_) ask_lan();
  // Other nodes go on answering a node where they knew it first: under new addresses it is a new
  // one.
  if (options_.make_table && transport_.endpoints() != announced_) open_table();
  if (table_) meet(facts);
  timer_ = loop_.call_at(loop_.now() + kLookEvery,
                         [this]() WEFT_REQUIRES(loop_.thread()) { look_again(); });
}

void RunPresence::show(const PresenceFacts& facts) {
  if (!facts.is_member) return listener_->set_card(std::nullopt);
  show_codes();
  DiscoveryCard card;
  card.run = options_.run;
  card.name = options_.name;
  card.members = facts.members;
  card.endpoints = transport_.endpoints();
  card.invite = options_.invite;
  if (card.invite == DiscoveryInvite::kOpen) {
    const std::int64_t now = loop_.clock().unix_time_s();
    if (!invitation_ || invitation_->expiry_unix_s - now < kInvitationLeftS) {
      invitation_ = callbacks_.invitation();
    }
    card.open = invitation_;
  }
  listener_->set_card(std::move(card));
}

Status RunPresence::offer(const IssuedJoinCode& code, const Ticket& ticket) {
  loop_.thread().assert_here();
  if (!options_.on_lan) {
    return unavailable(
        "code: this run is hidden on the local network (group.discovery = \"off\"); pass on the "
        "ticket");
  }
  if (!listener_) {
    return unavailable(
        "code: no peer can query this one on the local network (`weft doctor` says why); pass on "
        "the "
        "ticket");
  }
  if (offers_.size() == kOfferedCodesMax) offers_.erase(offers_.begin());
  offers_.push_back({code, ticket});
  show(callbacks_.facts());
  return {};
}

// Addresses and members change, tickets end: answers to codes are made anew each time.
void RunPresence::show_codes() {
  std::vector<OfferedCode> codes;
  std::vector<Offer> standing;
  for (const Offer& offer : offers_) {
    std::optional<std::string> line = callbacks_.renewed(offer.ticket);
    if (!line) continue;
    codes.push_back(
        {offer.code.key, offer.code.salt, std::move(*line), offer.ticket.expiry_unix_s});
    standing.push_back(offer);
  }
  offers_ = std::move(standing);
  listener_->set_codes(std::move(codes));
}

void RunPresence::meet(const PresenceFacts& facts) {
  const TimePoint now = loop_.now();
  const std::int64_t unix_time_s = loop_.clock().unix_time_s();
  if (!rendezvous_) {
    RendezvousOptions settings;
    settings.run = options_.run;
    rendezvous_.emplace(settings, identity_, unpredictable_rng());
  }
  rendezvous_->set_endpoints(facts.is_member ? transport_.endpoints() : std::vector<std::string>(),
                             now);
  rendezvous_->set_looking(facts.is_isolated, now);
  Rendezvous::Actions actions = rendezvous_->on_timer(now, unix_time_s);
  const RendezvousKey key = rendezvous_key(options_.run);
  if (actions.put) table_->put(key, std::move(*actions.put));
  if (actions.get) {
    table_->get(key, [this](const std::vector<Bytes>& values) WEFT_REQUIRES(loop_.thread()) {
      rendezvous_->on_values(values, loop_.clock().unix_time_s());
    });
  }
  if (facts.is_isolated && now >= dial_at_) {
    dial_at_ = now + kDialEvery;
    dial(rendezvous_->known(unix_time_s));
  }
}

void RunPresence::ask_lan() {
  ask_at_ = loop_.now() + kAskEvery;
  auto asker = DiscoveryAsker::open(loop_, options_.run, options_.place,
                                    [this]() WEFT_REQUIRES(loop_.thread()) {
                                      for (const DiscoveredRun& run : asker_->runs())
                                        dial(run.addresses());
                                    });
  asker_ = asker.ok() ? std::move(asker).value() : nullptr;
  if (asker_) asker_->ask();
}

void RunPresence::dial(const std::vector<PeerAddress>& found) {
  if (!callbacks_.facts().is_isolated) return;
  // Only members are dialled: a peer that writes or answers under other names gains nothing here.
  for (const PeerAddress& address : found) {
    if (address.id == identity_.id() || transport_.linked(address.id)) continue;
    if (!callbacks_.knows(address.id)) continue;
    log(LogLevel::kInfo, "dialling {} at {}, which it announced", address.id.short_name(),
        address.endpoints.front());
    transport_.connect(address);
  }
}

}  // namespace weft
