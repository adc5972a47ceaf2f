// ChunkInputs: received inputs of chunks, each checked against its contributor's commitment.
//
// An input may come from its contributor or from any other member that has it: one with the
// committed hash is right, wherever it comes from. The pieces from different members are kept
// apart, so that none can spoil another's.
//
// Where it stands: VerifiedButterfly owns one. Threads: one owner. Fails: never.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "weft/base/bytes.h"
#include "weft/base/hash.h"
#include "weft/collective/reduce/collective.h"
#include "weft/collective/verify/chunk_table.h"

namespace weft {

class ChunkInputs {
 public:
  struct From {
    Rank contributor;
    // The member that sends it.
    Rank source;
  };
  enum class Arrival : std::uint8_t {
    kIncomplete,
    kMatches,
    kDiffers,  // all of it came, and is forgotten
  };

  // Borrows `table`, which must outlive this.
  ChunkInputs(const ChunkTable& table, const ExchangeId& id, std::vector<PeerId> members)
      : table_(table), id_(id), members_(std::move(members)), committed_(members_.size()) {}

  // The digest that a member commits to for its part of `chunk`. It binds the round and the member,
  // so that no member can present another one's commitment as its own.
  Hash256 digest(Rank contributor, Rank chunk, std::span<const float> vector) const;

  // By owner. The first one stays.
  void commit(Rank contributor, std::vector<Hash256> digests);
  bool committed(Rank contributor) const { return committed_[index(contributor)].has_value(); }

  bool has(Rank chunk, Rank contributor) const {
    return inputs_.contains({chunk.value(), contributor.value()});
  }
  bool has_all(Rank chunk) const;
  // By rank. REQUIRES: has_all().
  std::vector<std::span<const float>> all(Rank chunk) const;
  // One piece of an input that is here.
  SharedBytes piece(std::uint32_t segment, Rank contributor) const;
  // This member's own.
  void put(Rank chunk, Rank contributor, std::span<const float> values);

  bool here(From from, std::uint32_t segment) const;
  // Where a segment goes; marked as here by arrived(). REQUIRES: the input is not here.
  MutableByteSpan place(From from, std::uint32_t segment);
  // REQUIRES: place() was called; the contributor has committed.
  Arrival arrived(From from, std::uint32_t segment);
  // The input is needed no more.
  void forget_chunk(Rank chunk);

 private:
  using Key = std::pair<int, int>;            // chunk, contributor
  using PartKey = std::tuple<int, int, int>;  // and the source
  struct Part {
    std::shared_ptr<FloatBuffer> values;
    std::vector<bool> here;
    std::size_t missing = 0;
  };
  static std::size_t index(Rank rank) { return static_cast<std::size_t>(rank.value()); }
  PartKey key(From from, std::uint32_t segment) const {
    return {table_.segment(segment).owner.value(), from.contributor.value(), from.source.value()};
  }
  // The number of a segment in its chunk.
  std::size_t number(std::uint32_t segment) const;
  Hash256 digest_of(Rank contributor, Rank chunk, std::span<const float> values) const;

  const ChunkTable& table_;
  const ExchangeId id_;
  const std::vector<PeerId> members_;
  std::vector<std::optional<std::vector<Hash256>>> committed_;
  std::map<Key, std::shared_ptr<FloatBuffer>> inputs_;
  std::map<PartKey, Part> parts_;
};

}  // namespace weft
