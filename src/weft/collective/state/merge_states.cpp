#include "weft/collective/state/merge_states.h"

#include <algorithm>
#include <utility>

#include "weft/wire/frame_type.h"

namespace weft {

static constexpr std::size_t kOffersMax = 8;
static constexpr std::size_t kHeldMax = 2;
// Without a block: the next one's turn; given up.
static constexpr Duration kTurn = std::chrono::seconds(10);
static constexpr Duration kGiveUp = std::chrono::seconds(30);

static StateFetchOptions without_keep(StateFetchOptions options) {
  options.keep = nullptr;
  return options;
}

MergeStates::MergeStates(const StateFetchOptions& options, StateSink& sink)
    : fetch_(without_keep(options), sink) {}

void MergeStates::offer(const MergeOffer& offer, TimePoint now) {
  owner_.assert_here();
  const auto same = [&](const auto& known) { return known.root == offer.snapshot; };
  if (std::ranges::any_of(held_, same)) {
    ready_.push_back(offer.snapshot);
    return;
  }
  Offer news{offer.branch, offer.snapshot, {}};
  for (const Member& member : offer.view.members) news.members.push_back(member.id);
  if (const auto known = std::ranges::find_if(offers_, same); known != offers_.end()) {
    known->members = std::move(news.members);
    return;
  }
  // A branch has one state at a time.
  const bool first = offers_.empty() || offers_.front().branch == offer.branch;
  std::erase_if(offers_, [&](const Offer& known) { return known.branch == offer.branch; });
  if (offers_.size() >= kOffersMax) return;
  if (first) {
    offers_.push_front(std::move(news));
    begin(now);
  } else {
    offers_.push_back(std::move(news));
  }
}

void MergeStates::begin(TimePoint now) {
  fetch_.set_sources({}, now);
  fetch_.stop();
  sources_.clear();
  begun_ = moved_ = now;
  if (!offers_.empty()) fetch_.begin_only(offers_.front().root, now);
}

std::vector<PeerId> MergeStates::wanted_sources() const {
  owner_.assert_here();
  return offers_.empty() ? std::vector<PeerId>() : offers_.front().members;
}

void MergeStates::set_sources(const std::vector<PeerId>& sources, TimePoint now) {
  owner_.assert_here();
  if (sources == sources_) return;
  sources_ = sources;
  fetch_.set_sources(sources_, now);
}

bool MergeStates::is_source(const PeerId& peer) const {
  owner_.assert_here();
  return std::ranges::find(sources_, peer) != sources_.end();
}

void MergeStates::clear() {
  owner_.assert_here();
  fetch_.stop();
  offers_.clear();
  held_.clear();
  ready_.clear();
  sources_.clear();
}

Status MergeStates::on_frame(const PeerId& from, const FrameView& frame, TimePoint now) {
  owner_.assert_here();
  switch (frame.type) {
    case frame_type::kStateOffer: {
      WEFT_TRY_ASSIGN(const StateOfferMessage offer, StateOfferMessage::decode(frame.head));
      WEFT_TRY(fetch_.on_offer(from, offer, now));
      break;
    }
    case frame_type::kBlock: {
      WEFT_TRY_ASSIGN(const BlockHead head, BlockHead::decode(frame.head));
      WEFT_TRY(fetch_.on_block(from, head, frame.body, now));
      moved_ = now;
      break;
    }
    case frame_type::kBlockMissing: {
      WEFT_TRY_ASSIGN(const BlockMissingMessage gone, BlockMissingMessage::decode(frame.head));
      fetch_.on_missing(from, gone, now);
      break;
    }
    default:
      return {};
  }
  take_when_ready(now);
  return {};
}

void MergeStates::on_link_down(const PeerId& peer, TimePoint now) {
  owner_.assert_here();
  if (std::erase(sources_, peer) > 0) fetch_.remove_source(peer, now);
}

void MergeStates::take_when_ready(TimePoint now) {
  if (!fetch_.ready()) return;
  StateFetch::Snapshot here = fetch_.take();
  ready_.push_back(here.root);
  held_.push_back({here.root, std::move(here.state)});
  if (held_.size() > kHeldMax) held_.pop_front();
  offers_.pop_front();
  begin(now);
}

void MergeStates::on_timer(TimePoint now) {
  owner_.assert_here();
  if (offers_.empty()) return;
  fetch_.on_timer(now);
  take_when_ready(now);
  if (offers_.empty() || now < moved_ + kTurn) return;
  if (offers_.size() == 1 && now < moved_ + kGiveUp) return;
  Offer stuck = std::move(offers_.front());
  offers_.pop_front();
  // The only one is given up; among several each has its turn, the next time too.
  if (!offers_.empty() && moved_ != begun_) offers_.push_back(std::move(stuck));
  begin(now);
}

TimePoint MergeStates::next_deadline() const {
  owner_.assert_here();
  if (offers_.empty()) return TimePoint::max();
  return std::min(fetch_.next_deadline(), moved_ + (offers_.size() == 1 ? kGiveUp : kTurn));
}

std::vector<Hash256> MergeStates::take_ready() {
  owner_.assert_here();
  return std::exchange(ready_, {});
}

std::optional<SharedBytes> MergeStates::take(const Hash256& root) {
  owner_.assert_here();
  const auto found =
      std::ranges::find_if(held_, [&](const Held& held) { return held.root == root; });
  if (found == held_.end()) return std::nullopt;
  SharedBytes state = std::move(found->state);
  held_.erase(found);
  return state;
}

}  // namespace weft
