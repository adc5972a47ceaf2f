#include "weft/gossip/loose_member.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "weft/base/log.h"
#include "weft/net/join_code.h"
#include "weft/net/tls_transport.h"

namespace weft {
namespace {

constexpr Duration kSponsorRedial = std::chrono::seconds(1);

}  // namespace

Status LooseMember::open() {
  loop_.thread().assert_here();
  WEFT_TRY_ASSIGN(ListenOptions listen, parse_listen(loose_.listen));
  listen.advertise = loose_.advertise;
  listen.map_port = loose_.map_port;
  WEFT_TRY_ASSIGN(transport_, make_tls_transport(loop_, loose_.identity, listen));
  transport_->set_handler(*this);
  MemberGateOptions gate;
  gate.self = self();
  gate.run = loose_.run;
  gate.recipe_text = loose_.recipe_text;
  gate.recipe_hash = loose_.recipe_hash;
  gate.layout_hash = loose_.layout_hash;
  gate.invite = loose_.invite;
  gate.allowed = loose_.allowed;
  gate.ticket = loose_.ticket;
  gate.incarnation = unix_time_us();
  gate.endpoints = record_endpoints(transport_->endpoints());
  if (!loose_.ticket) random_bytes(gate.key.emplace());
  gate_ = std::make_unique<MemberGate>(std::move(gate));
  PresenceOptions presence = loose_.presence;
  presence.run = loose_.run;
  presence_ = make_presence(loop_, *transport_, facts(), loose_.identity, std::move(presence));
  give_up_at_ = loop_.now() + loose_.join_timeout;
  if (loose_.ticket) redial_at_ = loop_.now();
  return {};
}

void LooseMember::begin_loop() {
  // Built here, entered by the loop thread alone.
  loop_.post([this]() WEFT_REQUIRES(loop_.thread()) { on_timer(); });
  thread_ = Thread([this] { loop_.run(); });
}

void LooseMember::end_loop() {
  loop_.stop();
  thread_.join();
}

void LooseMember::submit(std::function<void()> work) {
  loop_.post([this, work = std::move(work)]() WEFT_REQUIRES(loop_.thread()) {
    work();
    settle();
  });
}

Status LooseMember::close_links(Duration limit) {
  submit([this]() WEFT_REQUIRES(loop_.thread()) {
    ending_ = true;
    const std::set<PeerId> linked = linked_;
    for (const PeerId& peer : linked) transport_->close(peer, unavailable("the peer has left"));
    if (linked.empty()) closed_.with([](bool& closed) { closed = true; });
  });
  const bool closed =
      closed_.wait_until(clock_.now() + limit, [](bool is_closed) { return is_closed; });
  return closed ? Status() : timed_out("leave: not all links have ended");
}

GossipFacts LooseMember::facts() const {
  GossipFacts facts = {*gate_, *transport_, clock_, {}, {}, {}};
  facts.others = [this] { return others(); };
  facts.members = [this] { return members_known(); };
  facts.over = [this] { return is_over(); };
  return facts;
}

Result<Ticket> LooseMember::ticket(Duration valid_for) {
  return ask<Ticket>([this, valid_for]() WEFT_REQUIRES(loop_.thread()) {
    return gossip_ticket(facts(), valid_for);
  });
}

Result<std::string> LooseMember::join_code(const Ticket& ticket) {
  // Not on the loop thread, which others wait for.
  const IssuedJoinCode code = issue_join_code(loose_.identity.public_key());
  return ask<std::string>([this, code, ticket]()
                              WEFT_REQUIRES(loop_.thread()) -> Result<std::string> {
                                if (!gossip_ticket_stands(facts(), ticket)) {
                                  return invalid_argument("code: the ticket is void");
                                }
                                WEFT_TRY(presence_->offer(code, ticket));
                                return format_join_code(code.code);
                              });
}

// --- The loop thread.

void LooseMember::settle() {
  for (bool again = true; again;) {
    for (const GateAction& action : gate_->take_actions()) take_gate(action);
    for (const PeerId& peer : gate_->take_admitted()) {
      linked_.insert(peer);
      on_admitted(peer);
    }
    again = settle_core();
  }
  if (const Status refused = gate_->refused(); !refused.ok()) fail(refused);
  arm_timer();
}

void LooseMember::send(const GossipSend& send) {
  const Status sent = transport_->send(send.to, send.lane, send.frame);
  // A link that has just ended, or is too slow for what it is given: its neighbour misses a round.
  if (!sent.ok()) log(LogLevel::kInfo, "gossip: {}: {}", send.to.short_name(), sent.message());
}

void LooseMember::close(const GossipClose& close) {
  log(LogLevel::kInfo, "gossip: ends the link to {}: {}", close.peer.short_name(),
      close.why.message());
  linked_.erase(close.peer);
  transport_->close(close.peer, close.why);
}

void LooseMember::take_gate(const GateAction& action) {
  if (const auto* const frame = std::get_if<GossipSend>(&action)) {
    send(*frame);
  } else if (const auto* const trust = std::get_if<GateTrust>(&action)) {
    transport_->set_trust(trust->peer, trust->trust);
  } else {
    close(std::get<GossipClose>(action));
  }
}

void LooseMember::arm_timer() {
  std::optional<TimePoint> due = core_deadline();
  const auto consider = [&](std::optional<TimePoint> when) {
    if (when) due = due ? std::min(*due, *when) : when;
  };
  consider(gate_->next_deadline());
  consider(redial_at_);
  if (!due || ending_ || *due >= timer_at_) return;
  loop_.cancel(timer_);
  timer_at_ = *due;
  timer_ = loop_.call_at(*due, [this]() WEFT_REQUIRES(loop_.thread()) {
    timer_at_ = TimePoint::max();
    if (!ending_) on_timer();
  });
}

void LooseMember::on_timer() {
  const TimePoint now = loop_.now();
  gate_->tick(now);
  on_tick(now);
  if (redial_at_ && *redial_at_ <= now) dial_sponsors();
  settle();
}

// Until it has been let in, and knows whom else to dial.
void LooseMember::dial_sponsors() {
  redial_at_.reset();
  if (!seeks_sponsors()) return;
  const TimePoint now = loop_.now();
  if (!gate_->key() && now >= give_up_at_) {
    fail(unavailable(fmt::format(
        "join: no member of the ticket let this peer in within {:.0f} s; a peer that still runs "
        "has a newer ticket",
        to_seconds(loose_.join_timeout))));
    return;
  }
  redial_at_ = now + kSponsorRedial;
  for (const PeerAddress& member : loose_.ticket->members) {
    if (member.id != self() && !transport_->linked(member.id)) transport_->connect(member);
  }
}

void LooseMember::on_link_up(const LinkInfo& link) {
  loop_.thread().assert_here();
  if (ending_) return;
  gate_->link_up(link, loop_.now());
  settle();
}

void LooseMember::on_link_down(const PeerId& peer, const Status& why) {
  loop_.thread().assert_here();
  log(LogLevel::kDebug, "gossip: no link to {}: {}", peer.short_name(), why.message());
  gate_->link_down(peer);
  const bool was_linked = linked_.erase(peer) > 0;
  if (ending_) {
    if (linked_.empty()) closed_.with([](bool& closed) { closed = true; });
    return;
  }
  on_gone(peer, why, was_linked);
  settle();
}

void LooseMember::on_frame(const PeerId& from, Lane /*lane*/, const FrameView& frame) {
  loop_.thread().assert_here();
  if (ending_) return;
  if (!gate_->receive(from, frame.type, frame.head, clock_.unix_time_s())) {
    // The frame may have been what admitted its link.
    settle();
    on_member_frame(from, frame);
  }
  settle();
}

void LooseMember::on_writable(const PeerId& peer, Lane lane) {
  loop_.thread().assert_here();
  if (ending_ || lane != Lane::kBulk) return;
  on_room(peer);
}

}  // namespace weft
