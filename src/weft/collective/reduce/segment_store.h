// SegmentStore: the memory of one collective: input, values and the encoded bytes.
//
// A segment has its values (f32, in the result buffer) and its place, the encoded bytes: the same
// memory for f32, otherwise in a separate buffer. The partial and the finished sum of a segment use
// one place: the finished one can only arrive after its owner has read the partial one, and it is
// sent on from there.
//
// Where it stands: RingCollective and ButterflyCollective own one. Threads: one owner. Fails:
// never; sizes are checked by the owner.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "weft/collective/reduce/collective.h"
#include "weft/collective/reduce/input_pieces.h"
#include "weft/collective/reduce/segment_plan.h"

namespace weft {

class SegmentStore {
 public:
  SegmentStore(const CollectiveOptions& options, std::int64_t elements,
               std::shared_ptr<FloatBuffer> buffer);

  std::uint32_t count() const { return static_cast<std::uint32_t>(slots_.size()); }
  const Segment& segment(std::uint32_t index) const { return slots_[index].segment; }
  std::size_t bytes_of(std::uint32_t index) const;
  std::span<float> values(std::uint32_t index) const;
  MutableByteSpan place(std::uint32_t index) const;
  // The place, which its holders keep alive.
  SharedBytes shared(std::uint32_t index) const;

  // Calls ready(index) for each segment whose input is now complete.
  template <class Ready>
  void contribute(std::int64_t offset, std::span<const float> values, Ready&& ready) {
    input_.add(offset, values);
    const std::int64_t end = offset + static_cast<std::int64_t>(values.size());
    for (std::uint32_t index = first_at(offset); index < count(); ++index) {
      if (segment(index).offset >= end) break;
      if (cover(index, offset, end)) ready(index);
    }
  }
  bool input_ready(std::uint32_t index) const {
    return slots_[index].covered == segment(index).elements;
  }

  // values = the input.
  void read_input(std::uint32_t index);
  // values = `received` (as it travels; may be the place itself) + the input.
  void add_input(std::uint32_t index, ByteSpan received);
  // The place = the values, rounded; the values become the rounded ones.
  void round(std::uint32_t index);
  // The place = `received`, unless the data is there already.
  void keep(std::uint32_t index, ByteSpan received);
  // values = the place.
  void read_place(std::uint32_t index);

  const std::shared_ptr<FloatBuffer>& buffer() const { return buffer_; }

 private:
  struct Slot {
    Segment segment;
    std::int64_t covered = 0;  // elements of the input that are here
    std::size_t wire_offset = 0;
  };
  bool exact(std::uint32_t index) const { return segment(index).precision == WirePrecision::kF32; }
  std::uint32_t first_at(std::int64_t offset) const;
  // True if that completed the input of the segment.
  bool cover(std::uint32_t index, std::int64_t begin, std::int64_t end);

  std::shared_ptr<FloatBuffer> buffer_;
  std::shared_ptr<FloatBuffer> wire_;
  std::shared_ptr<FloatBuffer> residual_;
  std::size_t residual_offset_;
  InputPieces input_;
  std::vector<Slot> slots_;
};

}  // namespace weft
