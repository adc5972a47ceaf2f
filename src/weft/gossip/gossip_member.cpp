#include "weft/gossip/gossip_member.h"

#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "weft/base/log.h"
#include "weft/base/thread.h"
#include "weft/gossip/gossip_presence.h"
#include "weft/gossip/member_gate.h"
#include "weft/net/event_loop.h"
#include "weft/net/join_code.h"
#include "weft/net/tls_transport.h"

namespace weft {
namespace {

constexpr Duration kAnswerWait = std::chrono::seconds(2);
constexpr Duration kRedial = std::chrono::seconds(1);
constexpr Duration kLastWords = std::chrono::milliseconds(500);
// For neighbours that finish the last round later: a link that ends may lose what they wait for.
constexpr Duration kPartingMax = std::chrono::seconds(5);
// finish() waits so much longer than the deadline, in case the loop thread is starved.
constexpr Duration kStarved = std::chrono::seconds(60);

}  // namespace

class GossipMember::Impl final : private TransportHandler {
 public:
  explicit Impl(GossipMemberOptions options) : options_(std::move(options)) {}
  ~Impl() override {
    static_cast<void>(leave(kLastWords));
    loop_.stop();
    thread_.join();
  }

  Status start();

  // --- The caller's thread.
  Result<GossipTurn> wait_turn(Duration limit);
  Status begin(std::span<const float> parameters);
  Result<GossipMix> finish(std::span<float> mixed);
  void publish(std::span<const float> parameters);
  Status leave(Duration limit);

  // --- Any thread.
  Result<Ticket> ticket(Duration valid_for);
  Result<std::string> join_code(const Ticket& ticket);
  Result<GossipStatus> status();
  const PeerId& self() const { return options_.identity.id(); }

 private:
  struct Box {
    GossipPhase phase = GossipPhase::kGathering;
    Round round;
    std::vector<float> fetched;
    std::optional<GossipMix> mix;
    std::vector<float> mixed;
    Status fatal;
    bool parted = true;
    bool closed = false;
  };

  // Runs `work` on the loop thread and hands over what follows from it.
  void submit(std::function<void()> work);
  GossipFacts facts() const WEFT_REQUIRES(loop_.thread()) {
    return {*core_, *gate_, *transport_, clock_};
  }
  template <class Answer>
  Result<Answer> ask(std::function<Result<Answer>()> question);

  // --- The loop thread.
  void settle() WEFT_REQUIRES(loop_.thread());
  void take(const GossipAction& action) WEFT_REQUIRES(loop_.thread());
  void take_gate(const GateAction& action) WEFT_REQUIRES(loop_.thread());
  void send(const GossipSend& send) WEFT_REQUIRES(loop_.thread());
  void close(const GossipClose& close) WEFT_REQUIRES(loop_.thread());
  void hand_over() WEFT_REQUIRES(loop_.thread());
  void arm_timer() WEFT_REQUIRES(loop_.thread());
  void on_timer() WEFT_REQUIRES(loop_.thread());
  void dial_sponsors() WEFT_REQUIRES(loop_.thread());
  void close_links() WEFT_REQUIRES(loop_.thread());
  void on_link_up(const LinkInfo& link) override;
  void on_link_down(const PeerId& peer, const Status& why) override;
  void on_frame(const PeerId& from, Lane lane, const FrameView& frame) override;
  void on_writable(const PeerId& /*peer*/, Lane /*lane*/) override {}

  GossipMemberOptions options_;
  const SystemClock clock_;
  EventLoop loop_;
  Guarded<Box> box_;
  bool left_ = false;  // the caller's

  std::unique_ptr<Transport> transport_ WEFT_GUARDED_BY(loop_.thread());
  std::unique_ptr<GossipCore> core_ WEFT_GUARDED_BY(loop_.thread());
  std::unique_ptr<MemberGate> gate_ WEFT_GUARDED_BY(loop_.thread());
  std::unique_ptr<RunPresence> presence_ WEFT_GUARDED_BY(loop_.thread());
  std::set<PeerId> linked_ WEFT_GUARDED_BY(loop_.thread());
  // Dials of the core: it handles their failures, but not links of strangers.
  std::set<PeerId> dialled_ WEFT_GUARDED_BY(loop_.thread());
  std::optional<TimePoint> redial_at_ WEFT_GUARDED_BY(loop_.thread());
  TimePoint give_up_at_ WEFT_GUARDED_BY(loop_.thread());
  TimePoint timer_at_ WEFT_GUARDED_BY(loop_.thread()) = TimePoint::max();
  TimerId timer_ WEFT_GUARDED_BY(loop_.thread());
  bool ending_ WEFT_GUARDED_BY(loop_.thread()) = false;

  Thread thread_;
};

Status GossipMember::Impl::start() {
  loop_.thread().assert_here();
  WEFT_TRY_ASSIGN(ListenOptions listen, parse_listen(options_.listen));
  listen.advertise = options_.advertise;
  listen.map_port = options_.map_port;
  WEFT_TRY_ASSIGN(transport_, make_tls_transport(loop_, options_.identity, listen));
  transport_->set_handler(*this);
  const std::vector<std::string> endpoints = record_endpoints(transport_->endpoints());
  GossipOptions& gossip = options_.gossip;
  gossip.signer = signer_of(options_.identity);
  gossip.endpoints = endpoints;
  gossip.incarnation = unix_time_us();
  gossip.newcomer = options_.ticket.has_value();
  MemberGateOptions gate;
  gate.self = self();
  gate.run = gossip.run;
  gate.recipe_text = options_.recipe_text;
  gate.recipe_hash = options_.recipe_hash;
  gate.layout_hash = options_.layout_hash;
  gate.invite = options_.invite;
  gate.allowed = options_.allowed;
  gate.ticket = options_.ticket;
  gate.incarnation = gossip.incarnation;
  gate.endpoints = endpoints;
  if (!options_.ticket) random_bytes(gate.key.emplace());
  gate_ = std::make_unique<MemberGate>(std::move(gate));
  core_ = std::make_unique<GossipCore>(gossip, loop_.now());
  PresenceOptions presence = options_.presence;
  presence.run = gossip.run;
  presence_ = make_presence(loop_, *transport_, facts(), options_.identity, std::move(presence));
  give_up_at_ = loop_.now() + options_.join_timeout;
  if (options_.ticket) redial_at_ = loop_.now();
  // Built here, entered by the loop thread alone.
  loop_.post([this]() WEFT_REQUIRES(loop_.thread()) { on_timer(); });
  thread_ = Thread([this] { loop_.run(); });
  return {};
}

// --- The caller's thread.

void GossipMember::Impl::submit(std::function<void()> work) {
  loop_.post([this, work = std::move(work)]() WEFT_REQUIRES(loop_.thread()) {
    work();
    settle();
  });
}

template <class Answer>
Result<Answer> GossipMember::Impl::ask(std::function<Result<Answer>()> question) {
  using Slot = Guarded<std::optional<Result<Answer>>>;
  const auto answer = std::make_shared<Slot>();
  submit([answer, question = std::move(question)] {
    Result<Answer> given = question();
    answer->with([&](auto& slot) { slot = std::move(given); });
  });
  const bool given = answer->wait_until(clock_.now() + kAnswerWait,
                                        [](const auto& slot) { return slot.has_value(); });
  if (!given) return timed_out("the network thread gives no answer");
  return answer->with([](auto& slot) { return *slot; });
}

Result<GossipTurn> GossipMember::Impl::wait_turn(Duration limit) {
  box_.wait_until(clock_.now() + limit, [](const Box& box) {
    return !box.fatal.ok() || box.phase == GossipPhase::kIdle || box.phase == GossipPhase::kOver;
  });
  return box_.with([](Box& box) -> Result<GossipTurn> {
    if (!box.fatal.ok()) return box.fatal;
    return GossipTurn{box.phase, box.round, std::exchange(box.fetched, {})};
  });
}

Status GossipMember::Impl::begin(std::span<const float> parameters) {
  const auto sent =
      std::make_shared<const std::vector<float>>(parameters.begin(), parameters.end());
  const ByteSpan view = as_bytes(std::span<const float>(*sent));
  if (!all_finite(view)) {
    return invalid_argument(
        "gossip: a parameter is not finite; take a lower learning rate, or clip gradients");
  }
  box_.with([](Box& box) {
    box.phase = GossipPhase::kOpen;
    box.mix.reset();
  });
  const SharedBytes bytes(sent, view);
  submit([this, bytes]() WEFT_REQUIRES(loop_.thread()) {
    const Status begun = core_->phase() == GossipPhase::kIdle
                             ? core_->begin(bytes, loop_.now())
                             : unavailable("gossip: this peer has left the run");
    if (!begun.ok()) box_.with([&](Box& box) { box.fatal = begun; });
  });
  return {};
}

Result<GossipMix> GossipMember::Impl::finish(std::span<float> mixed) {
  submit([this]() WEFT_REQUIRES(loop_.thread()) {
    if (core_->phase() == GossipPhase::kOpen) core_->await(loop_.now());
  });
  const Duration limit = options_.gossip.deadline + kStarved;
  const bool ended = box_.wait_until(
      clock_.now() + limit, [](const Box& box) { return box.mix.has_value() || !box.fatal.ok(); });
  if (!ended) return timed_out("the network thread gives no answer");
  return box_.with([&](Box& box) -> Result<GossipMix> {
    if (!box.fatal.ok()) return box.fatal;
    std::copy(box.mixed.begin(), box.mixed.end(), mixed.begin());
    return *std::exchange(box.mix, std::nullopt);
  });
}

void GossipMember::Impl::publish(std::span<const float> parameters) {
  const auto kept =
      std::make_shared<const std::vector<float>>(parameters.begin(), parameters.end());
  const SharedBytes bytes(kept, as_bytes(std::span<const float>(*kept)));
  submit([this, bytes]() WEFT_REQUIRES(loop_.thread()) { core_->publish(bytes); });
}

Status GossipMember::Impl::leave(Duration limit) {
  if (std::exchange(left_, true)) return {};
  const Duration parting = std::min<Duration>(options_.gossip.deadline, kPartingMax);
  box_.wait_until(clock_.now() + parting,
                  [](const Box& box) { return box.parted || !box.fatal.ok(); });
  submit([this]() WEFT_REQUIRES(loop_.thread()) {
    core_->leave(loop_.now());
    ending_ = true;
  });
  submit([this]() WEFT_REQUIRES(loop_.thread()) { close_links(); });
  const bool closed =
      box_.wait_until(clock_.now() + limit, [](const Box& box) { return box.closed; });
  return closed ? Status() : timed_out("leave: not all links have ended");
}

Result<Ticket> GossipMember::Impl::ticket(Duration valid_for) {
  return ask<Ticket>([this, valid_for]() WEFT_REQUIRES(loop_.thread()) {
    return gossip_ticket(facts(), valid_for);
  });
}

Result<std::string> GossipMember::Impl::join_code(const Ticket& ticket) {
  // Not on the loop thread, which others wait for.
  const IssuedJoinCode code = issue_join_code(options_.identity.public_key());
  return ask<std::string>([this, code, ticket]()
                              WEFT_REQUIRES(loop_.thread()) -> Result<std::string> {
                                if (!gossip_ticket_stands(facts(), ticket)) {
                                  return invalid_argument("code: the ticket is void");
                                }
                                WEFT_TRY(presence_->offer(code, ticket));
                                return format_join_code(code.code);
                              });
}

Result<GossipStatus> GossipMember::Impl::status() {
  return ask<GossipStatus>([this]() WEFT_REQUIRES(loop_.thread()) -> Result<GossipStatus> {
    GossipStatus status;
    status.phase = core_->phase();
    status.round = core_->round();
    status.members = core_->members_undoubted();
    status.counts = core_->counts();
    const TransportStats total = transport_->total_stats();
    status.bytes_sent = total.bytes_sent;
    status.bytes_received = total.bytes_received;
    for (const PeerId& peer : core_->book().live(core_->round())) {
      if (peer == self()) continue;
      const TransportStats of_peer = transport_->stats(peer);
      status.others.push_back({peer, linked_.contains(peer), core_->neighbours().contains(peer),
                               of_peer.rtt_seconds, of_peer.bytes_sent, of_peer.bytes_received});
    }
    return status;
  });
}

// --- The loop thread.

void GossipMember::Impl::settle() {
  for (bool again = true; again;) {
    for (const GateAction& action : gate_->take_actions()) take_gate(action);
    for (const PeerId& peer : gate_->take_admitted()) {
      linked_.insert(peer);
      core_->link_up(peer, loop_.now());
    }
    const std::vector<GossipAction> actions = core_->take_actions();
    for (const GossipAction& action : actions) take(action);
    again = !actions.empty();
  }
  if (const Status refused = gate_->refused(); !refused.ok()) {
    box_.with([&](Box& box) { box.fatal = refused; });
  }
  hand_over();
  arm_timer();
}

void GossipMember::Impl::send(const GossipSend& send) {
  const Status sent = transport_->send(send.to, send.lane, send.frame);
  // A link that has just ended, or is too slow for what it is given: its neighbour misses a round.
  if (!sent.ok()) log(LogLevel::kInfo, "gossip: {}: {}", send.to.short_name(), sent.message());
}

void GossipMember::Impl::close(const GossipClose& close) {
  log(LogLevel::kInfo, "gossip: ends the link to {}: {}", close.peer.short_name(),
      close.why.message());
  linked_.erase(close.peer);
  transport_->close(close.peer, close.why);
}

void GossipMember::Impl::take(const GossipAction& action) {
  if (const auto* const frame = std::get_if<GossipSend>(&action)) {
    send(*frame);
  } else if (const auto* const dial = std::get_if<GossipDial>(&action)) {
    dialled_.insert(dial->peer.id);
    transport_->connect(dial->peer);
  } else {
    close(std::get<GossipClose>(action));
  }
}

void GossipMember::Impl::take_gate(const GateAction& action) {
  if (const auto* const frame = std::get_if<GossipSend>(&action)) {
    send(*frame);
  } else if (const auto* const trust = std::get_if<GateTrust>(&action)) {
    transport_->set_trust(trust->peer, trust->trust);
  } else {
    close(std::get<GossipClose>(action));
  }
}

void GossipMember::Impl::hand_over() {
  std::vector<float> fetched;
  if (const auto vector = core_->take_fetched()) {
    fetched.resize(vector->head().elements);
    vector->copy_to(fetched);
  }
  std::optional<GossipMix> mix;
  std::vector<float> mixed;
  if (core_->phase() == GossipPhase::kOpen && core_->awaited() && core_->ready()) {
    mixed.resize(options_.gossip.elements);
    mix = core_->finish(mixed, loop_.now());
  }
  // Between begin() and its mix it is the caller's turn.
  const GossipPhase phase = core_->phase();
  const Round round = core_->round();
  const bool parted = core_->parted();
  if (phase == GossipPhase::kOpen) return;
  box_.with([&](Box& box) {
    if (!fetched.empty()) box.fetched = std::move(fetched);
    if (mix) {
      box.mix = mix;
      box.mixed = std::move(mixed);
    }
    box.phase = phase;
    box.round = round;
    box.parted = parted;
  });
  // A mix may have brought actions of its own.
  for (const GossipAction& action : core_->take_actions()) take(action);
}

void GossipMember::Impl::arm_timer() {
  std::optional<TimePoint> due = core_->next_deadline();
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

void GossipMember::Impl::on_timer() {
  const TimePoint now = loop_.now();
  gate_->tick(now);
  core_->tick(now);
  if (redial_at_ && *redial_at_ <= now) dial_sponsors();
  settle();
}

// Until it has been let in, and knows whom else to dial.
void GossipMember::Impl::dial_sponsors() {
  redial_at_.reset();
  if (core_->members() > 1) return;
  const TimePoint now = loop_.now();
  if (!gate_->key() && now >= give_up_at_) {
    box_.with([&](Box& box) {
      box.fatal = unavailable(fmt::format(
          "join: no member of the ticket let this peer in within {:.0f} s; a peer that still runs "
          "has a newer ticket",
          to_seconds(options_.join_timeout)));
    });
    return;
  }
  redial_at_ = now + kRedial;
  for (const PeerAddress& member : options_.ticket->members) {
    if (member.id != self() && !transport_->linked(member.id)) transport_->connect(member);
  }
}

void GossipMember::Impl::close_links() {
  const std::set<PeerId> linked = linked_;
  for (const PeerId& peer : linked) transport_->close(peer, unavailable("the peer has left"));
  if (linked.empty()) box_.with([](Box& box) { box.closed = true; });
}

void GossipMember::Impl::on_link_up(const LinkInfo& link) {
  loop_.thread().assert_here();
  if (ending_) return;
  gate_->link_up(link, loop_.now());
  settle();
}

void GossipMember::Impl::on_link_down(const PeerId& peer, const Status& why) {
  loop_.thread().assert_here();
  log(LogLevel::kDebug, "gossip: no link to {}: {}", peer.short_name(), why.message());
  gate_->link_down(peer);
  const bool was_linked = linked_.erase(peer) > 0;
  if (ending_) {
    if (linked_.empty()) box_.with([](Box& box) { box.closed = true; });
    return;
  }
  if (was_linked || dialled_.contains(peer)) core_->link_down(peer, loop_.now());
  dialled_.erase(peer);
  settle();
}

void GossipMember::Impl::on_frame(const PeerId& from, Lane /*lane*/, const FrameView& frame) {
  loop_.thread().assert_here();
  if (ending_) return;
  if (!gate_->receive(from, frame.type, frame.head, clock_.unix_time_s())) {
    // The frame may have been what admitted its link.
    settle();
    core_->receive(from, frame.type, frame.head,
                   SharedBytes(Bytes(frame.body.begin(), frame.body.end())), loop_.now());
  }
  settle();
}

// --- GossipMember.

GossipMember::GossipMember(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GossipMember::~GossipMember() = default;

Result<std::unique_ptr<GossipMember>> GossipMember::start(GossipMemberOptions options) {
  auto impl = std::make_unique<Impl>(std::move(options));
  WEFT_TRY(impl->start());
  return std::unique_ptr<GossipMember>(new GossipMember(std::move(impl)));
}

const PeerId& GossipMember::self() const { return impl_->self(); }
Result<GossipTurn> GossipMember::wait_turn(Duration limit) { return impl_->wait_turn(limit); }
Status GossipMember::begin(std::span<const float> parameters) { return impl_->begin(parameters); }
Result<GossipMix> GossipMember::finish(std::span<float> mixed) { return impl_->finish(mixed); }
void GossipMember::publish(std::span<const float> parameters) { impl_->publish(parameters); }
Status GossipMember::leave(Duration limit) { return impl_->leave(limit); }
Result<Ticket> GossipMember::ticket(Duration valid_for) { return impl_->ticket(valid_for); }
Result<std::string> GossipMember::join_code(const Ticket& ticket) {
  return impl_->join_code(ticket);
}
Result<GossipStatus> GossipMember::status() { return impl_->status(); }

}  // namespace weft
