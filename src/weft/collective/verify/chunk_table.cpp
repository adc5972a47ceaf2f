#include "weft/collective/verify/chunk_table.h"

#include <algorithm>
#include <utility>

namespace weft {

ChunkTable::ChunkTable(std::vector<Segment> segments, int members)
    : segments_(std::move(segments)), chunks_(static_cast<std::size_t>(members)) {
  for (std::uint32_t index = 0; index < segment_count(); ++index) {
    Chunk& chunk = chunks_[static_cast<std::size_t>(segments_[index].owner.value())];
    places_.push_back(chunk.elements);
    chunk.segments.push_back(index);
    chunk.elements += static_cast<std::size_t>(segments_[index].elements);
  }
}

template <class Float>
static std::span<Float> part(std::span<Float> vector, const Segment& segment) {
  return vector.subspan(static_cast<std::size_t>(segment.offset),
                        static_cast<std::size_t>(segment.elements));
}

std::vector<float> ChunkTable::taken_from(std::span<const float> vector, Rank owner) const {
  std::vector<float> values;
  values.reserve(elements_of(owner));
  for (const std::uint32_t index : segments_of(owner)) {
    const std::span<const float> piece = part(vector, segments_[index]);
    values.insert(values.end(), piece.begin(), piece.end());
  }
  return values;
}

void ChunkTable::put_into(std::span<float> vector, Rank owner,
                          std::span<const float> values) const {
  for (const std::uint32_t index : segments_of(owner)) {
    const std::span<float> out = part(vector, segments_[index]);
    std::ranges::copy(values.subspan(places_[index], out.size()), out.begin());
  }
}

Hash256 ChunkTable::digest(std::span<const float> vector, Rank owner) const {
  Sha256 hash;
  for (const std::uint32_t index : segments_of(owner)) {
    hash.update(as_bytes(part(vector, segments_[index])));
  }
  return hash.finish();
}

Distances ChunkTable::measure(Rank owner, std::span<const std::span<const float>> inputs) const {
  Distances distances(members());
  for (const std::uint32_t index : segments_of(owner)) {
    std::vector<std::span<const float>> pieces;
    for (const std::span<const float> input : inputs) {
      pieces.push_back(
          input.subspan(places_[index], static_cast<std::size_t>(segments_[index].elements)));
    }
    distances.measure(pieces);
  }
  return distances;
}

}  // namespace weft
