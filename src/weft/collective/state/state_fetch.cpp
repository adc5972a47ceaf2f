#include "weft/collective/state/state_fetch.h"

#include <algorithm>

#include "weft/collective/state/result_fetch.h"
#include "weft/collective/state/snapshot_fetch.h"
#include "weft/wire/frame_type.h"

namespace weft {

struct StateFetch::Impl {
  Impl(const StateFetchOptions& options, StateSink& to)
      : sink(to), snapshot(options, to), results(options, to) {}

  StateSink& sink;
  SnapshotFetch snapshot;
  ResultFetch results;
  std::uint64_t bytes_received = 0;
  // Over each link since it came up.
  std::map<PeerId, std::uint64_t> received;
};

StateFetch::StateFetch(StateFetchOptions options, StateSink& sink)
    : impl_(std::make_unique<Impl>(options, sink)) {}
StateFetch::~StateFetch() = default;

void StateFetch::set_sources(const std::vector<PeerId>& sources, TimePoint now) {
  impl_->snapshot.set_sources(sources, now);
  impl_->results.set_sources(sources, now);
}

void StateFetch::fetch_snapshot(TimePoint now) {
  impl_->results.stop();
  impl_->snapshot.begin(now);
}

void StateFetch::fetch_results(Round first, TimePoint now) {
  impl_->snapshot.stop();
  impl_->results.begin(first, now);
}

void StateFetch::stop() {
  impl_->snapshot.stop();
  impl_->results.stop();
}

Status StateFetch::on_frame(const PeerId& from, const FrameView& frame, TimePoint now) {
  impl_->bytes_received += frame.body.size();
  switch (frame.type) {
    case frame_type::kStateOffer: {
      WEFT_TRY_ASSIGN(const StateOfferMessage offer, StateOfferMessage::decode(frame.head));
      return impl_->snapshot.on_offer(from, offer, now);
    }
    case frame_type::kBlock: {
      WEFT_TRY_ASSIGN(const BlockHead head, BlockHead::decode(frame.head));
      return impl_->snapshot.on_block(from, head, frame.body, now);
    }
    case frame_type::kBlockMissing: {
      WEFT_TRY_ASSIGN(const BlockMissingMessage gone, BlockMissingMessage::decode(frame.head));
      impl_->snapshot.on_missing(from, gone, now);
      return {};
    }
    case frame_type::kResult: {
      WEFT_TRY_ASSIGN(const ResultHead head, ResultHead::decode(frame.head));
      return impl_->results.on_result(from, head, frame.body, now);
    }
    case frame_type::kResultMissing: {
      WEFT_TRY_ASSIGN(const ResultMissingMessage gone, ResultMissingMessage::decode(frame.head));
      impl_->results.on_missing(from, gone, now);
      return {};
    }
    default:
      return corrupt("state transfer: unknown frame type " + std::to_string(frame.type));
  }
}

void StateFetch::acknowledge(const PeerId& from, const FrameView& frame) {
  if (frame.type != frame_type::kBlock && frame.type != frame_type::kResult) return;
  const StateReceivedMessage message{impl_->received[from] += frame.body.size()};
  impl_->sink.send(from, Lane::kControl, {frame_type::kStateReceived, message.encode(), {}});
}

void StateFetch::on_link_down(const PeerId& peer, TimePoint now) {
  impl_->received.erase(peer);
  impl_->snapshot.remove_source(peer, now);
  impl_->results.remove_source(peer, now);
}

void StateFetch::on_timer(TimePoint now) {
  impl_->snapshot.on_timer(now);
  impl_->results.on_timer(now);
}

TimePoint StateFetch::next_deadline() const {
  return std::min(impl_->snapshot.next_deadline(), impl_->results.next_deadline());
}

std::optional<StateFetch::Snapshot> StateFetch::take_snapshot(TimePoint now) {
  if (!impl_->snapshot.ready()) return std::nullopt;
  Snapshot snapshot = impl_->snapshot.take();
  impl_->results.begin(Round(snapshot.round.value() + 1), now);
  return snapshot;
}

std::optional<StateFetch::FetchedResult> StateFetch::take_result(TimePoint now) {
  return impl_->results.take(now);
}

Round StateFetch::newest_known() const { return impl_->results.newest_known(); }
bool StateFetch::results_gone() const { return impl_->results.gone(); }
std::uint64_t StateFetch::bytes_received() const { return impl_->bytes_received; }
std::uint32_t StateFetch::blocks_resumed() const { return impl_->snapshot.blocks_resumed(); }

}  // namespace weft
