// The driver of a SwarmCore: one loop thread, and a mailbox between it and the training thread.
#include "weft/collective/swarm.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "weft/base/thread.h"
#include "weft/collective/background_keep.h"
#include "weft/collective/event_box.h"
#include "weft/collective/record_file.h"
#include "weft/collective/state_file.h"
#include "weft/collective/swarm_core.h"
#include "weft/collective/swarm_core_options.h"
#include "weft/net/event_loop.h"
#include "weft/net/tls_transport.h"

namespace weft {

static constexpr std::size_t kEventsKeptMax = 4096;
// For what the loop does at once unless it has ended or is starved.
static constexpr Duration kAnswerLimit = std::chrono::seconds(2);
// After so long in finish() it is asked whether it lives.
static constexpr Duration kFinishSlice = std::chrono::minutes(1);
static constexpr Duration kCloseLimit = std::chrono::milliseconds(500);

static Result<std::unique_ptr<Transport>> make_transport(EventLoop& loop,
                                                         const SwarmOptions& options) {
  WEFT_TRY_ASSIGN(ListenOptions listen, parse_listen(options.listen));
  listen.advertise = options.advertise;
  listen.map_port = options.map_port;
  if (options.transport == "tls") return make_tls_transport(loop, options.identity, listen);
  if (options.transport == "tcp") return make_tcp_transport(loop, options.identity.id(), listen);
  return invalid_argument(
      fmt::format("transport: expected tls or tcp, got '{}'", options.transport));
}

static Rng random_rng() {
  std::uint64_t seed = 0;
  random_bytes({reinterpret_cast<std::uint8_t*>(&seed), sizeof seed});
  return Rng(seed);
}

// Between the threads everything goes through box_; the rest belongs to one of them.
class Swarm::Impl final : private TransportHandler {
 public:
  explicit Impl(SwarmOptions options) : options_(std::move(options)) {}
  ~Impl() override {
    // So that what was said last arrives, and the others see an end and no crash.
    if (finished_) static_cast<void>(leave(kCloseLimit));
    loop_.stop();
    thread_.join();
  }

  Status start(const Ticket* ticket);

  // --- The training thread.
  Result<Turn> next();
  void stand_in(StandIn stand_in);
  Status begin(std::int64_t elements);
  void contribute(std::int64_t offset, std::span<const float> values);
  bool round_ended(Duration limit);
  Result<std::span<const float>> finish();
  void applied(Round round, StateHash hash);
  void publish_state(Round round, Bytes state);
  Status leave(Duration limit);

  // --- Any thread.
  Result<Ticket> ticket(Duration valid_for);
  // What `question` says on the loop thread. Fails: kTimeout.
  template <class Answer>
  Result<Answer> ask(std::function<Result<Answer>(SwarmCore&)> question,
                     Duration limit = kAnswerLimit);
  Result<SwarmStatus> status();
  std::vector<SwarmEvent> take_events();
  const PeerId& self() const { return options_.identity.id(); }
  void begin_group(const ViewId& view, GroupCall call, GroupEnd ended);

 private:
  using Command = std::function<void()>;
  struct Box {
    std::vector<Command> commands;
    // A run of the commands is under way to the loop.
    bool posted = false;
    std::optional<Result<Turn>> turn;
    std::optional<RoundOutcome> outcome;
    std::vector<SwarmEvent> events;
    bool left = false;
    bool closed = false;
    double wait_seconds = 0;
  };

  void submit(Command command);
  // Waits until ready(box) holds and adds the time to the waits.
  template <class Ready>
  bool wait(Duration limit, Ready&& ready);

  // --- The loop thread.
  void run_commands();
  void deliver();
  void arm_timer();
  void close_links();
  void on_link_up(const LinkInfo& link) override;
  void on_link_down(const PeerId& peer, const Status& why) override;
  void on_frame(const PeerId& from, Lane lane, const FrameView& frame) override;
  void on_writable(const PeerId& peer, Lane lane) override;
  void on_refused(const std::string& remote_endpoint, const Status& why) override;
  void on_twin(const PeerId& peer, const std::string& remote_endpoint) override;
  MutableByteSpan body_destination(const PeerId& from, std::uint8_t type, ByteSpan head,
                                   std::size_t body_bytes) override;
  bool reads_body_once(std::uint8_t type) override {
    return type == frame_type::kSegment || type == frame_type::kGroupSegment;
  }

  const SwarmOptions options_;
  EventLoop loop_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<StateFile> state_file_;
  std::unique_ptr<BackgroundKeep> state_keep_;
  std::unique_ptr<RecordFile> record_file_;
  std::unique_ptr<SwarmCore> core_;
  std::unique_ptr<SwarmPresence> presence_;
  TimePoint timer_at_ = TimePoint::max();
  TimerId timer_;
  bool ended_ = false;
  std::map<std::uint64_t, GroupEnd> group_calls_;

  // The training thread's.
  bool requested_ = false;
  bool begun_ = false;
  bool finished_ = false;
  Turn given_;  // the latest that lends no sums
  std::shared_ptr<FloatBuffer> sums_;
  SystemClock clock_;

  Guarded<Box> box_;
  Thread thread_;
  Thread hasher_;
};

Status Swarm::Impl::start(const Ticket* ticket) {
  WEFT_TRY_ASSIGN(transport_, make_transport(loop_, options_));
  transport_->set_handler(*this);
  if (!options_.state_file.empty()) {
    state_file_ = std::make_unique<StateFile>(options_.state_file);
    state_keep_ = std::make_unique<BackgroundKeep>(*state_file_);
  }
  SwarmCoreOptions core = core_options(options_, transport_->endpoints());
  core.fetch.keep = state_keep_.get();
  if (!options_.record_file.empty()) {
    record_file_ = std::make_unique<RecordFile>(options_.record_file);
  }
  core.records = record_file_.get();
  core_ = std::make_unique<SwarmCore>(std::move(core), *transport_, loop_.clock(), random_rng());
  if (ticket != nullptr) {
    core_->join(*ticket);
  } else {
    core_->found();
  }
  PresenceOptions presence = options_.presence;
  presence.run = options_.membership.run;
  presence_ = make_presence(loop_, *transport_, *core_, options_.identity, std::move(presence));
  deliver();
  thread_ = Thread([this] { loop_.run(); });
  return {};
}

// --- The training thread.

void Swarm::Impl::submit(Command command) {
  const bool first = box_.with([&](Box& box) {
    box.commands.push_back(std::move(command));
    return !std::exchange(box.posted, true);
  });
  if (first) loop_.post([this] { run_commands(); });
}

template <class Ready>
bool Swarm::Impl::wait(Duration limit, Ready&& ready) {
  const TimePoint begun = clock_.now();
  const bool is_ready = box_.wait_until(begun + limit, ready);
  box_.with([took = to_seconds(clock_.now() - begun)](Box& box) { box.wait_seconds += took; });
  return is_ready;
}

Result<Turn> Swarm::Impl::next() {
  sums_.reset();
  if (begun_) return invalid_argument("next: the begun round was not finished");
  if (!requested_) {
    requested_ = true;
    submit([this] { core_->request_turn(); });
  }
  if (!wait(options_.next_limit, [](const Box& box) { return box.turn.has_value(); })) {
    return Turn{};
  }
  requested_ = false;
  Result<Turn> turn = box_.with([](Box& box) { return *std::exchange(box.turn, std::nullopt); });
  if (turn.ok() && turn->reduced.empty()) given_ = *turn;
  finished_ = finished_ || (turn.ok() && turn->kind == TurnKind::kFinished);
  return turn;
}

void Swarm::Impl::stand_in(StandIn stand_in) {
  submit([this, view = given_.view, round = given_.round, given = std::move(stand_in)]() mutable {
    core_->stand_in(view, round, std::move(given));
  });
}

Status Swarm::Impl::begin(std::int64_t elements) {
  if (begun_ || given_.kind != TurnKind::kTrain) {
    return invalid_argument("begin: there is no new turn to train");
  }
  begun_ = true;
  box_.with([](Box& box) { box.outcome.reset(); });
  submit([this, view = given_.view, round = given_.round, elements] {
    core_->begin(view, round, elements);
  });
  given_ = {};
  return {};
}

void Swarm::Impl::contribute(std::int64_t offset, std::span<const float> values) {
  submit([this, offset, values] { core_->contribute(offset, values); });
}

bool Swarm::Impl::round_ended(Duration limit) {
  return !begun_ || wait(limit, [](const Box& box) { return box.outcome.has_value(); });
}

Result<std::span<const float>> Swarm::Impl::finish() {
  if (!begun_) return invalid_argument("finish: no round was begun");
  const auto ended = [](const Box& box) { return box.outcome.has_value(); };
  const bool limited = options_.finish_limit > Duration::zero();
  while (!wait(limited ? options_.finish_limit : kFinishSlice, ended)) {
    if (limited) {
      // The loop must let go of the inputs before the caller may touch them again.
      submit([this] { core_->cancel_round(timed_out(core_->owed_text())); });
      if (!wait(kAnswerLimit, ended)) return internal_error("the network thread gives no answer");
      break;
    }
    WEFT_TRY(ask<bool>([](SwarmCore&) -> Result<bool> { return true; }, kFinishSlice));
  }
  begun_ = false;
  RoundOutcome outcome =
      box_.with([](Box& box) { return *std::exchange(box.outcome, std::nullopt); });
  WEFT_TRY(outcome.status);
  sums_ = std::move(outcome.values);
  return std::as_const(*sums_).span();
}

void Swarm::Impl::applied(Round round, StateHash hash) {
  submit(
      [this, round, hash = std::move(hash)]() mutable { core_->applied(round, std::move(hash)); });
}

void Swarm::Impl::publish_state(Round round, Bytes state) {
  state.insert(state.begin(), given_.state.span().begin(), given_.state.span().end());
  // The hashes take their time: neither a round nor the loop waits for them.
  hasher_ = Thread([this, round, state = std::move(state)]() mutable {
    submit([this, made = make_state_snapshot(round, std::move(state))] {
      core_->publish_state(made);
    });
  });
}

Status Swarm::Impl::leave(Duration limit) {
  const TimePoint deadline = clock_.now() + limit;
  submit([this] { core_->leave(); });
  const bool left = box_.wait_until(deadline, [](const Box& box) { return box.left; });
  submit([this] { close_links(); });
  box_.wait_until(clock_.now() + kCloseLimit, [](const Box& box) { return box.closed; });
  if (!left) return timed_out("leave: the others have not agreed in time");
  return {};
}

// --- Any thread.

// The answer lives as long as either side: the loop may give it after the wait has ended.
template <class Answer>
Result<Answer> Swarm::Impl::ask(std::function<Result<Answer>(SwarmCore&)> question,
                                Duration limit) {
  using Slot = Guarded<std::optional<Result<Answer>>>;
  const auto answer = std::make_shared<Slot>();
  submit([this, answer, question = std::move(question)] {
    Result<Answer> given = question(*core_);
    answer->with([&](auto& slot) { slot = std::move(given); });
  });
  const bool given =
      answer->wait_until(clock_.now() + limit, [](const auto& slot) { return slot.has_value(); });
  if (!given) return timed_out("the network thread gives no answer");
  return answer->with([](auto& slot) { return *slot; });
}

Result<Ticket> Swarm::Impl::ticket(Duration valid_for) {
  return ask<Ticket>([valid_for](SwarmCore& core) -> Result<Ticket> {
    Ticket made = core.ticket(valid_for);
    if (made.members.empty()) return unavailable("this peer knows no member that others could ask");
    return made;
  });
}

Result<SwarmStatus> Swarm::Impl::status() {
  WEFT_TRY_ASSIGN(SwarmStatus status, ask<SwarmStatus>([](SwarmCore& core) -> Result<SwarmStatus> {
                    return core.status();
                  }));
  status.wait_seconds = box_.with([](Box& box) { return box.wait_seconds; });
  return status;
}

void Swarm::Impl::begin_group(const ViewId& view, GroupCall call, GroupEnd ended) {
  submit([this, view, call = std::move(call), ended = std::move(ended)]() mutable {
    group_calls_[core_->begin_group(view, std::move(call))] = std::move(ended);
  });
}

std::vector<SwarmEvent> Swarm::Impl::take_events() {
  return box_.with([](Box& box) { return std::exchange(box.events, {}); });
}

// --- The loop thread.

void Swarm::Impl::run_commands() {
  const std::vector<Command> commands = box_.with([](Box& box) {
    box.posted = false;
    return std::exchange(box.commands, {});
  });
  for (const Command& command : commands) command();
  deliver();
}

void Swarm::Impl::deliver() {
  std::optional<RoundOutcome> outcome = core_->take_outcome();
  std::optional<Result<Turn>> turn = core_->take_turn();
  std::vector<SwarmEvent> events = core_->take_events();
  if (outcome || turn || !events.empty() || core_->left()) {
    box_.with([&](Box& box) {
      if (outcome) box.outcome = std::move(outcome);
      if (turn) box.turn = std::move(turn);
      for (SwarmEvent& event : events) {
        keep_event(box.events, std::move(event), kEventsKeptMax);
      }
      box.left = core_->left();
    });
  }
  for (const GroupOutcome& group : core_->take_group_outcomes()) {
    const auto call = group_calls_.extract(group.call);
    if (!call.empty()) call.mapped()(group);
  }
  arm_timer();
}

void Swarm::Impl::arm_timer() {
  // A timer that fires too early costs less than setting it anew after each frame.
  const TimePoint due = core_->next_deadline();
  if (ended_ || due >= timer_at_) return;
  loop_.cancel(timer_);
  timer_at_ = due;
  timer_ = loop_.call_at(due, [this] {
    timer_at_ = TimePoint::max();
    if (ended_) return;
    core_->on_timer();
    deliver();
  });
}

void Swarm::Impl::close_links() {
  ended_ = true;
  bool linked = false;
  for (const PeerId& peer : core_->partners()) {
    if (!transport_->linked(peer)) continue;
    linked = true;
    transport_->close(peer, unavailable("the peer has left"));
  }
  if (!linked) box_.with([](Box& box) { box.closed = true; });
}

void Swarm::Impl::on_link_up(const LinkInfo& link) {
  if (ended_) return;
  core_->on_link_up(link);
  deliver();
}

void Swarm::Impl::on_link_down(const PeerId& peer, const Status& why) {
  if (ended_) {
    const bool linked = std::ranges::any_of(
        core_->partners(), [&](const PeerId& other) { return transport_->linked(other); });
    if (!linked) box_.with([](Box& box) { box.closed = true; });
    return;
  }
  core_->on_link_down(peer, why);
  deliver();
}

void Swarm::Impl::on_frame(const PeerId& from, Lane lane, const FrameView& frame) {
  if (ended_) return;
  core_->on_frame(from, lane, frame);
  deliver();
}

void Swarm::Impl::on_writable(const PeerId& peer, Lane lane) {
  if (!ended_) core_->on_writable(peer, lane);
}

void Swarm::Impl::on_refused(const std::string& remote_endpoint, const Status& why) {
  if (ended_) return;
  core_->on_refused(remote_endpoint, why);
  deliver();
}

void Swarm::Impl::on_twin(const PeerId& peer, const std::string& remote_endpoint) {
  if (ended_) return;
  core_->on_twin(peer, remote_endpoint);
  deliver();
}

MutableByteSpan Swarm::Impl::body_destination(const PeerId& from, std::uint8_t type, ByteSpan head,
                                              std::size_t body_bytes) {
  if (ended_) return {};
  return core_->body_destination(from, type, head, body_bytes);
}

// --- The facade.

Swarm::Swarm(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Swarm::~Swarm() = default;

Result<std::unique_ptr<Swarm>> Swarm::found(SwarmOptions options) {
  MembershipOptions& membership = options.membership;
  if (membership.invitation_key == Hash256{}) random_bytes(membership.invitation_key);
  if (membership.run == RunId{}) {
    Hash256 nonce{};
    random_bytes(nonce);
    membership.run = make_run_id(membership.recipe_hash, nonce);
  }
  const PeerId self = options.identity.id();
  if (membership.invite == InviteMode::kAllowlist && membership.allowed.count(self) == 0) {
    return invalid_argument(
        "group.allow: expected the founder's own key among the others, which it needs to come back "
        "after it was lost: " +
        self.to_string());
  }
  auto impl = std::make_unique<Impl>(std::move(options));
  WEFT_TRY(impl->start(nullptr));
  return std::make_unique<Swarm>(std::move(impl));
}

Result<std::unique_ptr<Swarm>> Swarm::join(SwarmOptions options, const Ticket& ticket) {
  WEFT_TRY(check_expiry(ticket, SystemClock().unix_time_s()));
  options.membership.run = ticket.run;
  auto impl = std::make_unique<Impl>(std::move(options));
  WEFT_TRY(impl->start(&ticket));
  return std::make_unique<Swarm>(std::move(impl));
}

Result<Turn> Swarm::next() { return impl_->next(); }
void Swarm::stand_in(StandIn stand_in) { impl_->stand_in(std::move(stand_in)); }
Status Swarm::begin(std::int64_t elements) { return impl_->begin(elements); }
void Swarm::contribute(std::int64_t offset, std::span<const float> values) {
  impl_->contribute(offset, values);
}
bool Swarm::round_ended(Duration limit) { return impl_->round_ended(limit); }
Result<std::span<const float>> Swarm::finish() { return impl_->finish(); }
void Swarm::applied(Round round, const StateHash& hash) { impl_->applied(round, hash); }
void Swarm::publish_state(Round round, Bytes state) {
  impl_->publish_state(round, std::move(state));
}
Status Swarm::leave(Duration limit) { return impl_->leave(limit); }
Result<Ticket> Swarm::ticket(Duration valid_for) { return impl_->ticket(valid_for); }
Status Swarm::revoke(const InvitationId& invitation) {
  return impl_
      ->ask<std::string>([invitation](SwarmCore& core) -> Result<std::string> {
        WEFT_TRY(core.revoke(invitation));
        return std::string();
      })
      .status();
}
Result<std::string> Swarm::expel(const PeerId& peer, const std::string& reason) {
  return impl_->ask<std::string>(
      [peer, reason](SwarmCore& core) { return core.expel(peer, reason); });
}
Result<SwarmStatus> Swarm::status() { return impl_->status(); }
std::vector<SwarmEvent> Swarm::take_events() { return impl_->take_events(); }
const PeerId& Swarm::self() const { return impl_->self(); }
void Swarm::begin_group(const ViewId& view, GroupCall call, GroupEnd ended) {
  impl_->begin_group(view, std::move(call), std::move(ended));
}

}  // namespace weft
