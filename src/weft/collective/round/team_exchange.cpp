#include "weft/collective/round/team_exchange.h"

#include <algorithm>
#include <utility>

namespace weft {

TeamExchange::TeamExchange(Team team, Rank self, AllReduceOptions options, CollectiveSink& members,
                           std::shared_ptr<FloatBuffer> result, const CollectiveMaker& make_core)
    : team_(std::move(team)),
      gives_(team_.contains(self)),
      members_(members),
      order_(team_.members().begin(), team_.members().end()),
      locals_(static_cast<std::size_t>(team_.view_size())) {
  for (int rank = 0; rank < team_.view_size(); ++rank) {
    if (!team_.contains(Rank(rank))) order_.emplace_back(rank);
  }
  for (std::size_t i = 0; i < order_.size(); ++i) {
    locals_[static_cast<std::size_t>(order_[i].value())] = Rank(static_cast<std::int32_t>(i));
  }
  const auto elements = static_cast<std::int64_t>(result->span().size());
  options.rank = local(self);
  options.size = team_.size();
  options.receivers = team_.view_size() - team_.size();
  options.start_open = false;
  collective_ = make_core ? make_core(options, elements, *this, std::move(result))
                          : make_all_reduce(options, elements, *this, std::move(result));
}

void TeamExchange::contribute(std::int64_t offset, std::span<const float> values) {
  collective_->contribute(offset, values);
}

Status TeamExchange::on_frame(Rank from, const FrameView& frame) {
  return collective_->on_frame(local(from), frame);
}

MutableByteSpan TeamExchange::body_destination(Rank from, ByteSpan head, std::size_t body_bytes) {
  return collective_->body_destination(local(from), head, body_bytes);
}

std::vector<ExchangeFinding> TeamExchange::take_findings() {
  std::vector<ExchangeFinding> findings = collective_->take_findings();
  for (ExchangeFinding& finding : findings) finding.member = member(finding.member);
  return findings;
}

Bytes TeamExchange::received_map(Rank from) const {
  Bytes map = collective_->received_map(local(from));
  // All zeros mean the same as an empty map, and this is the common case.
  if (std::ranges::all_of(map, [](std::uint8_t has) { return has == 0; })) map.clear();
  return map;
}

}  // namespace weft
