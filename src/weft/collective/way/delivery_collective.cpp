#include "weft/collective/way/delivery_collective.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "weft/base/check.h"
#include "weft/collective/reduce/collective_form.h"

namespace weft {

static constexpr std::uint8_t kHere = 2;

// As long as a map has room for all parts.
static std::size_t part_elements_of(const CollectiveOptions& options, std::int64_t elements) {
  const std::size_t wanted = std::max<std::size_t>(options.segment_bytes / sizeof(float), 1);
  const std::size_t least =
      (static_cast<std::size_t>(elements) + kReceivedMapBytesMax - 1) / kReceivedMapBytesMax;
  return std::max(wanted, least);
}

DeliveryCollective::DeliveryCollective(const CollectiveOptions& options, std::int64_t elements,
                                       CollectiveSink& sink, std::shared_ptr<FloatBuffer> buffer)
    : options_(options),
      elements_(elements),
      part_elements_(part_elements_of(options, elements)),
      parts_(static_cast<std::uint32_t>((static_cast<std::size_t>(elements) + part_elements_ - 1) /
                                        part_elements_)),
      form_(form_of(options, choose_algorithm(options, elements))),
      sink_(sink),
      result_(buffer ? std::move(buffer) : std::make_shared<FloatBuffer>(elements)) {
  WEFT_CHECK(options.kind == CollectiveKind::kAllReduce && !options.encoder);
  WEFT_CHECK(part_elements_ * sizeof(float) <= kFrameBodyBytesMax);
  if (is_receiver(options.rank)) {
    have_.resize(parts_);
    missing_ = parts_;
    return;
  }
  receivers_.resize(static_cast<std::size_t>(options.receivers));
  for (Receiver& each : receivers_) each.open = options.start_open;
  CollectiveOptions team = options;
  team.receivers = 0;
  team_ = make_collective(team, elements, sink, result_);
}

Rank DeliveryCollective::sender_of(std::uint32_t part, Rank receiver) const {
  const auto number = static_cast<std::uint32_t>(receiver.value() - options_.size);
  return Rank(
      static_cast<std::int32_t>((part + number) % static_cast<std::uint32_t>(options_.size)));
}

MutableByteSpan DeliveryCollective::place(std::uint32_t part) const {
  const std::span<float> all = result_->span();
  const std::size_t begin = part * part_elements_;
  const std::span<float> values = all.subspan(begin, std::min(part_elements_, all.size() - begin));
  return {reinterpret_cast<std::uint8_t*>(values.data()), values.size_bytes()};
}

void DeliveryCollective::contribute(std::int64_t offset, std::span<const float> values) {
  WEFT_CHECK(team_ != nullptr);
  team_->contribute(offset, values);
  pump_all();
}

// --- What comes in.

Status DeliveryCollective::check(Rank from, ByteSpan head_bytes, std::size_t body_bytes) const {
  WEFT_TRY_ASSIGN(const SegmentHead head, SegmentHead::decode(head_bytes));
  WEFT_TRY(check_head(head, from, elements_, form_));
  const bool due = head.op == CollectiveOp::kDelivery && head.segment < parts_ &&
                   sender_of(head.segment, options_.rank) == from;
  if (!due || have_[head.segment] == kHere || body_bytes != place(head.segment).size()) {
    return corrupt(fmt::format("delivery: operation {}, part {} of {}, {} bytes from rank {}",
                               static_cast<int>(head.op), head.segment, parts_, body_bytes,
                               from.value()));
  }
  return {};
}

Status DeliveryCollective::on_frame(Rank from, const FrameView& frame) {
  if (from.value() < 0 || is_receiver(from) || from == options_.rank) {
    return corrupt(fmt::format("delivery: data from rank {}, which is not in the team of {}",
                               from.value(), options_.size));
  }
  if (team_) {
    WEFT_TRY(team_->on_frame(from, frame));
    pump_all();
    return {};
  }
  WEFT_TRY(check(from, frame.head, frame.body.size()));
  const std::uint32_t part = SegmentHead::decode(frame.head)->segment;
  const MutableByteSpan out = place(part);
  if (out.data() != frame.body.data()) std::memcpy(out.data(), frame.body.data(), out.size());
  have_[part] = kHere;
  --missing_;
  return {};
}

MutableByteSpan DeliveryCollective::body_destination(Rank from, ByteSpan head,
                                                     std::size_t body_bytes) {
  if (from.value() < 0 || is_receiver(from)) return {};
  if (team_) return team_->body_destination(from, head, body_bytes);
  if (!check(from, head, body_bytes).ok()) return {};
  return place(SegmentHead::decode(head)->segment);
}

// --- What goes out.

void DeliveryCollective::pump(Rank to) {
  Receiver& each = receiver(to);
  if (!each.open || !team_->complete()) return;
  while (each.next < parts_ && sink_.queued_bytes(to) < options_.queue_bytes_max) {
    const std::uint32_t part = each.next++;
    const bool has = !each.received.empty() && each.received[part] == kHere;
    if (has || sender_of(part, to) != options_.rank) continue;
    const SegmentHead head{options_.id, CollectiveOp::kDelivery, form_,
                           static_cast<std::uint64_t>(elements_), part};
    sink_.send(to, {frame_type::kSegment, head.encode(), {result_, place(part)}});
  }
}

void DeliveryCollective::pump_all() {
  for (int i = 0; i < options_.receivers; ++i) pump(Rank(options_.size + i));
}

void DeliveryCollective::on_writable(Rank to) {
  if (!team_) return;
  if (is_receiver(to)) {
    pump(to);
  } else {
    team_->on_writable(to);
  }
}

void DeliveryCollective::on_link_down(Rank to) {
  if (!team_) return;
  if (is_receiver(to)) {
    receiver(to).open = false;
  } else {
    team_->on_link_down(to);
  }
}

Status DeliveryCollective::resume(Rank to, ByteSpan received) {
  if (!team_) return received.empty() ? Status() : corrupt("delivery: a map to a receiver");
  if (!is_receiver(to)) return team_->resume(to, received);
  const auto possible = [&](std::size_t part) {
    return received[part] == 0 ||
           (received[part] == kHere && team_->complete() &&
            sender_of(static_cast<std::uint32_t>(part), to) == options_.rank);
  };
  bool fits = received.empty() || received.size() == parts_;
  for (std::size_t part = 0; fits && part < received.size(); ++part) fits = possible(part);
  if (!fits) {
    return corrupt(
        fmt::format("delivery: a map of {} parts, expected {}, or one of parts that "
                    "were not sent",
                    received.size(), parts_));
  }
  receiver(to) = {true, 0, Bytes(received.begin(), received.end())};
  pump(to);
  return {};
}

Bytes DeliveryCollective::received_map(Rank from) const {
  if (team_) return is_receiver(from) ? Bytes() : team_->received_map(from);
  if (is_receiver(from)) return {};
  Bytes map = have_;
  for (std::uint32_t part = 0; part < parts_; ++part) {
    if (sender_of(part, options_.rank) != from) map[part] = 0;
  }
  return map;
}

// --- Queries.

bool DeliveryCollective::sent_all() const {
  if (!team_) return true;
  return team_->sent_all() && std::ranges::all_of(receivers_, [&](const Receiver& each) {
           return each.open && each.next == parts_;
         });
}

Rank DeliveryCollective::waits_for() const {
  if (team_) return team_->waits_for();
  const auto missing = std::ranges::find(have_, std::uint8_t{0});
  if (missing == have_.end()) return options_.rank;
  return sender_of(static_cast<std::uint32_t>(missing - have_.begin()), options_.rank);
}

}  // namespace weft
