#include "weft/collective/way/payload_collective.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "weft/base/check.h"
#include "weft/codec/payload.h"
#include "weft/collective/reduce/collective_form.h"

namespace weft {

// A first segment holds the head of the payload.
static constexpr std::size_t kPayloadSegmentBytesMin = 64;
static_assert(kPayloadSegmentBytesMin >= kPayloadHeadBytes);

PayloadCollective::PayloadCollective(const CollectiveOptions& options, std::int64_t elements,
                                     CollectiveSink& sink, std::shared_ptr<FloatBuffer> buffer)
    : options_(options),
      elements_(elements),
      form_(form_of(options, Algorithm::kPayload)),
      segment_bytes_(std::max(options.segment_bytes, kPayloadSegmentBytesMin)),
      body_bytes_max_(kPayloadHeadBytes +
                      options.encoder->codec().bytes_max(static_cast<std::size_t>(elements))),
      segments_max_(segments_of(body_bytes_max_)),
      sink_(sink),
      result_(buffer ? std::move(buffer) : std::make_shared<FloatBuffer>(elements)),
      input_(elements),
      scratch_(static_cast<std::size_t>(elements)),
      peers_(static_cast<std::size_t>(ranks())) {
  WEFT_CHECK(options.kind == CollectiveKind::kAllReduce);
  std::ranges::fill(result_->span(), 0.0F);
  for (Peer& each : peers_) each.open = options.start_open;
  if (elements == 0 && !receives()) contribute(0, {});
}

std::uint32_t PayloadCollective::segments_of(std::size_t body_bytes) const {
  return static_cast<std::uint32_t>((body_bytes + segment_bytes_ - 1) / segment_bytes_);
}

// --- The own input.

void PayloadCollective::contribute(std::int64_t offset, std::span<const float> values) {
  WEFT_CHECK(!receives());
  input_.add(offset, values);
  if (!input_.whole() || contributed()) return;
  encode_input();
  fold();
  pump_all();
}

void PayloadCollective::encode_input() {
  if (elements_ > 0) input_.copy(0, scratch_);
  ErrorFeedback& encoder = *options_.encoder;
  // Different at each member and in each exchange, so that what they draw does not err alike.
  const std::uint64_t seed = options_.id.round.value() << 16U |
                             static_cast<std::uint64_t>(options_.id.exchange) << 12U |
                             static_cast<std::uint64_t>(options_.rank.value());
  const Bytes payload = encoder.encode(scratch_, seed);
  Bytes body;
  body.reserve(kPayloadHeadBytes + payload.size());
  write_payload_head({.element_type = ElementType::kF32,
                      .codec = encoder.codec().id(),
                      .elements = scratch_.size(),
                      .length_bytes = payload.size()},
                     body);
  body.insert(body.end(), payload.begin(), payload.end());
  own_ = SharedBytes(std::move(body));
  peer(options_.rank).whole = true;
}

// --- Payloads of others.

Status PayloadCollective::check(Rank from, ByteSpan head_bytes, std::size_t body_bytes) const {
  WEFT_TRY_ASSIGN(const SegmentHead head, SegmentHead::decode(head_bytes));
  WEFT_TRY(check_head(head, from, elements_, form_));
  const bool known = from.value() >= 0 && from.value() < options_.size && from != options_.rank;
  if (!known || head.op != CollectiveOp::kPayload) {
    return corrupt(fmt::format("payload: operation {} from rank {} of {}",
                               static_cast<int>(head.op), from.value(), options_.size));
  }
  const Peer& sender = peer(from);
  if (sender.whole || head.segment != sender.received) {
    return corrupt(fmt::format("payload of rank {}: expected segment {}, got {}", from.value(),
                               sender.received, head.segment));
  }
  // The payload's head is not known before its first segment is here.
  const std::size_t done = sender.received * segment_bytes_;
  const std::size_t most = std::min(segment_bytes_, sender.total.value_or(body_bytes_max_) - done);
  const std::size_t least = sender.total ? most : kPayloadHeadBytes;
  if (body_bytes < least || body_bytes > most) {
    return corrupt(fmt::format("payload of rank {}, segment {}: expected {} to {} bytes, got {}",
                               from.value(), head.segment, least, most, body_bytes));
  }
  return {};
}

MutableByteSpan PayloadCollective::place_of(Rank from, std::size_t body_bytes) {
  Peer& sender = peer(from);
  const std::size_t begin = sender.received * segment_bytes_;
  if (!sender.total) sender.body.resize(body_bytes);
  return MutableByteSpan(sender.body).subspan(begin, body_bytes);
}

MutableByteSpan PayloadCollective::body_destination(Rank from, ByteSpan head,
                                                    std::size_t body_bytes) {
  if (!check(from, head, body_bytes).ok()) return {};
  return place_of(from, body_bytes);
}

Status PayloadCollective::on_frame(Rank from, const FrameView& frame) {
  WEFT_TRY(check(from, frame.head, frame.body.size()));
  // If the body was written to its place, it has the same size as before and does not move.
  const MutableByteSpan place = place_of(from, frame.body.size());
  if (place.data() != frame.body.data()) {
    std::memcpy(place.data(), frame.body.data(), frame.body.size());
  }
  WEFT_TRY(take_segment(from));
  fold();
  return {};
}

Status PayloadCollective::take_segment(Rank from) {
  Peer& sender = peer(from);
  const Codec& codec = options_.encoder->codec();
  if (!sender.total) {
    const PayloadLimits limits = {codec.id(), scratch_.size(), codec.bytes_max(scratch_.size())};
    WEFT_TRY_ASSIGN(const PayloadHead head, read_payload_head(sender.body, limits));
    const std::size_t total = kPayloadHeadBytes + head.length_bytes;
    if (sender.body.size() != std::min(total, segment_bytes_)) {
      return corrupt(fmt::format("payload of rank {}: {} bytes in a first segment of {}",
                                 from.value(), total, sender.body.size()));
    }
    sender.total = total;
    sender.body.resize(total);
  }
  ++sender.received;
  if (sender.received < segments_of(*sender.total)) return {};
  WEFT_TRY(decode_body(sender.body));
  sender.whole = true;
  if (from.value() != folded_) return {};
  // It is its turn: it need not be decoded again.
  codec.add(scratch_, result_->span());
  sender.body = Bytes();
  ++folded_;
  return {};
}

Status PayloadCollective::decode_body(ByteSpan body) {
  return options_.encoder->decode(body.subspan(kPayloadHeadBytes), scratch_);
}

void PayloadCollective::fold() {
  while (folded_ < options_.size && peer(Rank(folded_)).whole) {
    Peer& member = peer(Rank(folded_));
    const ByteSpan body = Rank(folded_) == options_.rank ? own_.span() : ByteSpan(member.body);
    // It decoded when it came.
    WEFT_CHECK(decode_body(body).ok());
    options_.encoder->codec().add(scratch_, result_->span());
    member.body = Bytes();
    ++folded_;
  }
  if (complete()) options_.encoder->codec().finish(result_->span());
}

// --- Sending.

void PayloadCollective::pump(Rank to) {
  Peer& each = peer(to);
  if (own_.empty() || to == options_.rank) return;
  const std::uint32_t count = segments_of(own_.size());
  while (each.open && each.next < count && sink_.queued_bytes(to) < options_.queue_bytes_max) {
    const SegmentHead head{options_.id, CollectiveOp::kPayload, form_,
                           static_cast<std::uint64_t>(elements_), each.next};
    const std::size_t begin = each.next * segment_bytes_;
    ++each.next;
    const std::size_t size = std::min(segment_bytes_, own_.size() - begin);
    sink_.send(to, {frame_type::kSegment, head.encode(), own_.slice(begin, size)});
  }
}

void PayloadCollective::pump_all() {
  // Each begins with its successor, so that no member gets everything at once.
  for (int step = 1; step < ranks(); ++step) {
    pump(Rank((options_.rank.value() + step) % ranks()));
  }
}

void PayloadCollective::on_link_down(Rank to) { peer(to).open = false; }

Status PayloadCollective::resume(Rank to, ByteSpan received) {
  if (to == options_.rank) return {};
  const auto here = std::ranges::find(received, 0) - received.begin();
  const bool prefix = std::all_of(received.begin() + here, received.end(),
                                  [](std::uint8_t has) { return has == 0; });
  const auto sent = static_cast<std::uint32_t>(here);
  const bool possible = sent <= (own_.empty() ? 0 : segments_of(own_.size()));
  if ((!received.empty() && received.size() != map_size()) || !prefix || !possible) {
    return corrupt(fmt::format("payload: a map of {} of {} segments, expected {}", sent,
                               received.size(), map_size()));
  }
  peer(to).open = true;
  peer(to).next = sent;
  pump(to);
  return {};
}

Bytes PayloadCollective::received_map(Rank from) const {
  if (from == options_.rank || from.value() >= options_.size) return {};
  Bytes map(map_size());
  std::fill_n(map.begin(), peer(from).received, std::uint8_t{2});
  return map;
}

bool PayloadCollective::sent_all() const {
  if (receives()) return true;
  if (own_.empty()) return false;
  for (int rank = 0; rank < ranks(); ++rank) {
    const Peer& each = peer(Rank(rank));
    const bool sent = each.open && each.next == segments_of(own_.size());
    if (Rank(rank) != options_.rank && !sent) return false;
  }
  return true;
}

Rank PayloadCollective::waits_for() const {
  for (int rank = 0; rank < options_.size; ++rank) {
    if (!peer(Rank(rank)).whole) return Rank(rank);
  }
  return options_.rank;
}

}  // namespace weft
