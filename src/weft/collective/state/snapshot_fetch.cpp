#include "weft/collective/state/snapshot_fetch.h"

#include <algorithm>
#include <utility>

#include "weft/base/check.h"
#include "weft/wire/frame_type.h"

namespace weft {

// After the first offer, for a member that still has what was begun: its link may be about to come.
static constexpr Duration kRestWait = std::chrono::seconds(2);
// And for a second member's, where one alone has offered anything.
static constexpr Duration kSecondWait = std::chrono::seconds(2);
// So many kept blocks are read at once, some milliseconds' work: heartbeats go on between.
static constexpr int kKeptBlocksAtOnce = 64;

void SnapshotFetch::begin(TimePoint now) {
  phase_ = Phase::kOffers;
  choose_at_ = TimePoint::max();
  for (auto& [peer, source] : sources_) source = Source();
  find_open();
  if (!std::exchange(looked_for_kept_, true) && options_.keep != nullptr) {
    wanted_ = options_.keep->name();
  }
  if (here_ > 0) wanted_ = target_;
  query(now);
}

void SnapshotFetch::begin_only(const Hash256& root, TimePoint now) {
  only_ = root;
  if (target_.root != root) {
    buffer_.reset();
    blocks_.clear();
    here_ = 0;
    target_ = {};
    wanted_.reset();
  }
  begin(now);
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
  if (const auto found = sources_.find(peer); found != sources_.end()) {
    release(found->second);
    sources_.erase(found);
  }
  if (phase_ == Phase::kBlocks) request(now);
}

void SnapshotFetch::query(TimePoint now) {
  next_query_ = now + options_.query_interval;
  StateQueryMessage message;
  if (phase_ == Phase::kBlocks) {
    message.wanted = target_.root;
  } else if (wanted_) {
    message.wanted = wanted_->root;
  } else if (only_) {
    message.wanted = only_;
  }
  for (const auto& [peer, source] : sources_) {
    if (source.offered) continue;
    sink_.send(peer, Lane::kControl, {frame_type::kStateQuery, message.encode(), {}});
  }
}

Status SnapshotFetch::on_offer(const PeerId& from, const StateOfferMessage& offer, TimePoint now) {
  const auto source = sources_.find(from);
  if (source == sources_.end() || !offer.snapshot) return {};
  if (only_ && offer.snapshot->root != *only_) return {};
  if (offer.snapshot->bytes > options_.snapshot_bytes_max) {
    return corrupt("snapshot offered by " + from.short_name() + ": expected at most " +
                   std::to_string(options_.snapshot_bytes_max) + " bytes, got " +
                   std::to_string(offer.snapshot->bytes));
  }
  source->second.offered = *offer.snapshot;
  if (phase_ == Phase::kOffers) {
    const bool begun = here_ > 0;
    if (choose_at_ == TimePoint::max()) first_offer_ = now;
    choose_at_ = std::min(choose_at_, now + (begun ? kRestWait : options_.offer_wait));
    const bool all = std::all_of(sources_.begin(), sources_.end(),
                                 [](const auto& each) { return each.second.offered.has_value(); });
    if (begun ? wanted_ == *offer.snapshot : all) choose(now);
  } else if (phase_ == Phase::kBlocks) {
    request(now);
  }
  return {};
}

void SnapshotFetch::choose(TimePoint now) {
  std::vector<std::pair<SnapshotName, int>> votes;
  for (const auto& [peer, source] : sources_) {
    if (!source.offered) continue;
    // A transfer that has begun goes on, wherever it still can.
    const SnapshotName& offered = *source.offered;
    if (wanted_ && offered == *wanted_) return adopt(*wanted_, now);
    const auto same = std::find_if(votes.begin(), votes.end(),
                                   [&](const auto& vote) { return vote.first == offered; });
    if (same == votes.end()) {
      votes.emplace_back(offered, 1);
    } else {
      ++same->second;
    }
  }
  if (votes.empty()) return begin(now);
  const bool alone = votes.size() == 1 && votes.front().second == 1 && sources_.size() > 1;
  if (alone && !only_ && now < first_offer_ + kSecondWait) {
    choose_at_ = first_offer_ + kSecondWait;
    return;
  }
  const auto better = [](const auto& a, const auto& b) {
    return std::pair(a.second, a.first.round) > std::pair(b.second, b.first.round);
  };
  std::sort(votes.begin(), votes.end(), better);
  // Members may be a round apart, and offer one each. A single member can claim any round, so the
  // newest is left out: what comes then is reached by two.
  const bool confirmed = votes.front().second > 1 || votes.size() == 1;
  adopt(votes[confirmed ? 0 : 1].first, now);
}

void SnapshotFetch::adopt(const SnapshotName& name, TimePoint now) {
  if (buffer_ == nullptr || target_ != name) {
    target_ = name;
    buffer_ = std::make_shared<Bytes>(static_cast<std::size_t>(name.bytes));
    blocks_.assign(name.blocks(), {});
    here_ = 0;
    wanted_ = name;
    if (options_.keep != nullptr && options_.keep->name() == target_) {
      phase_ = Phase::kKept;
      return read_kept(now);
    }
    if (options_.keep != nullptr) options_.keep->begin(target_);
    find_open();
  }
  wanted_ = name;
  begin_blocks(now);
}

void SnapshotFetch::begin_blocks(TimePoint now) {
  resumed_ = static_cast<std::uint32_t>(here_);
  phase_ = here_ == blocks_.size() ? Phase::kReady : Phase::kBlocks;
  if (phase_ == Phase::kBlocks) request(now);
}

// A file is no more to be believed than a peer: each block is checked.
void SnapshotFetch::read_kept(TimePoint now) {
  for (int i = 0; i < kKeptBlocksAtOnce; ++i) {
    const std::optional<StateKeep::Block> kept = options_.keep->next();
    if (!kept) {
      find_open();
      begin_blocks(now);
      // Sources that came while the kept blocks were read.
      if (phase_ == Phase::kBlocks) query(now);
      return;
    }
    if (!kept->head.proves(target_, kept->body)) continue;
    Block& block = blocks_[kept->head.index];
    if (std::exchange(block.here, true)) continue;
    std::copy(kept->body.begin(), kept->body.end(), place_of(kept->head.index).begin());
    ++here_;
  }
  read_at_ = now + std::chrono::milliseconds(1);
}

void SnapshotFetch::request(TimePoint now) {
  bool provider = false;
  // A block from each in turn, so that all links are used.
  while (request_round(false, now, provider)) {
  }
  while (request_round(true, now, provider)) {
  }
  if (!provider) begin(now);
}

bool SnapshotFetch::request_round(bool slow, TimePoint now, bool& provider) {
  bool asked = false;
  for (auto& [peer, source] : sources_) {
    if (source.offered != target_ || source.slow != slow) continue;
    provider = true;
    if (source.asked.size() < static_cast<std::size_t>(options_.blocks_in_flight)) {
      asked = request_from(peer, source, now) || asked;
    }
  }
  return asked;
}

void SnapshotFetch::find_open() {
  open_.clear();
  for (std::size_t i = blocks_.size(); i-- > 0;) {
    blocks_[i].source.reset();
    if (!blocks_[i].here) open_.push_back(static_cast<std::uint32_t>(i));
  }
}

bool SnapshotFetch::request_from(const PeerId& peer, Source& source, TimePoint now) {
  while (!open_.empty() && blocks_[open_.back()].here) open_.pop_back();
  if (open_.empty()) return false;
  const std::uint32_t index = open_.back();
  open_.pop_back();
  blocks_[index].source = peer;
  if (source.asked.empty()) source.moved_at = now;
  source.asked.insert(index);
  const BlockRequestMessage message{target_.root, index};
  sink_.send(peer, Lane::kControl, {frame_type::kBlockRequest, message.encode(), {}});
  return true;
}

void SnapshotFetch::release(Source& source) {
  for (auto it = source.asked.rbegin(); it != source.asked.rend(); ++it) {
    blocks_[*it].source.reset();
    open_.push_back(*it);
  }
  source.asked.clear();
}

MutableByteSpan SnapshotFetch::place_of(std::uint32_t index) {
  return MutableByteSpan(*buffer_).subspan(std::size_t{index} * kStateBlockBytes,
                                           target_.block_bytes(index));
}

Status SnapshotFetch::on_block(const PeerId& from, const BlockHead& head, ByteSpan body,
                               TimePoint now) {
  // A late block of an abandoned target. Blocks of the present one are accepted from any sender.
  if (phase_ != Phase::kBlocks || head.root != target_.root || !sources_.contains(from)) return {};
  if (!head.proves(target_, body)) {
    return corrupt("block " + std::to_string(head.index) + " of the snapshot of round " +
                   std::to_string(target_.round.value()) + " from " + from.short_name() +
                   ": it does not lead to the root of the hash tree");
  }
  Block& block = blocks_[head.index];
  if (block.here) return {};
  const MutableByteSpan place = place_of(head.index);
  std::copy(body.begin(), body.end(), place.begin());
  if (block.source) sources_.at(*block.source).asked.erase(head.index);
  Source& source = sources_.at(from);
  source.slow = false;
  source.moved_at = now;
  block = {true, std::nullopt};
  if (options_.keep != nullptr) options_.keep->keep(head, body);
  if (++here_ == blocks_.size()) {
    phase_ = Phase::kReady;
  } else {
    request(now);
  }
  return {};
}

void SnapshotFetch::on_missing(const PeerId& from, const BlockMissingMessage& missing,
                               TimePoint now) {
  if (phase_ != Phase::kBlocks || missing.root != target_.root) return;
  if (const auto found = sources_.find(from); found != sources_.end()) {
    release(found->second);
    found->second = Source();
  }
  request(now);
}

void SnapshotFetch::on_timer(TimePoint now) {
  if (phase_ == Phase::kOffers) {
    if (now >= choose_at_) choose(now);
    if (phase_ == Phase::kOffers && now >= next_query_) query(now);
    return;
  }
  if (phase_ == Phase::kKept && now >= read_at_) return read_kept(now);
  if (phase_ != Phase::kBlocks) return;
  bool silent = false;
  for (auto& [peer, source] : sources_) {
    if (source.asked.empty() || now < source.moved_at + options_.source_timeout) continue;
    release(source);
    source.slow = silent = true;
  }
  if (silent) request(now);
}

TimePoint SnapshotFetch::next_deadline() const {
  if (phase_ == Phase::kOffers) return std::min(choose_at_, next_query_);
  TimePoint deadline = TimePoint::max();
  if (phase_ == Phase::kKept) return read_at_;
  if (phase_ != Phase::kBlocks) return deadline;
  for (const auto& [peer, source] : sources_) {
    if (source.asked.empty()) continue;
    deadline = std::min(deadline, source.moved_at + options_.source_timeout);
  }
  return deadline;
}

StateFetch::Snapshot SnapshotFetch::take() {
  WEFT_CHECK(ready());
  phase_ = Phase::kIdle;
  if (options_.keep != nullptr) options_.keep->forget();
  const std::shared_ptr<Bytes> state = std::move(buffer_);
  buffer_.reset();
  const SnapshotName name = target_;
  blocks_.clear();
  open_.clear();
  for (auto& [peer, source] : sources_) source.asked.clear();
  here_ = 0;
  wanted_.reset();
  target_ = {};
  return {name.round, SharedBytes(state, *state), name.root};
}

}  // namespace weft
