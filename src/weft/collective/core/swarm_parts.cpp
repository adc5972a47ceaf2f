#include "weft/collective/parts/swarm_parts.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "weft/base/check.h"
#include "weft/peer/parts/fingerprint.h"
#include "weft/wire/frame_type.h"

namespace weft {
namespace {

// Segments and link are as in rounds; precision is the caller's choice.
GroupCoreOptions group_options(const RoundCoreOptions& rounds) {
  GroupCoreOptions options;
  options.self = rounds.self;
  options.collective.segment_bytes = rounds.all_reduce.segment_bytes;
  options.collective.bucket_bytes = rounds.all_reduce.bucket_bytes;
  options.collective.direct_bytes_max = rounds.all_reduce.direct_bytes_max;
  options.collective.mesh_members = rounds.all_reduce.mesh_members;
  options.collective.queue_bytes_max = rounds.all_reduce.queue_bytes_max;
  options.collective.link = rounds.all_reduce.link;
  return options;
}

// Sets `field` to the value that another one has already.
template <class T>
void fill_in(T& field, const T& untouched, const T& said) {
  WEFT_CHECK(field == untouched || field == said);
  field = said;
}

ParkingOptions parking_options(const SwarmCoreOptions& swarm) {
  ParkingOptions options;
  options.mesh_members = static_cast<std::size_t>(swarm.rounds.all_reduce.mesh_members);
  // A member that is silent for less is not suspected either.
  options.session.lost_after =
      std::max(options.session.lost_after, swarm.membership.suspicion_timeout);
  return options;
}

// Numbers of its own, so that what else is drawn does not depend on it.
Rng parking_rng(const SwarmCoreOptions& options) {
  std::uint64_t seed = options.membership.incarnation;
  for (const std::uint8_t byte : options.membership.self.bytes) seed = seed * 257 + byte;
  return Rng(seed, 0x70);
}

SwarmCoreOptions filled_in(SwarmCoreOptions options) {
  const SwarmCoreOptions untouched;
  const PeerId& self = options.membership.self;
  fill_in(options.rounds.self, untouched.rounds.self, self);
  fill_in(options.links.self, untouched.links.self, self);
  fill_in(options.links.mesh_members, untouched.links.mesh_members,
          options.rounds.all_reduce.mesh_members);
  fill_in(options.fetch.elements_max, untouched.fetch.elements_max,
          static_cast<std::uint64_t>(options.vector_elements_max));
  return options;
}

}  // namespace

SwarmParts::SwarmParts(SwarmCoreOptions given, Transport& lines, const Clock& time, Rng random)
    : options(filled_in(std::move(given))),
      transport(parking_options(options), lines, time, parking_rng(options)),
      clock(time),
      rng(random),
      log(options.result_log_bytes_max),
      server({}, log, outlet),
      fetch(options.fetch, outlet),
      rounds(options.rounds, outlet),
      group_calls(group_options(options.rounds), outlet),
      link_rates(options.links, outlet),
      comparison(options.membership.self),
      membership(options.membership, membership_news, Rng(rng.next_u64())),
      waits(*this, RoundTimes(options.compute_timeout, options.compute_timeout_first)),
      branches(*this, options.fetch, outlet),
      start(*this, options.start_members) {
  transport.set_handler(*this);
}

std::set<PeerId> SwarmParts::partners() const {
  std::set<PeerId> out = giving.joiners();
  for (const View* known : {&view(), &way.sync_view()}) {
    for (const Member& member : known->members) out.insert(member.id);
  }
  out.erase(self());
  return out;
}

SwarmStatus SwarmParts::status() const {
  SwarmStatus status;
  status.state = std::string(to_string(membership.state()));
  status.view = view().id;
  for (const Member& member : view().members) {
    PeerStatus peer;
    peer.id = member.id;
    peer.rank = view().rank_of(member.id);
    peer.self = member.id == self();
    peer.linked = peer.self || transport.linked(member.id);
    const TransportStats stats = transport.stats(member.id);
    peer.rtt_seconds = stats.rtt_seconds;
    peer.bytes_sent = stats.bytes_sent;
    peer.bytes_received = stats.bytes_received;
    status.members.push_back(peer);
  }
  const TransportStats total = transport.total_stats();
  status.bytes_sent = total.bytes_sent;
  status.bytes_received = total.bytes_received;
  trainer.add_to(status);
  news.add_to(status);
  late.add_to(status);
  waits.add_to(status);
  links.add_to(status);
  slowness.add_to(status);
  return status;
}

Ticket SwarmParts::ticket(Duration valid_for) {
  std::array<std::uint8_t, 8> drawn{};
  for (std::uint8_t& byte : drawn) byte = static_cast<std::uint8_t>(rng.next_u32());
  return membership.ticket(clock.unix_time_s(), valid_for, make_invitation_id(drawn));
}

void SwarmParts::follow_ring(const View& installed) {
  std::vector<PeerAddress> ring;
  for (const Member& member : installed.members) ring.push_back({member.id, member.endpoints});
  transport.set_ring(std::move(ring), observer_distances(installed, options.membership.observers));
}

// --- Events of the links.

void SwarmParts::on_link_up(const LinkInfo& link) {
  links.on_link_up(link);
  membership.on_link_up(link, now());
  rounds.on_link_up(link.peer);
  group_calls.on_link_up(link.peer);
  if (ending.reached()) ending.send_finished(link.peer);
}

void SwarmParts::on_link_down(const PeerId& peer, const Status& why) {
  links.on_link_down(peer);
  rounds.on_link_down(peer);
  group_calls.on_link_down(peer);
  server.on_link_down(peer);
  fetch.on_link_down(peer, now());
  branches.on_link_down(peer);
  membership.on_link_down(peer, why, now());
}

void SwarmParts::on_frame(const PeerId& from, Lane lane, const FrameView& frame) {
  if (is_membership_frame(frame.type)) return membership.on_frame(from, frame, now());
  if (!membership.admits_frame(from, frame, now())) return;
  if (lane == Lane::kBulk && frame.type != frame_type::kProbe) {
    link_rates.on_traffic(from, frame.body.size(), now());
  }
  giving.note_received(frame.type, frame.body.size());
  const Status status = frame.type <= frame_type::kLastCollectiveType
                            ? on_collective_frame(from, frame)
                            : on_state_frame(from, frame);
  if (status.ok()) return;
  const bool state = frame.type == frame_type::kBlock || frame.type == frame_type::kResult;
  membership.blame(from, state ? Offence::kWrongHash : Offence::kMalformed, status.message(),
                   now());
  complaints.close(from, status);
}

void SwarmParts::on_writable(const PeerId& peer, Lane lane) {
  if (lane != Lane::kBulk) return;
  rounds.on_writable(peer);
  group_calls.on_writable(peer);
  server.on_writable(peer, now());
}

void SwarmParts::on_refused(const std::string& remote_endpoint, const Status& why) {
  links.on_refused(remote_endpoint, why);
}

void SwarmParts::on_twin(const PeerId& peer, const std::string& remote_endpoint) {
  membership.on_twin(peer, remote_endpoint, now());
}

MutableByteSpan SwarmParts::body_destination(const PeerId& from, std::uint8_t type, ByteSpan head,
                                             std::size_t body_bytes) {
  if (type == frame_type::kSegment) return rounds.body_destination(from, head, body_bytes);
  if (type == frame_type::kGroupSegment) {
    return group_calls.body_destination(from, head, body_bytes);
  }
  // Blocks and results may be asked of another member while they are under way from a slow one, so
  // that no place is any one sender's: they are copied once they are whole.
  return {};
}

Status SwarmParts::on_collective_frame(const PeerId& from, const FrameView& frame) {
  // A member of a view that this peer does not know yet may send Ready; it may be unknown here.
  const bool from_member = is_member() && view().contains(from);
  const bool ready = frame.type == frame_type::kReady || frame.type == frame_type::kGroupReady;
  const bool served = frame.type == frame_type::kFinished && giving.joiners().contains(from);
  if (!from_member && !ready && !served) return {};
  membership.on_sign_of_life(from, now());
  if (frame.type >= frame_type::kGroupSegment && frame.type <= frame_type::kLastGroupType) {
    return group_calls.on_frame(from, frame);
  }
  if (frame.type == frame_type::kReport) return rounds.on_frame(from, frame, now());
  if (frame.type > frame_type::kLastGroupType) return link_rates.on_frame(from, frame, now());
  if (frame.type == frame_type::kFinished) return ending.on_frame(from, frame);
  if (frame.type != frame_type::kStateHash) return rounds.on_frame(from, frame, now());
  WEFT_TRY_ASSIGN(const StateHashMessage message, StateHashMessage::decode(frame.head));
  comparison.theirs(from, message);
  return {};
}

Status SwarmParts::on_state_frame(const PeerId& from, const FrameView& frame) {
  switch (frame.type) {
    case frame_type::kStateQuery:
    case frame_type::kBlockRequest:
    case frame_type::kResultRequest:
    case frame_type::kStateReceived:
      return giving.on_request(from, frame);
    case frame_type::kHeldState:
      return offer.on_frame(from, frame);
    default:
      // Late answers are acknowledged, too: the member that serves waits for that.
      if (membership.role(from) != PeerRole::kStranger) fetch.acknowledge(from, frame);
      return branches.from_source(from) ? branches.on_frame(from, frame)
                                        : taking.on_frame(from, frame);
  }
}

void SwarmParts::on_timer() {
  transport.on_timer();
  membership.on_timer(now());
  rounds.on_timer(now());
  group_calls.on_timer(now());
  fetch.on_timer(now());
  branches.on_timer();
  link_rates.on_timer(now());
}

TimePoint SwarmParts::next_deadline() const {
  return std::min({transport.next_deadline(), membership.next_deadline(), rounds.next_deadline(),
                   group_calls.next_deadline(), fetch.next_deadline(), link_rates.next_deadline(),
                   branches.deadline(), taking.deadline(), late.due(), giving.deadline(),
                   gathering.deadline(), start.deadline(), ending.deadline()});
}

// --- What an event has caused.

void SwarmParts::settle() {
  round.settle();
  late.settle();
  complaints.settle_stalls();
  slowness.settle();
  waits.settle();
  complaints.settle_comparison();
  branches.settle();
  complaints.settle();
  branches.drop_out();
  way.settle();
  links.settle_ring();
  gathering.settle();
  taking.settle();
  giving.settle();
  giving.drop_unused();
}

void SwarmParts::fingerprint(Fingerprint& out) const {
  std::apply([&out](const auto&... part) { (part.fingerprint(out), ...); }, parts());
}

}  // namespace weft
