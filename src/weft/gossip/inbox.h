// Inbox: the parameter vectors that came from other members and wait to be mixed.
//
// Vectors stay in the pieces in which they came and are not copied: in one process, neighbours
// read the sender's own memory. Bounds: kVectorsPerPeerMax of one peer, the round at work (or the
// next) and the newest one ahead of it; vectors of at most `peers_max` peers.
//
// Where it stands: GossipCore owns one. Threads: one owner.
// Fails: kCorrupt for a piece that no correct member sends; nothing is kept of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "weft/base/bytes.h"
#include "weft/base/status.h"
#include "weft/wire/codec.h"
#include "weft/wire/gossip_message.h"

namespace weft {

inline constexpr std::size_t kVectorsPerPeerMax = 2;

// Peers to have room for: neighbours, those that have the edge alone, and as many that are just
// coming or going.
constexpr std::size_t inbox_peers(std::size_t degree) { return 4 * degree + 4; }

// Whether all values of the f32 bytes are finite.
bool all_finite(ByteSpan values);

// One vector, piece by piece.
class ReceivedVector {
 public:
  explicit ReceivedVector(const GossipParametersHead& head)
      : head_(head), pieces_(head.pieces()), missing_(head.pieces()) {}
  // kCorrupt: the wrong length, a piece twice, of another vector, or with a value not finite.
  Status add(const GossipParametersHead& head, SharedBytes body);
  bool complete() const { return missing_ == 0; }
  const GossipParametersHead& head() const { return head_; }
  // out[i] += weight * value[i]. REQUIRES: complete(), `out` of head().elements.
  void add_to(std::span<float> out, float weight) const;
  void copy_to(std::span<float> out) const;
  // The sum of the squared differences, in double and in one order. REQUIRES: as add_to().
  double squared_distance(std::span<const float> from) const;

 private:
  GossipParametersHead head_;
  std::vector<std::optional<SharedBytes>> pieces_;
  std::uint64_t missing_ = 0;
};

class Inbox {
 public:
  explicit Inbox(std::size_t peers_max) : peers_least_(peers_max), peers_max_(peers_max) {}

  // From now on there is room for as many peers, and at least for those of the beginning. What is
  // kept of more stays.
  void make_room(std::size_t peers) { peers_max_ = std::max(peers_least_, peers); }

  // False if there is no room for vectors of another peer; the piece is dropped then.
  // REQUIRES: head.round >= the round given to drop_before().
  Result<bool> add(const PeerId& from, const GossipParametersHead& head, SharedBytes body);
  // The complete vector of `from` for this round, or null.
  const ReceivedVector* find(const PeerId& from, Round round) const;
  // Forgets vectors of earlier rounds.
  void drop_before(Round round);
  // The link ended: drops all vectors of `from` except a complete one of `complete_round`.
  void drop_all_but(const PeerId& from, Round complete_round);
  void write_fingerprint(Writer& out) const;
  std::size_t vectors() const;

 private:
  const std::size_t peers_least_;
  std::size_t peers_max_;
  std::map<PeerId, std::map<Round, ReceivedVector>> by_peer_;
};

}  // namespace weft
