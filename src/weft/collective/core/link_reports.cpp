#include "weft/collective/parts/link_reports.h"

#include <utility>

#include <fmt/format.h>

#include "weft/collective/parts/swarm_fingerprint.h"
#include "weft/collective/parts/swarm_parts.h"

namespace weft {

// At most this many refused connections per second are reported one by one; the rest are counted.
static constexpr std::uint64_t kRefusalsASecond = 5;

void LinkReports::on_proved(const PeerId& peer) {
  const auto untold = state_.untold.find(peer);
  if (untold == state_.untold.end()) return;
  const LinkInfo link = std::move(untold->second);
  state_.untold.erase(untold);
  SwarmEvent& up = core_.news.report(SwarmEventKind::kLinkUp, link.why);
  up.peer = link.peer;
  up.link = {std::string(to_string(link.path)), link.via, link.remote_endpoint, link.inbound};
}

bool LinkReports::may_tell_refusal() {
  const TimePoint now = core_.now();
  if (now >= state_.refusals_since + std::chrono::seconds(1)) {
    if (state_.refusals > kRefusalsASecond) {
      core_.news.report(
          SwarmEventKind::kLinkRefused,
          fmt::format("{} more connections were refused", state_.refusals - kRefusalsASecond));
    }
    state_.refusals_since = now;
    state_.refusals = 0;
  }
  return ++state_.refusals <= kRefusalsASecond;
}

void LinkReports::on_refused(const std::string& remote_endpoint, const Status& why) {
  if (!may_tell_refusal()) return;
  core_.news.report(SwarmEventKind::kLinkRefused,
                    fmt::format("connection from {} refused: {}", remote_endpoint, why.message()));
}

void LinkReports::on_refused(const PeerId& peer, const Status& why) {
  if (!may_tell_refusal()) return;
  core_.news.report(SwarmEventKind::kJoinRefused, why.message()).peer = peer;
}

void LinkReports::count_round(const RoundOutcome& outcome) {
  RoundLoad load{core_.options.rounds.all_reduce,
                 static_cast<std::int64_t>(outcome.values->span().size())};
  load.way.size = core_.view().size();
  core_.link_rates.on_committed(outcome.round, load, core_.now());
}

void LinkReports::before_send(const PeerId& to, std::size_t queued_bytes) {
  state_.sending[to].on_send(queued_bytes, core_.now());
}

void LinkReports::after_send(const PeerId& to, std::size_t queued_bytes) {
  state_.sending[to].on_queued(queued_bytes);
}

void LinkReports::add_to(SwarmStatus& status) const {
  for (PeerStatus& member : status.members) {
    const auto meter = state_.sending.find(member.id);
    if (meter != state_.sending.end()) member.send_rate = meter->second.bytes_per_s();
  }
  const LinkMatrix links = core_.link_rates.matrix();
  const bool same_view = links.size() == static_cast<int>(status.members.size());
  if (links.size() < 2 || !same_view || links.known_share() == 0) return;
  for (int to = 0; to < links.size(); ++to) {
    for (int from = 0; from < links.size(); ++from) {
      status.link_rates.push_back(links.at(from, to).bytes_per_s);
    }
  }
}

void LinkReports::settle_ring() {
  const Membership& membership = core_.membership;
  const bool quiet = membership.state() == MembershipState::kMember && !membership.frozen();
  if (!quiet || core_.rounds.open()) return;
  const std::optional<BetterRing> better = core_.link_rates.take_better();
  if (!better) return;
  SwarmEvent& event = core_.news.report(
      SwarmEventKind::kRingProposed,
      fmt::format("another order of the ring is proposed: by the links' measured rates a round, by "
                  "{}, then takes {:.3f} s instead of {:.3f} s by {}",
                  to_string(better->way_then), better->seconds_then, better->seconds_now,
                  to_string(better->way_now)));
  event.round = core_.rounds.committed();
  event.seconds = better->seconds_now - better->seconds_then;
  event.peers = better->order;
  core_.membership.reorder(core_.now());
}

void LinkReports::fingerprint(Fingerprint& out) const { out.add(state_); }

}  // namespace weft
