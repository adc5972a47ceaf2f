// Layout: the position of each parameter of a model in its arena. Peers with different hashes
// reject each other.
//
// Offsets are multiples of kAlignment elements (64 bytes); the gaps hold zeros.
// Threads: a value.
// Fails: add throws std::invalid_argument on a name that exists already.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/array/shape/shape.h"
#include "weft/base/hash.h"

namespace weft {

// kBuffer: kept and sent with the state, but trained by no gradient (running statistics).
enum class ParameterKind : std::uint8_t { kWeight, kBias, kNorm, kBuffer };

std::string_view to_string(ParameterKind kind);

struct LayoutEntry {
  std::string name;
  std::int64_t offset = 0;  // elements from the start of the arena
  Shape shape;
  ParameterKind kind = ParameterKind::kWeight;
  friend bool operator==(const LayoutEntry&, const LayoutEntry&) = default;
};

class Layout {
 public:
  static constexpr std::int64_t kAlignment = 16;  // elements

  // Returns the index of the new entry, which starts after all others.
  int add(std::string name, const Shape& shape, ParameterKind kind = ParameterKind::kWeight);

  const std::vector<LayoutEntry>& entries() const { return entries_; }
  const LayoutEntry& operator[](int i) const { return entries_[static_cast<std::size_t>(i)]; }
  int size() const { return static_cast<int>(entries_.size()); }
  // Elements of the arena, gaps included; a multiple of kAlignment.
  std::int64_t num_elements() const { return num_elements_; }
  // Elements that are parameters.
  std::int64_t num_parameters() const;
  // -1 if there is none.
  int find(std::string_view name) const;
  // The entry that holds element `offset` or the gap after it; -1 past the end. For reports.
  int find_offset(std::int64_t offset) const;

  // SHA-256 of a canonical text: one line "NAME OFFSET SHAPE KIND" per entry.
  Hash256 hash() const;
  friend bool operator==(const Layout&, const Layout&) = default;

 private:
  std::vector<LayoutEntry> entries_;
  std::int64_t num_elements_ = 0;
};

}  // namespace weft
