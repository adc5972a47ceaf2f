// ChunkTable: the segments of a vector by the member that owns them, and what an owner computes.
//
// A chunk is here all that one member owns of a round's vector: its segments in order, one after
// the other. Threads: immutable. Fails: never.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/aggregate/aggregator.h"
#include "weft/base/bytes.h"
#include "weft/base/hash.h"
#include "weft/collective/reduce/segment_plan.h"

namespace weft {

class ChunkTable {
 public:
  ChunkTable(std::vector<Segment> segments, int members);

  std::uint32_t segment_count() const { return static_cast<std::uint32_t>(segments_.size()); }
  const Segment& segment(std::uint32_t index) const { return segments_[index]; }
  std::size_t bytes_of(std::uint32_t index) const {
    return static_cast<std::size_t>(segments_[index].elements) * sizeof(float);
  }
  int members() const { return static_cast<int>(chunks_.size()); }
  // The segments of that member's chunk, in order; empty where it owns none.
  std::span<const std::uint32_t> segments_of(Rank owner) const { return chunk(owner).segments; }
  std::size_t elements_of(Rank owner) const { return chunk(owner).elements; }
  bool owns(Rank owner) const { return chunk(owner).elements > 0; }
  // The first element of a segment in its chunk.
  std::size_t place(std::uint32_t index) const { return places_[index]; }

  // The chunk as one piece, and back.
  std::vector<float> taken_from(std::span<const float> vector, Rank owner) const;
  void put_into(std::span<float> vector, Rank owner, std::span<const float> values) const;
  // The SHA-256 of the chunk's values.
  Hash256 digest(std::span<const float> vector, Rank owner) const;

  // By rank a chunk's inputs, each as one piece; the distances are those of a ButterflyCollective,
  // bit by bit.
  Distances measure(Rank owner, std::span<const std::span<const float>> inputs) const;

 private:
  struct Chunk {
    std::vector<std::uint32_t> segments;
    std::size_t elements = 0;
  };
  const Chunk& chunk(Rank owner) const { return chunks_[static_cast<std::size_t>(owner.value())]; }

  std::vector<Segment> segments_;
  std::vector<std::size_t> places_;
  std::vector<Chunk> chunks_;
};

}  // namespace weft
