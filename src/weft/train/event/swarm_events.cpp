#include "weft/train/event/swarm_events.h"

#include <array>

#include <fmt/format.h>

namespace weft {
namespace {

std::vector<std::string> short_names(const std::vector<PeerId>& peers) {
  std::vector<std::string> names;
  names.reserve(peers.size());
  for (const PeerId& peer : peers) names.push_back(peer.short_name());
  return names;
}

Event peer_event(std::string_view kind, const SwarmEvent& event) {
  Event out(kind);
  out.with("peer", event.peer.short_name());
  return out;
}

// "peer b81f failed (no heartbeat for 2.0 s)" -> "no heartbeat for 2.0 s".
std::string reason_in(const std::string& text) {
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close < open) {
    return text.find(" left") == std::string::npos ? "reason not known here" : "said goodbye";
  }
  return text.substr(open + 1, close - open - 1);
}

// The text says so where it is this peer itself: the others were there before.
Event joined_event(const SwarmEvent& event, const GroupNews& news) {
  Event out = peer_event("peer_joined", event);
  out.with("round", news.next_round.value());
  if (event.peer != news.self) return out;
  const std::int64_t others = news.members - 1;
  return out.with("text", fmt::format("this peer takes part from round {} on, with {} other{}",
                                      news.next_round.value(), others, others == 1 ? "" : "s"));
}

Event left_event(const SwarmEvent& event, const GroupNews& news) {
  return peer_event("peer_left", event)
      .with("reason", reason_in(event.text))
      .with("round", news.next_round.value())
      .with("seconds_lost", event.seconds);
}

Event rerun_event(const SwarmEvent& event, const GroupNews& news) {
  return Event("round_rerun")
      .with("round", event.round.value())
      .with("members", news.members)
      .with("reason", news.reason)
      .with("seconds_lost", event.seconds);
}

Event quorum_event(const SwarmEvent& event) {
  Event out("quorum_lost");
  out.with("missing", short_names(event.peers)).with("text", event.text);
  return out;
}

Event branch_event(std::string_view kind, const SwarmEvent& event) {
  Event out(kind);
  out.with("branch", event.merge.branch)
      .with("round", event.round.value())
      .with("text", event.text);
  return out;
}

Event merged_event(const SwarmEvent& event) {
  return branch_event("merged", event)
      .with("weight", event.merge.weight)
      .with("samples", event.merge.samples)
      .with("own_samples", event.merge.own_samples);
}

Event link_event(const SwarmEvent& event) {
  return peer_event("link_up", event)
      .with("path", event.link.path)
      .with("via", event.link.via)
      .with("endpoint", event.link.endpoint)
      .with("inbound", event.link.inbound)
      .with("reason", event.text);
}

// Its kinds have the same names on both sides.
Event wait_event(const SwarmEvent& event) {
  Event out(to_string(event.kind));
  out.with("round", event.round.value())
      .with("peers", short_names(event.peers))
      .with("seconds", event.seconds)
      .with("text", event.text);
  if (event.limit_seconds > 0) out.with("limit_s", event.limit_seconds);
  if (!event.absent.empty()) out.with("absent", short_names(event.absent));
  if (!event.unsent.empty()) out.with("unsent", short_names(event.unsent));
  return out;
}

Event note(std::string text) {
  Event out("note");
  out.with("text", std::move(text));
  return out;
}

}  // namespace

void GroupNews::hear(const SwarmEvent& event) {
  const bool left = event.kind == SwarmEventKind::kPeerLeft;
  if (left || event.kind == SwarmEventKind::kPeerJoined) {
    changes_ += fmt::format("{}peer {} {}", changes_.empty() ? "" : ", ", event.peer.short_name(),
                            left ? "left" : "joined");
  }
  if (event.kind != SwarmEventKind::kViewChanged) return;
  next_round = Round(event.round.value() + 1);
  members = static_cast<std::int64_t>(event.peers.size());
  reason = changes_.empty() ? "the members agreed anew" : changes_;
  changes_.clear();
}

std::optional<Event> event_of(const SwarmEvent& event, const GroupNews& news) {
  switch (event.kind) {
    case SwarmEventKind::kViewChanged:
      return Event("view_changed")
          .with("number", event.view.number.value())
          .with("members", short_names(event.peers))
          .with("reason", event.text);
    case SwarmEventKind::kPeerJoined:
      return joined_event(event, news);
    case SwarmEventKind::kPeerLeft:
      return left_event(event, news);
    case SwarmEventKind::kRoundRerun:
      return rerun_event(event, news);
    case SwarmEventKind::kQuorumLost:
      return quorum_event(event);
    case SwarmEventKind::kQuorumBack:
      return Event("quorum_back").with("reason", event.text);
    case SwarmEventKind::kJoinRefused:
      return peer_event("join_refused", event).with("reason", event.text);
    case SwarmEventKind::kLinkRefused:
      return peer_event("link_refused", event).with("reason", event.text);
    case SwarmEventKind::kLinkUp:
      return link_event(event);
    case SwarmEventKind::kStateMismatch:
      return peer_event("state_mismatch", event)
          .with("round", event.round.value())
          .with("text", event.text);
    case SwarmEventKind::kJoinerSyncing:
      return peer_event("joiner_syncing", event).with("round", event.round.value());
    case SwarmEventKind::kLate:
    case SwarmEventKind::kStalled:
      return note(event.text);
    case SwarmEventKind::kWaiting:
    case SwarmEventKind::kOverdue:
    case SwarmEventKind::kAwaited:
    case SwarmEventKind::kWaitOver:
      return wait_event(event);
    case SwarmEventKind::kMisconduct:
      return peer_event("misconduct", event)
          .with("by", short_names(event.peers))
          .with("text", event.text);
    case SwarmEventKind::kRingProposed:
      return Event("ring_proposed")
          .with("round", event.round.value())
          .with("members", short_names(event.peers))
          .with("text", event.text);
    case SwarmEventKind::kRevoked:
      return peer_event("ticket_revoked", event).with("text", event.text);
    case SwarmEventKind::kSplit:
      return branch_event("split", event).with("members", short_names(event.peers));
    case SwarmEventKind::kYielding:
      return branch_event("yielding", event);
    case SwarmEventKind::kMerged:
      return merged_event(event);
    case SwarmEventKind::kTwin:
      return peer_event("identity_twin", event).with("text", event.text);
    case SwarmEventKind::kRunOver:
      return Event("run_over").with("round", event.round.value()).with("text", event.text);
    case SwarmEventKind::kUnreached:
    case SwarmEventKind::kRemoved:  // the run ends with this reason
    case SwarmEventKind::kStartWaiting:
    case SwarmEventKind::kStateReceived:
    case SwarmEventKind::kCaughtUp:
      return note(event.text);
    case SwarmEventKind::kRunMissed:  // as well
      return std::nullopt;
  }
  return std::nullopt;
}

Event peers_event(const SwarmStatus& status, const std::vector<double>& compute_seconds) {
  std::vector<std::string> names;
  std::vector<std::string> details;
  for (const PeerStatus& peer : status.members) {
    std::string detail;
    const auto rank = static_cast<std::size_t>(peer.rank.value());
    if (rank < compute_seconds.size()) {
      detail += fmt::format("computes {:.0f} ms a round", compute_seconds[rank] * 1e3);
    }
    if (peer.self) {
      detail += detail.empty() ? "this peer" : ", this peer";
    } else {
      detail += fmt::format("{}{}, to it {}, from it {}", detail.empty() ? "" : ", ",
                            peer.linked ? fmt::format("{:.1f} ms away", peer.rtt_seconds * 1e3)
                                        : std::string("no link"),
                            bytes_text(static_cast<double>(peer.bytes_sent)),
                            bytes_text(static_cast<double>(peer.bytes_received)));
    }
    names.push_back(peer.id.short_name());
    details.push_back(std::move(detail));
  }
  return Event("peers").with("peers", std::move(names)).with("details", std::move(details));
}

Event timings_event(const SwarmStatus& status, const RoundTimings& rounds) {
  Event event("timings");
  std::vector<std::string> names;
  std::vector<double> entries;
  std::vector<double> send_rates;
  for (const PeerStatus& member : status.members) {
    if (member.self) event.with("peer", member.id.short_name());
    names.push_back(member.id.short_name());
    entries.push_back(member.entry_seconds);
    send_rates.push_back(member.send_rate);
  }
  event.with("peers", std::move(names))
      .with("round", rounds.newest.value())
      .with("rounds", rounds.rounds)
      .with("round_seconds", rounds.round_seconds)
      .with("round_bytes", rounds.round_bytes)
      .with("compute_seconds", rounds.compute_seconds)
      .with("entry_seconds", std::move(entries))
      .with("send_rates", std::move(send_rates));
  if (!status.link_rates.empty()) event.with("link_rates", status.link_rates);
  return event;
}

std::string bytes_text(double bytes) {
  constexpr std::array<const char*, 4> kUnits = {"B", "kB", "MB", "GB"};
  std::size_t unit = 0;
  while (bytes >= 1000.0 && unit + 1 < kUnits.size()) {
    bytes /= 1000.0;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", bytes, unit == 0 ? 0 : 1, kUnits[unit]);
}

}  // namespace weft
