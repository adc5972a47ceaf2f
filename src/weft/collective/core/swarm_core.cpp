#include "weft/collective/core/swarm_core.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "weft/collective/core/event_box.h"
#include "weft/wire/frame_type.h"

namespace weft {

static constexpr std::size_t kEventsMax = 4096;
// A joiner that is told of no newer round for so long takes itself to be up to date.
static constexpr Duration kCaughtUpWait = std::chrono::milliseconds(100);

// Segments and line as in rounds; precision is the caller's choice.
static GroupCoreOptions group_options(const RoundCoreOptions& rounds) {
  GroupCoreOptions options;
  options.self = rounds.self;
  options.collective.segment_bytes = rounds.all_reduce.segment_bytes;
  options.collective.bucket_bytes = rounds.all_reduce.bucket_bytes;
  options.collective.direct_bytes_max = rounds.all_reduce.direct_bytes_max;
  options.collective.queue_bytes_max = rounds.all_reduce.queue_bytes_max;
  options.collective.link = rounds.all_reduce.link;
  return options;
}

static LinkRatesOptions link_options(const SwarmCoreOptions& options) {
  LinkRatesOptions links = options.links;
  links.self = options.membership.self;
  return links;
}

SwarmCore::SwarmCore(SwarmCoreOptions options, Transport& transport, const Clock& clock, Rng rng)
    : options_(std::move(options)),
      transport_(transport),
      clock_(clock),
      rng_(rng),
      log_(options_.result_log_bytes_max),
      server_({}, log_, *this),
      fetch_(options_.fetch, *this),
      rounds_(options_.rounds, *this),
      group_(group_options(options_.rounds), *this),
      link_rates_(link_options(options_), *this),
      comparison_(options_.membership.self),
      membership_(options_.membership, *this, Rng(rng_.next_u64())),
      start_members_(options_.start_members),
      merge_states_(options_.fetch, *this),
      waits_{.times = {options_.compute_timeout, options_.compute_timeout_first}} {}

SwarmCore::~SwarmCore() = default;

// --- Commands.

void SwarmCore::found() {
  founder_ = true;
  has_state_ = true;
  trainer_round_ = options_.resume_round;
  start_round_ = options_.resume_round;
  started_ = now();
  membership_.found(now());
  begin_gathering();
  reach_end();
  settle();
}

void SwarmCore::join(const Ticket& ticket) {
  started_ = now();
  sync_started_ = now();
  held_round_ = options_.held_round;
  membership_.join(ticket, now());
  settle();
}

void SwarmCore::applied(Round round, StateHash hash) {
  trainer_round_ = round;
  rejoins_ = 0;
  state_hash_ = hash.total;
  if (is_member()) comparison_.own(round, std::move(hash));
  reach_end();
  settle();
}

std::uint64_t SwarmCore::begin_group(const ViewId& view, GroupCall call) {
  return group_.begin(view, std::move(call), now());
}

void SwarmCore::leave() {
  late_.given = {};
  if (has_state_ && at_end()) membership_.end_record();
  rounds_.cancel(aborted("this peer leaves"), now());
  leaving_ = true;
  if (at_end()) membership_.stop_serving(now());
  const bool alone = view().size() <= 1 || !is_member();
  if (alone || others_finished()) {
    left_ = true;
  } else {
    membership_.leave(now());
  }
  settle();
}

// --- Events of the transport.

void SwarmCore::on_link_up(const LinkInfo& link) {
  untold_links_.insert_or_assign(link.peer, link);
  membership_.on_link_up(link, now());
  rounds_.on_link_up(link.peer);
  group_.on_link_up(link.peer);
  if (has_state_ && at_end()) tell_finished(link.peer);
  settle();
}

void SwarmCore::on_link_down(const PeerId& peer, const Status& why) {
  untold_links_.erase(peer);
  rounds_.on_link_down(peer);
  group_.on_link_down(peer);
  server_.on_link_down(peer);
  fetch_.on_link_down(peer, now());
  merge_states_.on_link_down(peer, now());
  membership_.on_link_down(peer, why, now());
  settle();
}

void SwarmCore::on_frame(const PeerId& from, Lane lane, const FrameView& frame) {
  if (is_membership_frame(frame.type)) {
    membership_.on_frame(from, frame, now());
    return settle();
  }
  if (!membership_.hears(from, frame, now())) return settle();
  if (lane == Lane::kBulk && frame.type != frame_type::kProbe) {
    link_rates_.on_traffic(from, frame.body.size(), now());
  }
  note_received(frame.type, frame.body.size());
  Status status;
  if (frame.type <= frame_type::kLastCollectiveType) {
    status = on_collective_frame(from, frame);
  } else {
    status = on_state_frame(from, frame);
  }
  if (!status.ok()) {
    const bool state = frame.type == frame_type::kBlock || frame.type == frame_type::kResult;
    membership_.blame(from, state ? Offence::kWrongHash : Offence::kMalformed, status.message(),
                      now());
    closing_.emplace_back(from, status);
  }
  settle();
}

Status SwarmCore::on_collective_frame(const PeerId& from, const FrameView& frame) {
  // A member of a view that we have not heard of yet says Ready perhaps; it may be unknown here.
  const bool from_member = is_member() && view().contains(from);
  const bool ready = frame.type == frame_type::kReady || frame.type == frame_type::kGroupReady;
  const bool served = frame.type == frame_type::kFinished && joiners_.contains(from);
  if (!from_member && !ready && !served) return {};
  membership_.heard(from, now());
  if (frame.type >= frame_type::kGroupSegment && frame.type <= frame_type::kLastGroupType) {
    return group_.on_frame(from, frame);
  }
  if (frame.type == frame_type::kReport) return rounds_.on_frame(from, frame, now());
  if (frame.type > frame_type::kLastGroupType) return link_rates_.on_frame(from, frame, now());
  switch (frame.type) {
    case frame_type::kFinished: {
      WEFT_TRY_ASSIGN(const FinishedMessage message, FinishedMessage::decode(frame.head));
      if (message.round != options_.last_round) return corrupt("finished: another last round");
      on_finished(from);
      return {};
    }
    case frame_type::kStateHash: {
      WEFT_TRY_ASSIGN(const StateHashMessage message, StateHashMessage::decode(frame.head));
      comparison_.theirs(from, message);
      return {};
    }
    default:
      return rounds_.on_frame(from, frame, now());
  }
}

void SwarmCore::on_writable(const PeerId& peer, Lane lane) {
  if (lane != Lane::kBulk) return;
  rounds_.on_writable(peer);
  group_.on_writable(peer);
  server_.on_writable(peer, now());
}

MutableByteSpan SwarmCore::body_destination(const PeerId& from, std::uint8_t type, ByteSpan head,
                                            std::size_t body_bytes) {
  if (type == frame_type::kSegment) return rounds_.body_destination(from, head, body_bytes);
  if (type == frame_type::kGroupSegment) return group_.body_destination(from, head, body_bytes);
  // Blocks and results may be asked of another member while they are under way from a slow one, so
  // that no place is any one sender's: they are copied once they are whole.
  return {};
}

void SwarmCore::on_timer() {
  membership_.on_timer(now());
  rounds_.on_timer(now());
  group_.on_timer(now());
  fetch_.on_timer(now());
  merge_states_.on_timer(now());
  link_rates_.on_timer(now());
  settle();
}

TimePoint SwarmCore::next_deadline() const {
  TimePoint next = std::min({membership_.next_deadline(), rounds_.next_deadline(),
                             group_.next_deadline(), fetch_.next_deadline(),
                             link_rates_.next_deadline(), merge_states_.next_deadline()});
  if (now() < refetch_at_) next = std::min(next, refetch_at_);
  if (fetching_ == Fetching::kResults && is_member()) next = std::min(next, fetch_retry_at_);
  if (fetching_ == Fetching::kResults && now() < results_since_ + kCaughtUpWait) {
    next = std::min(next, results_since_ + kCaughtUpWait);
  }
  next = std::min({next, late_.due, server_.next_deadline(now())});
  if (joiners_.empty() && published_) next = std::min(next, server_.unused_at());
  if (adopting_) next = std::min(next, adopt_until_);
  if (gathering_ && !adopting_)
    next = std::min({next, gathering_told_at_, started_ + options_.start_timeout});
  if (requested_) {
    // What only time decides: the start without all members, the end without all Finished.
    if (trainer_round_ == start_round_ && started_ + options_.start_timeout > now()) {
      next = std::min(next, started_ + options_.start_timeout);
    }
    if (finished_at_ != TimePoint::max())
      next = std::min(next, now() + options_.finish_timeout / 20);
  }
  return next;
}

// --- The transport for the parts.

void SwarmCore::send(const PeerId& to, Frame frame) { send(to, Lane::kControl, std::move(frame)); }

void SwarmCore::send(const PeerId& to, Lane lane, Frame frame) {
  if (lane == Lane::kBulk && frame.type != frame_type::kProbe)
    link_rates_.on_sent(frame.body.size());
  note_sent(frame.type, frame.body.size());
  // A frame that cannot be sent is lost with its link; the link's next life asks again.
  const Status status = transport_.send(to, lane, std::move(frame));
  if (status.code() == Code::kInvalidArgument) fail(internal_error(status.message()));
}

std::size_t SwarmCore::queued_bytes(const PeerId& to) const {
  return transport_.queued_bytes(to, Lane::kBulk);
}

void SwarmCore::connect(const PeerAddress& peer) { transport_.connect(peer); }

void SwarmCore::close(const PeerId& peer, const Status& why) { closing_.emplace_back(peer, why); }

void SwarmCore::set_trust(const PeerId& peer, LinkTrust trust) {
  transport_.set_trust(peer, trust);
  const auto untold = untold_links_.find(peer);
  if (trust != LinkTrust::kProved || untold == untold_links_.end()) return;
  const LinkInfo link = std::move(untold->second);
  untold_links_.erase(untold);
  SwarmEvent& up = event(SwarmEventKind::kLinkUp, link.why);
  up.peer = link.peer;
  up.link = {std::string(to_string(link.path)), link.via, link.remote_endpoint, link.inbound};
}

// --- What an event has caused.

void SwarmCore::settle() {
  settle_outcome();
  settle_late();
  settle_stalls();
  settle_waits();
  settle_comparison();
  settle_branches();
  settle_membership();
  settle_links();
  settle_gathering();
  settle_fetch();
  settle_serving();
  const bool unwanted = !publishing_ && !server_.wanted() && !view().yields_to;
  if (joiners_.empty() && published_ && unwanted) {
    server_.forget_unused(now());
    if (!server_.newest_snapshot()) published_.reset();
  }
}

void SwarmCore::settle_stalls() {
  for (const Stall& stall : rounds_.take_stalls()) {
    const std::string name = stall.peer.short_name();
    SwarmEvent& stalled = event(SwarmEventKind::kStalled, {});
    stalled.peer = stall.peer;
    stalled.round = stall.round;
    stalled.seconds = to_seconds(stall.waited);
    switch (stall.kind) {
      case StallKind::kStuck:
        stalled.text = fmt::format("round {}: the data of peer {} does not come; link renewed",
                                   stall.round.value(), name);
        closing_.emplace_back(stall.peer, timed_out(stalled.text));
        break;
      case StallKind::kSilent:
        stalled.text = fmt::format("round {}: peer {} gave no answer for {:.1f} s",
                                   stall.round.value(), name, stalled.seconds);
        suspects_.emplace_back(stall.peer, stalled.text);
        break;
      case StallKind::kDiffers:
        stalled.text =
            fmt::format("round {}: the vector or the sums of peer {} differ from this member's",
                        stall.round.value(), name);
        suspects_.emplace_back(stall.peer, stalled.text);
        break;
    }
  }
}

void SwarmCore::settle_comparison() {
  for (StateHashOut& out : comparison_.take_messages()) {
    send(out.to, {frame_type::kStateHash, out.message.encode(), {}});
  }
  for (const StateDifference& difference : comparison_.take_differences()) {
    SwarmEvent& mismatch = event(SwarmEventKind::kStateMismatch, difference.text);
    mismatch.peer = difference.peer;
    mismatch.round = difference.round;
    if (difference.peer_is_wrong) {
      suspects_.emplace_back(difference.peer, difference.text);
      // Once: a bit that flipped in memory differs in every round until that member is gone.
      if (mismatched_.insert(difference.peer).second) {
        membership_.blame(difference.peer, Offence::kWrongHash, difference.text, now());
      }
    }
    if (difference.self_is_wrong) fail(corrupt(difference.text));
  }
}

void SwarmCore::settle_membership() {
  for (const auto& [peer, reason] : std::exchange(suspects_, {})) {
    membership_.suspect(peer, reason, now());
  }
  for (const auto& [peer, reason] : std::exchange(overdue_, {})) {
    membership_.overdue(peer, reason, now());
  }
  for (const auto& [peer, why] : std::exchange(closing_, {})) transport_.close(peer, why);
  if (!foreign_.empty()) membership_.drop_out(std::exchange(foreign_, {}), now());
  // Not while the training side computes: it could neither take the state nor go on.
  if (rejoin_ && requested_) {
    rejoin_ = false;
    ++rejoins_;
    // How far the others are is not known, nor whether they keep all results since.
    has_state_ = false;
    fetching_ = Fetching::kNothing;
    sync_started_ = now();
    membership_.join(ticket(std::chrono::hours(1)), now());
  }
  if (membership_.state() != MembershipState::kSyncing || !has_state_ || at_end()) return;
  const Round newest = std::max(fetch_.newest_known(), sync_view_.base_round);
  // No answer yet may mean that nothing was committed since the snapshot, or that it is slow.
  const bool told = newest > trainer_round_ || now() >= results_since_ + kCaughtUpWait;
  const bool caught_up = told && trainer_round_.next() >= newest;
  if (caught_up && (!admission_asked_ || *admission_asked_ < trainer_round_)) {
    admission_asked_ = trainer_round_;
    event(SwarmEventKind::kCaughtUp,
          fmt::format("caught up with the group at round {}", trainer_round_.value()))
        .round = trainer_round_;
    membership_.caught_up(trainer_round_, now());
  }
}

void SwarmCore::fail(Status why) {
  if (failure_.ok()) failure_ = std::move(why);
  // The training side learns the reason from its next turn.
  rounds_.cancel(aborted(failure_.message()), now());
}

SwarmEvent& SwarmCore::event(SwarmEventKind kind, std::string text) {
  SwarmEvent made;
  made.kind = kind;
  made.view = view().id;
  made.text = std::move(text);
  return keep_event(events_, std::move(made), kEventsMax);
}

}  // namespace weft
