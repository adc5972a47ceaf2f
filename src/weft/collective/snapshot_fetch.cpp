#include "weft/collective/snapshot_fetch.h"

#include <algorithm>
#include <utility>

#include "weft/base/check.h"
#include "weft/wire/frame_type.h"

namespace weft {

void SnapshotFetch::begin(TimePoint now) {
  phase_ = Phase::kOffers;
  offers_.clear();
  choose_at_ = TimePoint::max();
  for (auto& [peer, source] : sources_) source = Source();
  query(now);
}

void SnapshotFetch::set_sources(const std::vector<PeerId>& sources, TimePoint now) {
  std::vector<PeerId> gone;
  for (const auto& [peer, source] : sources_) {
    if (std::find(sources.begin(), sources.end(), peer) == sources.end()) gone.push_back(peer);
  }
  for (const PeerId& peer : gone) remove_source(peer, now);
  bool added = false;
  for (const PeerId& peer : sources) added = sources_.try_emplace(peer).second || added;
  if (added && (phase_ == Phase::kOffers || phase_ == Phase::kBlocks)) query(now);
}

void SnapshotFetch::remove_source(const PeerId& peer, TimePoint now) {
  release(peer);
  sources_.erase(peer);
  if (phase_ == Phase::kBlocks) request(now);
}

void SnapshotFetch::query(TimePoint now) {
  next_query_ = now + options_.query_interval;
  for (const auto& [peer, source] : sources_) {
    if (!source.offered) sink_.send(peer, Lane::kControl, {frame_type::kStateQuery, {}, {}});
  }
}

Status SnapshotFetch::on_offer(const PeerId& from, const StateOfferMessage& offer, TimePoint now) {
  const auto source = sources_.find(from);
  if (source == sources_.end() || !offer.manifest) return {};
  if (offer.manifest->bytes > options_.snapshot_bytes_max) {
    return corrupt("snapshot offered by " + from.short_name() + ": expected at most " +
                   std::to_string(options_.snapshot_bytes_max) + " bytes, got " +
                   std::to_string(offer.manifest->bytes));
  }
  const Hash256 id = offer.manifest->id();
  source->second.offered = id;
  if (phase_ == Phase::kOffers) {
    offers_.try_emplace(id, *offer.manifest);
    choose_at_ = std::min(choose_at_, now + options_.offer_wait);
    const bool all = std::all_of(sources_.begin(), sources_.end(),
                                 [](const auto& each) { return each.second.offered.has_value(); });
    if (all) choose(now);
  } else if (phase_ == Phase::kBlocks) {
    request(now);
  }
  return {};
}

void SnapshotFetch::choose(TimePoint now) {
  std::map<Hash256, int> votes;
  for (const auto& [peer, source] : sources_) {
    if (source.offered && offers_.contains(*source.offered)) ++votes[*source.offered];
  }
  if (votes.empty()) return begin(now);
  const auto better = [&](const auto& a, const auto& b) {
    return std::pair(a.second, offers_.at(a.first).round) <
           std::pair(b.second, offers_.at(b.first).round);
  };
  adopt(std::max_element(votes.begin(), votes.end(), better)->first, now);
}

void SnapshotFetch::adopt(const Hash256& id, TimePoint now) {
  const SnapshotManifest before = std::exchange(target_, offers_.at(id));
  const std::shared_ptr<Bytes> old_bytes = std::move(buffer_);
  const std::vector<Block> old_blocks = std::move(blocks_);
  target_id_ = id;
  buffer_ = std::make_shared<Bytes>(static_cast<std::size_t>(target_.bytes));
  blocks_.assign(target_.blocks.size(), {});
  here_ = 0;
  for (std::size_t i = 0; i < std::min(old_blocks.size(), blocks_.size()); ++i) {
    if (!old_blocks[i].here || before.blocks[i] != target_.blocks[i]) continue;
    const auto begin = static_cast<std::ptrdiff_t>(i * kStateBlockBytes);
    const auto size =
        static_cast<std::ptrdiff_t>(target_.block_bytes(static_cast<std::uint32_t>(i)));
    std::copy_n(old_bytes->begin() + begin, size, buffer_->begin() + begin);
    blocks_[i].here = true;
    ++here_;
  }
  phase_ = here_ == blocks_.size() ? Phase::kReady : Phase::kBlocks;
  if (phase_ == Phase::kBlocks) request(now);
}

void SnapshotFetch::request(TimePoint now) {
  bool provider = false;
  bool asked = true;
  while (asked) {  // a block from each in turn, so that all lines are used
    asked = false;
    for (auto& [peer, source] : sources_) {
      if (source.offered != target_id_) continue;
      provider = true;
      if (source.in_flight < options_.blocks_in_flight) {
        asked = request_from(peer, source, now) || asked;
      }
    }
  }
  if (!provider) begin(now);
}

bool SnapshotFetch::request_from(const PeerId& peer, Source& source, TimePoint now) {
  const auto open = std::find_if(blocks_.begin(), blocks_.end(),
                                 [](const Block& block) { return !block.asked && !block.here; });
  if (open == blocks_.end()) return false;
  *open = {true, false, peer, now};
  ++source.in_flight;
  const BlockName message{target_id_, static_cast<std::uint32_t>(open - blocks_.begin())};
  sink_.send(peer, Lane::kControl, {frame_type::kBlockRequest, message.encode(), {}});
  return true;
}

void SnapshotFetch::release(const PeerId& peer) {
  for (Block& block : blocks_) {
    if (block.asked && block.source == peer) block.asked = false;
  }
  if (const auto source = sources_.find(peer); source != sources_.end()) source->second = Source();
}

SnapshotFetch::Block* SnapshotFetch::asked_block(const PeerId& from, const BlockName& head) {
  if (phase_ != Phase::kBlocks || head.manifest != target_id_) return nullptr;
  if (head.index >= blocks_.size()) return nullptr;
  Block& block = blocks_[head.index];
  return block.asked && block.source == from ? &block : nullptr;
}

MutableByteSpan SnapshotFetch::body_destination(const PeerId& from, const BlockName& head,
                                                std::size_t body_bytes) {
  const Block* const block = asked_block(from, head);
  if (block == nullptr || body_bytes != target_.block_bytes(head.index)) return {};
  return MutableByteSpan(*buffer_).subspan(std::size_t{head.index} * kStateBlockBytes, body_bytes);
}

Status SnapshotFetch::on_block(const PeerId& from, const BlockName& head, ByteSpan body,
                               TimePoint now) {
  Block* const block = asked_block(from, head);
  if (block == nullptr) return {};  // late: it was given to another source, or a newer target
  if (sha256(body) != target_.blocks[head.index]) {
    return corrupt("block " + std::to_string(head.index) + " of the snapshot of round " +
                   std::to_string(target_.round.value()) + " from " + from.short_name() +
                   ": its SHA-256 is not the manifest's");
  }
  std::uint8_t* const place = buffer_->data() + std::size_t{head.index} * kStateBlockBytes;
  if (body.data() != place) std::copy(body.begin(), body.end(), place);
  *block = {false, true, from, now};
  --sources_.at(from).in_flight;
  if (++here_ == blocks_.size()) {
    phase_ = Phase::kReady;
  } else {
    request(now);
  }
  return {};
}

void SnapshotFetch::on_missing(const PeerId& from, const BlockMissingMessage& missing,
                               TimePoint now) {
  if (phase_ != Phase::kBlocks || missing.manifest != target_id_) return;
  release(from);
  request(now);
}

void SnapshotFetch::on_timer(TimePoint now) {
  if (phase_ == Phase::kOffers) {
    if (now >= choose_at_) choose(now);
    if (phase_ == Phase::kOffers && now >= next_query_) query(now);
    return;
  }
  if (phase_ != Phase::kBlocks) return;
  std::vector<PeerId> silent;
  for (const Block& block : blocks_) {
    if (block.asked && now >= block.asked_at + options_.source_timeout) {
      silent.push_back(block.source);
    }
  }
  for (const PeerId& peer : silent) release(peer);
  if (!silent.empty()) request(now);
}

TimePoint SnapshotFetch::next_deadline() const {
  if (phase_ == Phase::kOffers) return std::min(choose_at_, next_query_);
  TimePoint deadline = TimePoint::max();
  if (phase_ != Phase::kBlocks) return deadline;
  for (const Block& block : blocks_) {
    if (block.asked) deadline = std::min(deadline, block.asked_at + options_.source_timeout);
  }
  return deadline;
}

StateFetch::Snapshot SnapshotFetch::take() {
  WEFT_CHECK(ready());
  phase_ = Phase::kIdle;
  const std::shared_ptr<Bytes> state = std::move(buffer_);
  const Round round = target_.round;
  blocks_.clear();
  target_ = {};
  return {round, SharedBytes(state, *state)};
}

}  // namespace weft
