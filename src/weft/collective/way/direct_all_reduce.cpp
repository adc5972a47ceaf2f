#include "weft/collective/way/direct_all_reduce.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "weft/collective/reduce/collective_form.h"

namespace weft {

DirectAllReduce::DirectAllReduce(const CollectiveOptions& options, std::int64_t elements,
                                 CollectiveSink& sink, std::shared_ptr<FloatBuffer> buffer)
    : options_(options),
      elements_(elements),
      form_(form_of(options, Algorithm::kDirect)),
      sink_(sink),
      result_(buffer ? std::move(buffer) : std::make_shared<FloatBuffer>(elements)),
      input_(elements),
      peers_(static_cast<std::size_t>(options.size)) {
  WEFT_CHECK(static_cast<std::size_t>(elements) * sizeof(float) <= kFrameBodyBytesMax);
  for (Peer& each : peers_) each.open = options.start_open;
  if (elements == 0) contribute(0, {});
}

std::span<float> DirectAllReduce::input_of(Rank rank) {
  std::shared_ptr<FloatBuffer>& input = peer(rank).input;
  if (!input) input = std::make_shared<FloatBuffer>(elements_);
  return input->span();
}

void DirectAllReduce::contribute(std::int64_t offset, std::span<const float> values) {
  input_.add(offset, values);
  if (!input_.whole() || peer(options_.rank).received) return;
  if (elements_ > 0) input_.copy(0, input_of(options_.rank));
  peer(options_.rank).received = true;
  pump();
  finish_if_whole();
}

Status DirectAllReduce::check(Rank from, ByteSpan head_bytes, std::size_t body_bytes) const {
  WEFT_TRY_ASSIGN(const SegmentHead head, SegmentHead::decode(head_bytes));
  WEFT_TRY(check_head(head, from, elements_, form_));
  const bool known = from.value() >= 0 && from.value() < options_.size && from != options_.rank;
  if (!known || head.op != CollectiveOp::kDirect || head.segment != 0) {
    return corrupt(fmt::format("direct all-reduce: operation {} segment {} from rank {}",
                               static_cast<int>(head.op), head.segment, from.value()));
  }
  if (peer(from).received) {
    return corrupt(fmt::format("direct all-reduce: the input of rank {} came twice", from.value()));
  }
  if (body_bytes != static_cast<std::size_t>(elements_) * sizeof(float)) {
    return corrupt(fmt::format("direct all-reduce: expected {} bytes, got {}",
                               static_cast<std::size_t>(elements_) * sizeof(float), body_bytes));
  }
  return {};
}

MutableByteSpan DirectAllReduce::body_destination(Rank from, ByteSpan head,
                                                  std::size_t body_bytes) {
  if (!check(from, head, body_bytes).ok()) return {};
  const std::span<float> out = input_of(from);
  return {reinterpret_cast<std::uint8_t*>(out.data()), out.size_bytes()};
}

Status DirectAllReduce::on_frame(Rank from, const FrameView& frame) {
  WEFT_TRY(check(from, frame.head, frame.body.size()));
  const std::span<float> out = input_of(from);
  if (!out.empty() && frame.body.data() != reinterpret_cast<const std::uint8_t*>(out.data())) {
    std::memcpy(out.data(), frame.body.data(), frame.body.size());
  }
  peer(from).received = true;
  finish_if_whole();
  return {};
}

void DirectAllReduce::finish_if_whole() {
  if (complete_ ||
      !std::all_of(peers_.begin(), peers_.end(), [](const Peer& each) { return each.received; })) {
    return;
  }
  complete_ = true;
  if (elements_ == 0) return;
  const std::span<float> sum = result_->span();
  std::memcpy(sum.data(), peers_[0].input->span().data(), sum.size_bytes());
  for (std::size_t rank = 1; rank < peers_.size(); ++rank) {
    add_floats(reinterpret_cast<const std::uint8_t*>(sum.data()), peers_[rank].input->span().data(),
               sum.data(), sum.size());
  }
}

void DirectAllReduce::pump() {
  if (!peer(options_.rank).received) return;
  const std::shared_ptr<FloatBuffer>& input = peer(options_.rank).input;
  for (int rank = 0; rank < options_.size; ++rank) {
    Peer& to = peer(Rank(rank));
    if (Rank(rank) == options_.rank || !to.open || to.sent) continue;
    to.sent = true;
    const SegmentHead head{options_.id, CollectiveOp::kDirect, form_,
                           static_cast<std::uint64_t>(elements_), 0};
    SharedBytes body;
    if (input) body = SharedBytes(input, as_bytes(std::span<const float>(input->span())));
    sink_.send(Rank(rank), {frame_type::kSegment, head.encode(), std::move(body)});
  }
}

void DirectAllReduce::on_link_down(Rank to) { peer(to).open = false; }

Status DirectAllReduce::resume(Rank to, ByteSpan received) {
  if (to == options_.rank) return {};
  if (received.size() > 1) {
    return corrupt(
        fmt::format("direct all-reduce: map of {} segments, expected 1", received.size()));
  }
  peer(to).open = true;
  peer(to).sent = !received.empty() && received[0] != 0;
  pump();
  return {};
}

Bytes DirectAllReduce::received_map(Rank from) const {
  return {static_cast<std::uint8_t>(peer(from).received ? 2 : 0)};
}

bool DirectAllReduce::sent_all() const {
  for (int rank = 0; rank < options_.size; ++rank) {
    if (Rank(rank) != options_.rank && !peer(Rank(rank)).sent) return false;
  }
  return true;
}

Rank DirectAllReduce::waits_for() const {
  for (int rank = 0; rank < options_.size; ++rank) {
    if (!peer(Rank(rank)).received) return Rank(rank);
  }
  return options_.rank;
}

}  // namespace weft
