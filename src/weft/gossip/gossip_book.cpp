// GossipCore: members and links.
#include <algorithm>

#include <fmt/format.h>

#include "weft/base/check.h"
#include "weft/gossip/gossip_core.h"
#include "weft/wire/frame_type.h"

namespace weft {

// How often a presence is renewed within the time after which it expires.
static constexpr std::uint64_t kRenewals = 8;

void GossipCore::publish_standing(bool left, TimePoint now) {
  if (published_) ++own_.standing.counter;
  published_ = true;
  own_.standing.left = left;
  sign_standing(options_.signer, options_.run, own_.standing);
  own_.presence.round = round_;
  sign_presence(options_.signer, options_.run, own_.presence);
  take_own(own_, now);
}

void GossipCore::renew_presence(TimePoint now) {
  const std::uint64_t every = std::max<std::uint64_t>(1, options_.book.expiry_rounds / kRenewals);
  if (!published_ || round_.value() < own_.presence.round.value() + every) return;
  own_.presence.round = round_;
  sign_presence(options_.signer, options_.run, own_.presence);
  take_own(own_, now);
}

void GossipCore::take_own(const MemberRecord& record, TimePoint now) {
  const Result<bool> taken = book_.merge(record, self(), round_);
  WEFT_CHECK(taken.ok());
  if (!announce_at_) announce_at_ = now + options_.book_interval;
  topology_due_ = true;
}

void GossipCore::announce_book(TimePoint /*now*/) {
  announce_at_.reset();
  for (auto& [peer, link] : links_) send_book(peer, link);
}

void GossipCore::send_book(const PeerId& peer, Link& link) {
  const std::vector<MemberRecord> records = book_.changed_since(link.sent_version, peer);
  link.sent_version = book_.version();
  for (std::size_t begin = 0; begin < records.size(); begin += kBookMessageRecordsMax) {
    const std::size_t end = std::min<std::size_t>(records.size(), begin + kBookMessageRecordsMax);
    const GossipBookMessage message{{records.begin() + static_cast<std::ptrdiff_t>(begin),
                                     records.begin() + static_cast<std::ptrdiff_t>(end)}};
    send(peer, Lane::kControl, frame_type::kGossipBook, message.encode());
  }
}

Status GossipCore::on_book(const PeerId& from, ByteSpan head, TimePoint now) {
  WEFT_TRY_ASSIGN(const GossipBookMessage message, GossipBookMessage::decode(head));
  bool changed = false;
  for (const MemberRecord& record : message.records) {
    const bool own = record.key == options_.signer.key;
    if (own && (!published_ || !is_newer(record.standing, own_.standing))) continue;
    if (own) {
      // A record of an earlier process of this identity: this one's counter begins above it.
      own_.standing.counter = std::max(own_.standing.counter, record.standing.counter);
      if (phase_ != GossipPhase::kOver) publish_standing(false, now);
      continue;
    }
    WEFT_TRY_ASSIGN(const bool news, book_.merge(record, from, round_));
    changed = changed || news;
  }
  if (!changed) return {};
  // Changes are collected until then; then neighbours are computed anew and the others informed.
  if (!announce_at_) announce_at_ = now + options_.book_interval;
  topology_due_ = true;
  return {};
}

std::size_t GossipCore::members_undoubted() const {
  std::vector<PeerId> members = book_.live(round_);
  std::erase_if(members, [&](const PeerId& peer) { return dials_.is_doubted(peer); });
  return members.size();
}

void GossipCore::refresh_topology(TimePoint /*now*/) {
  if (!topology_due_) return;
  topology_due_ = false;
  std::vector<PeerId> members = book_.live(round_);
  std::erase_if(members,
                [&](const PeerId& peer) { return peer == self() || dials_.is_doubted(peer); });
  topology_ = options_.topology.neighbours(self(), members);
  inbox_.make_room(inbox_peers(topology_.peers.size()));
  dials_.want(topology_.peers);
  for (const PeerId& peer : topology_.peers) {
    if (links_.contains(peer)) dials_.link_up(peer);
  }
}

void GossipCore::dial_due(TimePoint now) {
  for (const PeerId& peer : dials_.take_due(now)) {
    const PeerAddress address = book_.address(peer);
    if (!address.endpoints.empty()) act(GossipDial{address});
  }
}

void GossipCore::end_idle_links(TimePoint now) {
  std::vector<PeerId> idle;
  for (const auto& [peer, link] : links_) {
    const bool wanted = dials_.is_doubted(peer) || topology_.contains(peer);
    if (!wanted && link.used + options_.idle_for < now) idle.push_back(peer);
  }
  for (const PeerId& peer : idle) {
    act(GossipClose{peer, unavailable("gossip: no neighbour any more")});
    links_.erase(peer);
    inbox_.drop_all_but(peer, Round());
  }
}

}  // namespace weft
