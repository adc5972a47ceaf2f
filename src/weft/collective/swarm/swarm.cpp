// The training thread's part of Swarm, and what any thread may call.
#include "weft/collective/swarm/swarm.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "weft/collective/swarm/swarm_core_options.h"
#include "weft/collective/swarm/swarm_driver.h"
#include "weft/collective/swarm/swarm_presence.h"

namespace weft {

// After this long in finish() the network thread is asked whether it lives.
static constexpr Duration kFinishSlice = std::chrono::minutes(1);

static Rng random_rng() {
  std::uint64_t seed = 0;
  random_bytes({reinterpret_cast<std::uint8_t*>(&seed), sizeof seed});
  return Rng(seed);
}

Status Swarm::Impl::start(const Ticket* ticket) {
  loop_.thread().assert_here();
  training_.assert_here();
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
  // Built here, entered by the loop thread alone.
  submit([this, with = ticket == nullptr ? std::nullopt : std::optional(*ticket)]()
             WEFT_REQUIRES(loop_.thread()) { begin_part(with); });
  thread_ = Thread([this] { loop_.run(); });
  return {};
}

void Swarm::Impl::begin_part(const std::optional<Ticket>& ticket) {
  if (ticket) {
    core_->join(*ticket);
  } else {
    core_->found();
  }
  PresenceOptions presence = options_.presence;
  presence.run = options_.membership.run;
  presence_ = make_presence(loop_, *transport_, *core_, options_.identity, std::move(presence));
}

// --- The training thread.

void Swarm::Impl::submit(Command command) {
  const bool first = box_.with([&](Box& box) {
    box.commands.push_back(std::move(command));
    return !std::exchange(box.posted, true);
  });
  if (first) loop_.post([this]() WEFT_REQUIRES(loop_.thread()) { run_commands(); });
}

template <class Ready>
bool Swarm::Impl::wait(Duration limit, Ready&& ready) {
  const TimePoint begun = clock_.now();
  const bool is_ready = box_.wait_until(begun + limit, ready);
  box_.with([took = to_seconds(clock_.now() - begun)](Box& box) { box.wait_seconds += took; });
  return is_ready;
}

Result<Turn> Swarm::Impl::next() {
  training_.assert_here();
  sums_.reset();
  reports_.clear();
  lend_state(nullptr);
  if (begun_) return invalid_argument("next: the begun round was not finished");
  if (!requested_) {
    requested_ = true;
    submit([this]() WEFT_REQUIRES(loop_.thread()) { core_->request_turn(); });
  }
  if (!wait(options_.next_limit, [](const Box& box) { return box.turn.has_value(); })) {
    return Turn{};
  }
  requested_ = false;
  Result<Turn> turn = box_.with([](Box& box) { return *std::exchange(box.turn, std::nullopt); });
  if (turn.ok() && turn->kind != TurnKind::kApply) given_ = *turn;
  finished_ = finished_ || (turn.ok() && turn->kind == TurnKind::kFinished);
  return turn;
}

void Swarm::Impl::stand_in(StandIn stand_in) {
  training_.assert_here();
  submit([this, view = given_.view, round = given_.round, given = std::move(stand_in)]()
             WEFT_REQUIRES(loop_.thread()) mutable {
               core_->stand_in(view, round, std::move(given));
             });
}

Status Swarm::Impl::begin(const RoundPlan& plan) {
  training_.assert_here();
  if (begun_ || given_.kind != TurnKind::kTrain) {
    return invalid_argument("begin: there is no new turn to train");
  }
  begun_ = true;
  reported_ = false;
  asked_exchange_.reset();
  box_.with([](Box& box) {
    box.outcome.reset();
    box.early_sums.reset();
  });
  submit([this, view = given_.view, round = given_.round, plan]() WEFT_REQUIRES(loop_.thread()) {
    wanted_exchange_.reset();
    core_->begin(view, round, plan);
  });
  given_ = {};
  return {};
}

void Swarm::Impl::contribute(std::size_t exchange, std::int64_t offset,
                             std::span<const float> values) {
  submit([this, exchange, offset, values]()
             WEFT_REQUIRES(loop_.thread()) { core_->contribute(exchange, offset, values); });
}

Status Swarm::Impl::report(Bytes report) {
  training_.assert_here();
  if (!options_.reports) return invalid_argument("report: the rounds of this group have none");
  if (!begun_ || reported_) return invalid_argument("report: expected one for each begun round");
  if (report.size() > kReportBytesMax) {
    return invalid_argument(
        fmt::format("report: expected at most {} bytes, got {}", kReportBytesMax, report.size()));
  }
  reported_ = true;
  submit([this, report = std::move(report)]()
             WEFT_REQUIRES(loop_.thread()) mutable { core_->report(std::move(report)); });
  return {};
}

Result<bool> Swarm::Impl::early_sums(std::size_t exchange, std::span<float> sums, Duration limit) {
  training_.assert_here();
  if (!begun_) return invalid_argument("early_sums: expected a begun round");
  if (asked_exchange_ != exchange) {
    asked_exchange_ = exchange;
    box_.with([](Box& box) { box.early_sums.reset(); });
    submit([this, exchange]() WEFT_REQUIRES(loop_.thread()) { wanted_exchange_ = exchange; });
  }
  const auto is_here = [exchange](const Box& box) {
    return box.early_sums && box.early_sums->first == exchange;
  };
  if (!wait(limit, [&](const Box& box) { return is_here(box) || box.outcome; })) return false;
  asked_exchange_.reset();
  return box_.with([&](Box& box) -> Result<bool> {
    if (!is_here(box)) return aborted("early_sums: the round has ended");
    const std::vector<float> found = std::exchange(box.early_sums, std::nullopt)->second;
    if (found.size() != sums.size()) {
      return invalid_argument(
          fmt::format("early_sums: expected room for the {} elements of exchange {}, got {}",
                      found.size(), exchange, sums.size()));
    }
    std::ranges::copy(found, sums.begin());
    return true;
  });
}

bool Swarm::Impl::round_ended(Duration limit) {
  training_.assert_here();
  return !begun_ || wait(limit, [](const Box& box) { return box.outcome.has_value(); });
}

Result<std::span<const float>> Swarm::Impl::finish() {
  training_.assert_here();
  if (!begun_) return invalid_argument("finish: no round was begun");
  if (options_.reports && !reported_) {
    return invalid_argument("finish: expected report() before, without which the round never ends");
  }
  const auto ended = [](const Box& box) { return box.outcome.has_value(); };
  const bool limited = options_.finish_limit > Duration::zero();
  while (!wait(limited ? options_.finish_limit : kFinishSlice, ended)) {
    if (limited) {
      // The loop must let go of the inputs before the caller may touch them again.
      submit([this]() WEFT_REQUIRES(loop_.thread()) {
        core_->cancel_round(timed_out(core_->owed_text()));
      });
      if (!wait(kAnswerLimit, ended)) return internal_error("the network thread gives no answer");
      break;
    }
    WEFT_TRY(ask<bool>([](SwarmCore&) -> Result<bool> { return true; }, kFinishSlice));
  }
  begun_ = false;
  lend_state(nullptr);
  RoundOutcome outcome =
      box_.with([](Box& box) { return *std::exchange(box.outcome, std::nullopt); });
  WEFT_TRY(outcome.status);
  sums_ = std::move(outcome.values);
  reports_ = reports_of(outcome.reports);
  return std::as_const(*sums_).span();
}

void Swarm::Impl::applied(Round round, StateHash hash) {
  submit([this, round, hash = std::move(hash)]()
             WEFT_REQUIRES(loop_.thread()) mutable { core_->applied(round, std::move(hash)); });
}

void Swarm::Impl::publish_state(Round round, Bytes state) {
  training_.assert_here();
  state.insert(state.begin(), given_.state.span().begin(), given_.state.span().end());
  // The hashes take their time: neither a round nor the loop waits for them.
  hasher_ = Thread([this, round, state = std::move(state)]() mutable {
    submit([this, made = make_state_snapshot(round, std::move(state))]()
               WEFT_REQUIRES(loop_.thread()) { core_->publish_state(made); });
  });
}

void Swarm::Impl::lend_state(StateReader read) {
  if (lent_state_.take_back()) {
    submit([this]() WEFT_REQUIRES(loop_.thread()) { core_->lend_state(false); });
  }
  if (!read) return;
  lent_state_.lend(std::move(read));
  submit([this]() WEFT_REQUIRES(loop_.thread()) { core_->lend_state(true); });
}

Status Swarm::Impl::leave(Duration limit) {
  const TimePoint deadline = clock_.now() + limit;
  submit([this]() WEFT_REQUIRES(loop_.thread()) { core_->leave(); });
  const bool left = box_.wait_until(deadline, [](const Box& box) { return box.left; });
  submit([this]() WEFT_REQUIRES(loop_.thread()) { close_links(); });
  box_.wait_until(clock_.now() + kLinksCloseLimit, [](const Box& box) { return box.closed; });
  if (!left) return timed_out("leave: the others have not agreed in time");
  return {};
}

// --- Any thread.

Result<Ticket> Swarm::Impl::ticket(Duration valid_for) {
  return ask<Ticket>([valid_for](SwarmCore& core) -> Result<Ticket> {
    Ticket made = core.ticket(valid_for);
    if (made.members.empty()) return unavailable("this peer knows no member that others could ask");
    return made;
  });
}

Result<std::string> Swarm::Impl::join_code(const Ticket& ticket) {
  // Not on the loop thread, which others wait for.
  const IssuedJoinCode code = issue_join_code(options_.identity.public_key());
  const auto offer = [this, code, ticket](SwarmCore& core) -> Result<std::string> {
    loop_.thread().assert_here();
    if (!core.stands(ticket)) return invalid_argument("code: the ticket is void");
    WEFT_TRY(presence_->offer(code, ticket));
    return format_join_code(code.code);
  };
  return ask<std::string>(offer);
}

Result<SwarmStatus> Swarm::Impl::status() {
  WEFT_TRY_ASSIGN(SwarmStatus status, ask<SwarmStatus>([](SwarmCore& core) -> Result<SwarmStatus> {
                    return core.status();
                  }));
  status.wait_seconds = box_.with([](Box& box) { return box.wait_seconds; });
  return status;
}

void Swarm::Impl::begin_group(const ViewId& view, GroupCall call, GroupEnd ended) {
  submit([this, view, call = std::move(call), ended = std::move(ended)]()
             WEFT_REQUIRES(loop_.thread()) mutable {
               group_calls_[core_->begin_group(view, std::move(call))] = std::move(ended);
             });
}

std::vector<SwarmEvent> Swarm::Impl::take_events() {
  return box_.with([](Box& box) { return std::exchange(box.events, {}); });
}

// --- The facade.

Swarm::Swarm(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Swarm::~Swarm() = default;

Result<std::unique_ptr<Swarm>> Swarm::found(SwarmOptions options) {
  WEFT_TRY(check_settings(options, nullptr));
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
  WEFT_TRY(check_settings(options, &ticket));
  options.membership.run = ticket.run;
  auto impl = std::make_unique<Impl>(std::move(options));
  WEFT_TRY(impl->start(&ticket));
  return std::make_unique<Swarm>(std::move(impl));
}

Result<Turn> Swarm::next() { return impl_->next(); }
void Swarm::stand_in(StandIn stand_in) { impl_->stand_in(std::move(stand_in)); }
Status Swarm::begin(const RoundPlan& plan) { return impl_->begin(plan); }
void Swarm::contribute(std::size_t exchange, std::int64_t offset, std::span<const float> values) {
  impl_->contribute(exchange, offset, values);
}
Status Swarm::report(Bytes report) { return impl_->report(std::move(report)); }
std::span<const Bytes> Swarm::reports() const { return impl_->reports(); }
Result<bool> Swarm::early_sums(std::size_t exchange, std::span<float> sums, Duration limit) {
  return impl_->early_sums(exchange, sums, limit);
}
bool Swarm::round_ended(Duration limit) { return impl_->round_ended(limit); }
Result<std::span<const float>> Swarm::finish() { return impl_->finish(); }
void Swarm::applied(Round round, const StateHash& hash) { impl_->applied(round, hash); }
void Swarm::publish_state(Round round, Bytes state) {
  impl_->publish_state(round, std::move(state));
}
void Swarm::lend_state(StateReader read) { impl_->lend_state(std::move(read)); }
Status Swarm::leave(Duration limit) { return impl_->leave(limit); }
Result<Ticket> Swarm::ticket(Duration valid_for) { return impl_->ticket(valid_for); }
Result<std::string> Swarm::join_code(const Ticket& ticket) { return impl_->join_code(ticket); }
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
Result<ResidualState> Swarm::residual_state() {
  return impl_->ask<ResidualState>(
      [](SwarmCore& core) -> Result<ResidualState> { return core.residual_state(); });
}
Result<SwarmStatus> Swarm::status() { return impl_->status(); }
std::vector<SwarmEvent> Swarm::take_events() { return impl_->take_events(); }
const PeerId& Swarm::self() const { return impl_->self(); }
void Swarm::begin_group(const ViewId& view, GroupCall call, GroupEnd ended) {
  impl_->begin_group(view, std::move(call), std::move(ended));
}

}  // namespace weft
