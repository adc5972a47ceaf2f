#include "weft/collective/way/ring_collective.h"

#include <algorithm>

#include <fmt/format.h>

#include "weft/collective/reduce/collective_form.h"

namespace weft {

RingCollective::RingCollective(const CollectiveOptions& options, std::int64_t elements,
                               CollectiveSink& sink, std::shared_ptr<FloatBuffer> buffer)
    : options_(options),
      elements_(elements),
      form_(form_of(options, Algorithm::kRing)),
      reduces_(kind_reduces(options.kind)),
      gathers_(kind_gathers(options.kind)),
      sink_(sink),
      store_(options, elements, std::move(buffer)),
      states_(store_.count(), State::kEmpty),
      open_(options.start_open || options.size == 1) {
  for (std::uint32_t index = 0; index < store_.count(); ++index) {
    if (needs_input(index)) ++inputs_due_;
  }
}

void RingCollective::contribute(std::int64_t offset, std::span<const float> values) {
  store_.contribute(offset, values, [this](std::uint32_t index) {
    if (needs_input(index)) take_input(index);
  });
  pump();
}

void RingCollective::take_input(std::uint32_t index) {
  --inputs_due_;
  const bool begins = reduces_ ? starts(index) || options_.size == 1 : owns(index);
  if (begins) {
    store_.read_input(index);
    take_sum(index);
  } else if (states_[index] == State::kPartial) {
    add_input(index, store_.place(index));
  }
}

void RingCollective::add_input(std::uint32_t index, ByteSpan received) {
  store_.add_input(index, received);
  take_sum(index);
}

// The values are the sum as far as it has come, or the input of a gather.
void RingCollective::take_sum(std::uint32_t index) {
  const bool last = owns(index) || options_.size == 1;
  // No other member gets the finished part of a reduce-scatter.
  if (!last || gathers_) store_.round(index);
  if (last) return take_final(index);
  states_[index] = State::kSummed;
  if (!gathers_) ++finished_;
  enqueue(index, CollectiveOp::kReduce);
}

void RingCollective::take_final(std::uint32_t index) {
  states_[index] = State::kFinal;
  ++finished_;
  if (gathers_ && options_.size > 1 && !ends(index)) enqueue(index, CollectiveOp::kGather);
}

Result<std::uint32_t> RingCollective::accept(Rank from, ByteSpan head_bytes,
                                             std::size_t body_bytes) const {
  WEFT_TRY_ASSIGN(const SegmentHead head, SegmentHead::decode(head_bytes));
  WEFT_TRY(check_head(head, from, elements_, form_));
  const bool reduce = head.op == CollectiveOp::kReduce && reduces_;
  const bool gather = head.op == CollectiveOp::kGather && gathers_;
  if ((!reduce && !gather) || from != previous() || options_.size == 1) {
    return corrupt(fmt::format("ring: operation {} from rank {} has no place in it",
                               static_cast<int>(head.op), from.value()));
  }
  if (head.segment >= store_.count()) {
    return corrupt(
        fmt::format("ring segment: expected less than {}, got {}", store_.count(), head.segment));
  }
  const std::uint32_t index = head.segment;
  const State before = reduces_ ? State::kSummed : State::kEmpty;
  const bool wanted = reduce ? !starts(index) && states_[index] == State::kEmpty
                             : !owns(index) && states_[index] == before;
  if (!wanted) {
    return corrupt(fmt::format("ring segment {}: came twice or before its time", index));
  }
  if (body_bytes != store_.bytes_of(index)) {
    return corrupt(fmt::format("ring segment {}: expected {} bytes, got {}", index,
                               store_.bytes_of(index), body_bytes));
  }
  return index;
}

MutableByteSpan RingCollective::body_destination(Rank from, ByteSpan head, std::size_t body_bytes) {
  const Result<std::uint32_t> index = accept(from, head, body_bytes);
  return index.ok() ? store_.place(*index) : MutableByteSpan();
}

Status RingCollective::on_frame(Rank from, const FrameView& frame) {
  WEFT_TRY_ASSIGN(const std::uint32_t index, accept(from, frame.head, frame.body.size()));
  const bool reduce = reduces_ && states_[index] == State::kEmpty;
  if (reduce && store_.input_ready(index)) {
    add_input(index, frame.body);
  } else {
    store_.keep(index, frame.body);
    if (reduce) {
      states_[index] = State::kPartial;
    } else {
      store_.read_place(index);
      take_final(index);
    }
  }
  pump();
  return {};
}

void RingCollective::enqueue(std::uint32_t index, CollectiveOp op) {
  // While closed, resume() finds what is to be sent from the states.
  if (open_) queue_[index] = op;
}

void RingCollective::pump() {
  while (open_ && !queue_.empty() && sink_.queued_bytes(next()) < options_.queue_bytes_max) {
    const auto [index, op] = *queue_.begin();
    queue_.erase(queue_.begin());
    const SegmentHead head{options_.id, op, form_, static_cast<std::uint64_t>(elements_), index};
    sink_.send(next(), {frame_type::kSegment, head.encode(), store_.shared(index)});
  }
}

void RingCollective::on_writable(Rank to) {
  if (to == next()) pump();
}

void RingCollective::on_link_down(Rank to) {
  if (to != next()) return;
  open_ = false;
  queue_.clear();
}

Status RingCollective::resume(Rank to, ByteSpan received) {
  if (to != next() || options_.size == 1) return {};
  if (!received.empty() && received.size() != store_.count()) {
    return corrupt(
        fmt::format("ring: map of {} segments, expected {}", received.size(), store_.count()));
  }
  queue_.clear();
  open_ = true;
  for (std::uint32_t index = 0; index < store_.count(); ++index) {
    const int has = received.empty() ? 0 : received[index];
    if (states_[index] == State::kSummed && has == 0) enqueue(index, CollectiveOp::kReduce);
    if (states_[index] != State::kFinal || has == 2 || !gathers_) continue;
    // The owner of the segment finished it from the partial sum that it must have had.
    if (!ends(index)) enqueue(index, CollectiveOp::kGather);
  }
  pump();
  return {};
}

Bytes RingCollective::received_map(Rank from) const {
  if (from != previous()) return {};
  Bytes map(store_.count());
  for (std::uint32_t index = 0; index < store_.count(); ++index) {
    const State state = states_[index];
    // Segments that begin here were not received, and count as missing in the map.
    const bool begun_here = reduces_ ? starts(index) && state != State::kFinal : owns(index);
    if (begun_here || state == State::kEmpty) continue;
    map[index] = state == State::kFinal ? 2 : 1;
  }
  return map;
}

bool RingCollective::missing(std::uint32_t index) const {
  const State state = states_[index];
  if (!reduces_) return state == State::kEmpty && !owns(index);
  if (state == State::kEmpty) return !starts(index);
  return gathers_ && state == State::kSummed;
}

Rank RingCollective::waits_for() const {
  for (std::uint32_t index = 0; index < store_.count(); ++index) {
    if (missing(index)) return previous();
  }
  return options_.rank;
}

}  // namespace weft
