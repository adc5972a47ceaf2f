// The public face of a membership: each call sets the time, goes to a part, and settles.
#include <algorithm>
#include <chrono>
#include <utility>

#include "weft/peer/parts/membership_core.h"

namespace weft {
Membership::Membership(MembershipOptions options, MembershipSink& sink, Rng rng)
    : core_(std::make_unique<Core>(std::move(options), sink, rng)) {}

Membership::Membership(std::unique_ptr<Core> core) : core_(std::move(core)) {}

Membership::~Membership() = default;

void Membership::found(TimePoint now) {
  core_->now = now;
  core_->found();
  core_->settle();
}

void Membership::join(const Ticket& ticket, TimePoint now) {
  core_->now = now;
  core_->joining.join(ticket);
}

void Membership::caught_up(Round round, TimePoint now) {
  core_->now = now;
  core_->joining.caught_up(round);
}

void Membership::suspect(const PeerId& peer, const std::string& reason, TimePoint now) {
  core_->now = now;
  core_->watch.set_suspicion(peer, SuspicionKind::kCollective, reason);
  core_->settle();
}

void Membership::overdue(const PeerId& peer, const std::string& reason, TimePoint now) {
  core_->now = now;
  core_->watch.set_suspicion(peer, SuspicionKind::kComputing, reason);
  core_->settle();
}

void Membership::set_share_halvings(std::uint8_t halvings) {
  core_->options.share_halvings = halvings;
}

void Membership::reorder(TimePoint now) {
  core_->now = now;
  if (core_->state != MembershipState::kMember || core_->balloting.frozen() ||
      core_->view.yields_to)
    return;
  core_->balloting.demand_change();
  core_->stirred = true;
  core_->settle();
}

void Membership::admit(TimePoint now) {
  if (core_->newcomers.has_ready_joiner()) reorder(now);
}

bool Membership::newcomer_ready() const { return core_->newcomers.has_ready_joiner(); }

void Membership::offer_state(const Hash256& snapshot, TimePoint now) {
  core_->now = now;
  core_->meetings.offer_state(snapshot);
  core_->settle();
}

void Membership::merge_ready(const Hash256& snapshot, TimePoint now) {
  core_->now = now;
  core_->meetings.merge_ready(snapshot);
  core_->settle();
}

void Membership::drop_out(const std::string& reason, TimePoint now) {
  core_->now = now;
  if (core_->active()) core_->be_removed(reason);
}

void Membership::run_over(Round round, TimePoint serves_until, TimePoint now) {
  core_->now = now;
  if (core_->active()) core_->ending.run_over(round, serves_until);
}

void Membership::stop_serving(TimePoint now) {
  core_->now = now;
  core_->ending.stop_serving();
}

bool Membership::awaits_newcomers(TimePoint now) const {
  core_->now = now;
  return core_->ending.awaits_newcomers();
}

void Membership::leave(TimePoint now) {
  core_->now = now;
  core_->leave();
  core_->stirred = true;
  core_->settle();
}

void Membership::on_link_up(const LinkInfo& link, TimePoint now) {
  core_->now = now;
  core_->on_link_up(link);
  core_->settle();
}

void Membership::on_link_down(const PeerId& peer, const Status& why, TimePoint now) {
  core_->now = now;
  core_->on_link_down(peer, why);
  core_->settle();
}

void Membership::on_twin(const PeerId& peer, const std::string& where, TimePoint now) {
  core_->now = now;
  core_->links.on_twin(peer, where);
}

void Membership::on_frame(const PeerId& from, const FrameView& frame, TimePoint now) {
  core_->now = now;
  if (!core_->links.may_speak(from, frame)) return;
  core_->on_sign_of_life(from);
  if (const Status status = core_->dispatch(from, frame); !status.ok()) {
    core_->judgement.blame(from, Offence::kMalformed, status.message());
    core_->sink.close(from, status);
  }
  core_->settle();
}

void Membership::on_sign_of_life(const PeerId& from, TimePoint now) {
  core_->now = now;
  core_->on_sign_of_life(from);
}

void Membership::on_timer(TimePoint now) {
  core_->now = now;
  core_->on_timer();
  core_->settle();
}

TimePoint Membership::next_deadline() const { return core_->next_deadline(); }

MembershipState Membership::state() const { return core_->state; }

const View& Membership::view() const { return core_->view; }

bool Membership::frozen() const { return core_->balloting.frozen(); }

PeerRole Membership::role(const PeerId& peer) const { return core_->role(peer); }

std::vector<MemberHealth> Membership::health(TimePoint now) const {
  std::vector<MemberHealth> all;
  for (const auto& [peer, member] : core_->watch.all()) {
    all.push_back({peer, member.linked,
                   core_->watch.reporters(member) > 0 || member.gone.has_value(),
                   member.detector.silent_for(now)});
  }
  return all;
}

Ticket Membership::ticket(std::int64_t now_unix_s, Duration valid_for,
                          const InvitationId& invitation) const {
  Ticket ticket;
  ticket.run = core_->options.run;
  ticket.invitation = invitation;
  const std::int64_t valid_s = std::chrono::duration_cast<std::chrono::seconds>(valid_for).count();
  ticket.expiry_unix_s = std::min(now_unix_s + valid_s, kTicketExpiryMax);
  if (core_->keys.has_key()) {
    ticket.secret = invitation_secret(core_->options.invitation_key, ticket.run, invitation,
                                      ticket.expiry_unix_s);
  } else if (core_->joining.attempt()) {
    // A newcomer has no key yet: what it came by is what it can hand on.
    const Ticket& own = core_->joining.attempt()->ticket;
    ticket.invitation = own.invitation;
    ticket.expiry_unix_s = own.expiry_unix_s;
    ticket.secret = own.secret;
  }
  ticket.recipe = recipe_check(ticket.run, ticket.invitation, core_->options.recipe_hash);
  const std::size_t most = kTicketAddressesMax;
  if (core_->active() && !core_->options.endpoints.empty()) {
    ticket.members.push_back({core_->options.self, core_->options.endpoints});
  }
  // In an absorbed branch the members of the other one must be asked.
  for (const PeerAddress& member : core_->former.refuge()) {
    if (ticket.members.size() < most && member.id != core_->options.self) {
      ticket.members.push_back(member);
    }
  }
  if (!core_->former.refuge().empty()) return ticket;
  for (const Member& member : core_->view.members) {
    if (ticket.members.size() >= most) break;
    if (member.id == core_->options.self || member.endpoints.empty()) continue;
    ticket.members.push_back({member.id, member.endpoints});
  }
  return ticket;
}

bool Membership::stands(const Ticket& ticket, std::int64_t now_unix_s) const {
  if (!core_->keys.has_key() || ticket.run != core_->options.run) return false;
  if (now_unix_s >= ticket.expiry_unix_s) return false;
  if (core_->bans.revocations().revoked(ticket.invitation)) return false;
  return equal_constant_time(invitation_secret(core_->options.invitation_key, ticket.run,
                                               ticket.invitation, ticket.expiry_unix_s),
                             ticket.secret);
}

void Membership::gather(bool on) { core_->newcomers.gather(on); }

bool Membership::queued() const {
  return core_->joining.attempt() && core_->joining.attempt()->queued;
}

bool Membership::admits_frame(const PeerId& from, const FrameView& frame, TimePoint now) {
  core_->now = now;
  return core_->links.may_speak(from, frame) && core_->links.trust_of(from) != LinkTrust::kStranger;
}

Status Membership::revoke(const InvitationId& invitation, TimePoint now) {
  core_->now = now;
  Status status = core_->bans.revoke(invitation);
  core_->settle();
  return status;
}

Result<std::string> Membership::expel(const PeerId& peer, const std::string& reason,
                                      TimePoint now) {
  core_->now = now;
  Result<std::string> outcome = core_->judgement.expel(peer, reason);
  core_->settle();
  return outcome;
}

void Membership::blame(const PeerId& peer, Offence offence, const std::string& evidence,
                       TimePoint now) {
  core_->now = now;
  core_->judgement.blame(peer, offence, evidence);
  core_->settle();
}

VoterRecord Membership::record() const { return core_->records.record(); }

void Membership::end_record() {
  core_->records.end();
  core_->records.keep_record(false);
}

void Membership::set_history(const std::vector<PastRun>& history, TimePoint now) {
  core_->now = now;
  if (history.empty() || history.front().run != core_->options.run) return;
  std::vector<EarlierRun> earlier;
  for (std::size_t i = 1; i < history.size() && earlier.size() + 1 < kPastRunsMax; ++i) {
    const PastRun& past = history[i];
    EarlierRun& run = earlier.emplace_back();
    run = {past.run, {}, past.generation, past.until};
    for (const EarlierRun& known : core_->records.earlier()) {
      if (known.run == past.run) run.key = known.key;
    }
  }
  core_->records.set_history(history.front().generation, std::move(earlier));
  core_->records.keep_record(false);
}

}  // namespace weft
