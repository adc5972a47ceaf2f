#include "weft/collective/ring_all_reduce.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

namespace weft {

static_assert(std::endian::native == std::endian::little, "segments travel as little-endian f32");

static std::int64_t floats_in(std::size_t bytes) {
  return std::max<std::int64_t>(16, static_cast<std::int64_t>(bytes / sizeof(float)));
}

RingAllReduce::RingAllReduce(const AllReduceOptions& options, std::int64_t elements,
                             AllReduceSink& sink, std::shared_ptr<FloatBuffer> buffer)
    : options_(options),
      elements_(elements),
      sink_(sink),
      buffer_(buffer ? std::move(buffer) : std::make_shared<FloatBuffer>(elements)),
      input_(elements),
      open_(options.start_open || options.size == 1) {
  WEFT_CHECK(options.segment_bytes <= kFrameBodyBytesMax);
  WEFT_CHECK(static_cast<std::int64_t>(buffer_->span().size()) == elements);
  const SegmentPlanOptions plan{options.size, floats_in(options.bucket_bytes),
                                floats_in(options.segment_bytes)};
  for (const Segment& segment : plan_segments(elements, plan))
    slots_.push_back({.segment = segment});
}

std::span<float> RingAllReduce::values(const Slot& slot) const {
  return buffer_->span().subspan(static_cast<std::size_t>(slot.segment.offset),
                                 static_cast<std::size_t>(slot.segment.elements));
}

void RingAllReduce::contribute(std::int64_t offset, std::span<const float> values) {
  input_.add(offset, values);
  const std::int64_t end = offset + static_cast<std::int64_t>(values.size());
  auto slot = std::upper_bound(
      slots_.begin(), slots_.end(), offset,
      [](std::int64_t at, const Slot& other) { return at < other.segment.offset; });
  if (slot != slots_.begin()) --slot;
  for (; slot != slots_.end() && slot->segment.offset < end; ++slot) {
    const std::int64_t slot_end = slot->segment.offset + slot->segment.elements;
    const std::int64_t added = std::min(end, slot_end) - std::max(offset, slot->segment.offset);
    if (added <= 0) continue;
    slot->covered += added;
    if (slot->input_ready()) take_input(static_cast<std::uint32_t>(slot - slots_.begin()));
  }
  pump();
}

void RingAllReduce::take_input(std::uint32_t index) {
  Slot& slot = slots_[index];
  if (starts(slot)) {
    input_.copy(slot.segment.offset, values(slot));
    if (options_.size == 1) return take_final(index);
    slot.state = State::kSummed;
    enqueue(index, CollectiveOp::kReduce);
  } else if (slot.state == State::kPartial) {
    add_input(index, as_bytes(std::span<const float>(values(slot))));
  }
}

void RingAllReduce::add_input(std::uint32_t index, ByteSpan received) {
  Slot& slot = slots_[index];
  input_.sum(slot.segment.offset, received, values(slot));
  slot.state = State::kSummed;
  if (owns(slot)) return take_final(index);
  enqueue(index, CollectiveOp::kReduce);
}

void RingAllReduce::take_final(std::uint32_t index) {
  Slot& slot = slots_[index];
  slot.state = State::kFinal;
  ++final_;
  if (options_.size > 1 && !ends(slot)) enqueue(index, CollectiveOp::kGather);
}

Result<std::uint32_t> RingAllReduce::accept(Rank from, ByteSpan head_bytes,
                                            std::size_t body_bytes) const {
  WEFT_TRY_ASSIGN(const SegmentHead head, SegmentHead::decode(head_bytes));
  if (head.elements != static_cast<std::uint64_t>(elements_)) {
    return invalid_argument(fmt::format(
        "all-reduce of round {}: the vector of rank {} has {} elements, this member's has {}",
        head.id.round.value(), from.value(), head.elements, elements_));
  }
  if (head.op == CollectiveOp::kDirect || from != previous() || options_.size == 1) {
    return corrupt(fmt::format("all-reduce: operation {} from rank {} has no place in this ring",
                               static_cast<int>(head.op), from.value()));
  }
  if (head.segment >= slots_.size()) {
    return corrupt(fmt::format("all-reduce segment: expected less than {}, got {}", slots_.size(),
                               head.segment));
  }
  const Slot& slot = slots_[head.segment];
  const bool reduce = head.op == CollectiveOp::kReduce;
  const bool wanted = reduce ? !starts(slot) && slot.state == State::kEmpty
                             : !owns(slot) && slot.state == State::kSummed;
  if (!wanted) {
    return corrupt(
        fmt::format("all-reduce segment {}: came twice or before its time", head.segment));
  }
  if (body_bytes != values(slot).size_bytes()) {
    return corrupt(fmt::format("all-reduce segment {}: expected {} bytes, got {}", head.segment,
                               values(slot).size_bytes(), body_bytes));
  }
  return head.segment;
}

MutableByteSpan RingAllReduce::body_destination(Rank from, ByteSpan head, std::size_t body_bytes) {
  const Result<std::uint32_t> index = accept(from, head, body_bytes);
  if (!index.ok()) return {};
  const std::span<float> out = values(slots_[*index]);
  return {reinterpret_cast<std::uint8_t*>(out.data()), out.size_bytes()};
}

Status RingAllReduce::on_frame(Rank from, const FrameView& frame) {
  WEFT_TRY_ASSIGN(const std::uint32_t index, accept(from, frame.head, frame.body.size()));
  Slot& slot = slots_[index];
  const bool reduce = slot.state == State::kEmpty;
  if (reduce && slot.input_ready()) {
    add_input(index, frame.body);
  } else {
    const std::span<float> out = values(slot);
    if (frame.body.data() != reinterpret_cast<const std::uint8_t*>(out.data())) {
      std::memcpy(out.data(), frame.body.data(), frame.body.size());
    }
    if (reduce) {
      slot.state = State::kPartial;
    } else {
      take_final(index);
    }
  }
  pump();
  return {};
}

void RingAllReduce::enqueue(std::uint32_t index, CollectiveOp op) {
  // While closed, resume() finds what is to be sent from the states.
  if (open_) queue_.push_back({index, op});
}

void RingAllReduce::pump() {
  while (open_ && !queue_.empty() && sink_.queued_bytes(next()) < options_.queue_bytes_max) {
    const Outgoing out = queue_.front();
    queue_.pop_front();
    const SegmentHead head{options_.id, out.op, static_cast<std::uint64_t>(elements_), out.segment};
    const std::span<const float> floats = values(slots_[out.segment]);
    sink_.send(next(),
               {frame_type::kSegment, head.encode(), SharedBytes(buffer_, as_bytes(floats))});
  }
}

void RingAllReduce::on_writable(Rank to) {
  if (to == next()) pump();
}

void RingAllReduce::on_link_down(Rank to) {
  if (to != next()) return;
  open_ = false;
  queue_.clear();
}

Status RingAllReduce::resume(Rank to, ByteSpan received) {
  if (to != next() || options_.size == 1) return {};
  if (!received.empty() && received.size() != slots_.size()) {
    return corrupt(
        fmt::format("all-reduce: map of {} segments, expected {}", received.size(), slots_.size()));
  }
  queue_.clear();
  open_ = true;
  for (std::uint32_t index = 0; index < slots_.size(); ++index) {
    const Slot& slot = slots_[index];
    const int has = received.empty() ? 0 : received[index];
    if (slot.state == State::kSummed && has == 0) enqueue(index, CollectiveOp::kReduce);
    if (slot.state != State::kFinal || has == 2) continue;
    // The owner of the segment finished it from the partial sum that it must have had.
    if (!ends(slot)) enqueue(index, CollectiveOp::kGather);
  }
  pump();
  return {};
}

Bytes RingAllReduce::received_map(Rank from) const {
  if (from != previous()) return {};
  Bytes map(slots_.size());
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const State state = slots_[i].state;
    map[i] = state == State::kFinal ? 2 : state == State::kEmpty ? 0 : 1;
  }
  return map;
}

Rank RingAllReduce::waits_for() const {
  const bool missing = std::any_of(slots_.begin(), slots_.end(), [&](const Slot& slot) {
    return (slot.state == State::kEmpty && !starts(slot)) || slot.state == State::kSummed;
  });
  return missing ? previous() : options_.rank;
}

}  // namespace weft
