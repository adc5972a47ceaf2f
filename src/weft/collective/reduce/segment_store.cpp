#include "weft/collective/reduce/segment_store.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "weft/base/check.h"

namespace weft {

static_assert(std::endian::native == std::endian::little, "segments travel as little-endian f32");

SegmentStore::SegmentStore(const CollectiveOptions& options, std::int64_t elements,
                           std::shared_ptr<FloatBuffer> buffer)
    : buffer_(buffer ? std::move(buffer) : std::make_shared<FloatBuffer>(elements)),
      residual_(options.residual),
      residual_offset_(static_cast<std::size_t>(options.residual_offset)),
      input_(elements) {
  WEFT_CHECK(options.segment_bytes <= kFrameBodyBytesMax);
  WEFT_CHECK(static_cast<std::int64_t>(buffer_->span().size()) == elements);
  std::size_t wire_bytes = 0;
  for (const Segment& segment : plan_collective(options, elements)) {
    slots_.push_back({segment, 0, wire_bytes});
    if (segment.precision == WirePrecision::kF32) continue;
    const auto size = static_cast<std::size_t>(segment.elements);
    wire_bytes += encoded_bytes(segment.precision, size);
    const std::size_t end = residual_offset_ + static_cast<std::size_t>(segment.offset) + size;
    WEFT_CHECK(residual_ == nullptr || residual_->span().size() >= end);
  }
  if (wire_bytes > 0) {
    wire_ =
        std::make_shared<FloatBuffer>(static_cast<std::int64_t>(wire_bytes / sizeof(float) + 1));
  }
}

std::size_t SegmentStore::bytes_of(std::uint32_t index) const {
  return encoded_bytes(segment(index).precision, static_cast<std::size_t>(segment(index).elements));
}

std::span<float> SegmentStore::values(std::uint32_t index) const {
  return buffer_->span().subspan(static_cast<std::size_t>(segment(index).offset),
                                 static_cast<std::size_t>(segment(index).elements));
}

MutableByteSpan SegmentStore::place(std::uint32_t index) const {
  if (exact(index)) {
    const std::span<float> floats = values(index);
    return {reinterpret_cast<std::uint8_t*>(floats.data()), floats.size_bytes()};
  }
  auto* const bytes = reinterpret_cast<std::uint8_t*>(wire_->span().data());
  return {bytes + slots_[index].wire_offset, bytes_of(index)};
}

SharedBytes SegmentStore::shared(std::uint32_t index) const {
  return {exact(index) ? buffer_ : wire_, place(index)};
}

std::uint32_t SegmentStore::first_at(std::int64_t offset) const {
  auto slot = std::upper_bound(
      slots_.begin(), slots_.end(), offset,
      [](std::int64_t at, const Slot& other) { return at < other.segment.offset; });
  if (slot != slots_.begin()) --slot;
  return static_cast<std::uint32_t>(slot - slots_.begin());
}

bool SegmentStore::cover(std::uint32_t index, std::int64_t begin, std::int64_t end) {
  Slot& slot = slots_[index];
  const std::int64_t slot_end = slot.segment.offset + slot.segment.elements;
  const std::int64_t added = std::min(end, slot_end) - std::max(begin, slot.segment.offset);
  if (added <= 0) return false;
  slot.covered += added;
  return slot.covered == slot.segment.elements;
}

void SegmentStore::read_input(std::uint32_t index) {
  input_.copy(segment(index).offset, values(index));
}

void SegmentStore::add_input(std::uint32_t index, ByteSpan received) {
  const std::span<float> sum = values(index);
  if (exact(index)) return input_.sum(segment(index).offset, received, sum);
  decode(segment(index).precision, received, sum);
  input_.sum(segment(index).offset, as_bytes(std::span<const float>(sum)), sum);
}

void SegmentStore::round(std::uint32_t index) {
  if (exact(index)) return;
  std::span<float> residual;
  if (residual_ != nullptr) {
    residual = residual_->span().subspan(
        residual_offset_ + static_cast<std::size_t>(segment(index).offset),
        static_cast<std::size_t>(segment(index).elements));
  }
  encode_keeping(segment(index).precision, values(index), place(index), residual);
}

void SegmentStore::keep(std::uint32_t index, ByteSpan received) {
  const MutableByteSpan out = place(index);
  if (received.data() != out.data()) std::memcpy(out.data(), received.data(), received.size());
}

void SegmentStore::read_place(std::uint32_t index) {
  if (!exact(index)) decode(segment(index).precision, place(index), values(index));
}

}  // namespace weft
