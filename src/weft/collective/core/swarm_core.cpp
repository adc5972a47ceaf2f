#include "weft/collective/core/swarm_core.h"

#include <utility>

#include "weft/collective/parts/swarm_parts.h"
#include "weft/wire/fingerprint.h"

namespace weft {

SwarmCore::SwarmCore(SwarmCoreOptions options, Transport& transport, const Clock& clock, Rng rng)
    : parts_(std::make_unique<SwarmParts>(std::move(options), transport, clock, rng)) {}

SwarmCore::~SwarmCore() = default;

// --- Commands.

void SwarmCore::found() {
  const Round after = parts_->options.resume_round;
  parts_->start.found(after);
  parts_->trainer.take_state(after);
  parts_->membership.found(parts_->now());
  parts_->gathering.begin();
  parts_->ending.on_state();
  parts_->settle();
}

void SwarmCore::join(const Ticket& ticket) {
  parts_->start.join();
  parts_->taking.begin_wait();
  parts_->offer.hold(parts_->options.held_round);
  parts_->membership.join(ticket, parts_->now());
  parts_->settle();
}

void SwarmCore::request_turn() {
  parts_->trainer.request_turn();
  parts_->settle();
}

void SwarmCore::begin(const ViewId& view, Round round, const RoundPlan& plan) {
  if (!parts_->round.begin(view, round, plan)) return;
  parts_->settle();
}

void SwarmCore::contribute(std::size_t exchange, std::int64_t offset,
                           std::span<const float> values) {
  parts_->round.contribute(exchange, offset, values);
  parts_->settle();
}

void SwarmCore::report(Bytes report) {
  parts_->round.report(std::move(report));
  parts_->settle();
}

void SwarmCore::lend_state(bool lent) {
  parts_->trainer.lend(lent);
  parts_->settle();
}

void SwarmCore::stand_in(const ViewId& view, Round round, StandIn stand_in) {
  parts_->late.stand_in({view, round}, std::move(stand_in));
  parts_->settle();
}

void SwarmCore::cancel_round(const Status& why) {
  parts_->rounds.cancel(why, parts_->now());
  parts_->settle();
}

void SwarmCore::applied(Round round, StateHash hash) {
  parts_->trainer.applied(round, std::move(hash));
  parts_->settle();
}

void SwarmCore::publish_state(StateSnapshot snapshot) {
  parts_->giving.publish(std::move(snapshot));
  parts_->settle();
}

void SwarmCore::publish_state(Round round, Bytes state) {
  parts_->giving.publish(round, std::move(state));
  parts_->settle();
}

void SwarmCore::snapshot_missed() {
  parts_->giving.miss();
  parts_->settle();
}

std::uint64_t SwarmCore::begin_group(const ViewId& view, GroupCall call) {
  return parts_->group_calls.begin(view, std::move(call), parts_->now());
}

void SwarmCore::leave() {
  parts_->ending.leave();
  parts_->settle();
}

Status SwarmCore::revoke(const InvitationId& invitation) {
  Status status = parts_->membership.revoke(invitation, parts_->now());
  parts_->settle();
  return status;
}

Result<std::string> SwarmCore::expel(const PeerId& peer, const std::string& reason) {
  Result<std::string> outcome = parts_->membership.expel(peer, reason, parts_->now());
  parts_->settle();
  return outcome;
}

// --- Events.

void SwarmCore::on_link_up(const LinkInfo& link) {
  parts_->transport.on_link_up(link);
  parts_->settle();
}

void SwarmCore::on_link_down(const PeerId& peer, const Status& why) {
  parts_->transport.on_link_down(peer, why);
  parts_->settle();
}

void SwarmCore::on_frame(const PeerId& from, Lane lane, const FrameView& frame) {
  parts_->transport.on_frame(from, lane, frame);
  parts_->settle();
}

void SwarmCore::on_writable(const PeerId& peer, Lane lane) {
  parts_->transport.on_writable(peer, lane);
}

void SwarmCore::on_refused(const std::string& remote_endpoint, const Status& why) {
  parts_->transport.on_refused(remote_endpoint, why);
}

void SwarmCore::on_twin(const PeerId& peer, const std::string& remote_endpoint) {
  parts_->transport.on_twin(peer, remote_endpoint);
  parts_->settle();
}

MutableByteSpan SwarmCore::body_destination(const PeerId& from, std::uint8_t type, ByteSpan head,
                                            std::size_t body_bytes) {
  return parts_->transport.body_destination(from, type, head, body_bytes);
}

void SwarmCore::on_timer() {
  parts_->on_timer();
  parts_->settle();
}

TimePoint SwarmCore::next_deadline() const { return parts_->next_deadline(); }

// --- Outcomes.

std::optional<Result<Turn>> SwarmCore::take_turn() { return parts_->trainer.take_turn(); }

std::optional<RoundOutcome> SwarmCore::take_outcome() { return parts_->round.take_outcome(); }

std::optional<std::span<const float>> SwarmCore::early_sums(std::size_t exchange) const {
  return parts_->round.early_sums(exchange);
}

std::optional<Turn> SwarmCore::take_snapshot_order() {
  return parts_->trainer.take_snapshot_order();
}

std::vector<SwarmEvent> SwarmCore::take_events() { return parts_->news.take(); }

std::vector<GroupOutcome> SwarmCore::take_group_outcomes() {
  return parts_->group_calls.take_outcomes();
}

// --- Queries.

bool SwarmCore::left() const { return parts_->ending.left(); }

Round SwarmCore::trainer_round() const { return parts_->trainer.round(); }

Round SwarmCore::committed() const { return parts_->rounds.committed(); }

const View& SwarmCore::view() const { return parts_->view(); }

const LinkRates& SwarmCore::link_rates() const { return parts_->link_rates; }

ParkingStats SwarmCore::parking() const { return parts_->transport.parking_stats(); }

MembershipState SwarmCore::state() const { return parts_->membership.state(); }

std::set<PeerId> SwarmCore::partners() const { return parts_->partners(); }

std::string SwarmCore::owed_text() const { return parts_->waits.owed_text(); }

SwarmStatus SwarmCore::status() const { return parts_->status(); }

ResidualState SwarmCore::residual_state() const { return parts_->rounds.residual_state(); }

Ticket SwarmCore::ticket(Duration valid_for) { return parts_->ticket(valid_for); }

bool SwarmCore::stands(const Ticket& ticket) const {
  return parts_->membership.stands(ticket, parts_->clock.unix_time_s());
}

const Hash256& SwarmCore::recipe_hash() const { return parts_->options.membership.recipe_hash; }

VoterRecord SwarmCore::record() const { return parts_->membership.record(); }

Hash128 SwarmCore::fingerprint() const {
  Fingerprint out;
  parts_->fingerprint(out);
  return out.finish();
}

}  // namespace weft
