#include "weft/gossip/inbox.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "weft/base/check.h"
#include "weft/base/hash.h"

namespace weft {
namespace {

// Bodies begin anywhere in what was received, so values are copied out one by one.
float value_at(const std::uint8_t* bytes, std::size_t i) {
  float value = 0;
  std::memcpy(&value, bytes + i * sizeof value, sizeof value);
  return value;
}

}  // namespace

bool all_finite(ByteSpan values) {
  // An exponent of ones marks infinities and NaN; no early end, so that the loop is vectorised.
  std::uint32_t bad = 0;
  for (std::size_t i = 0; i < values.size() / sizeof(float); ++i) {
    std::uint32_t word = 0;
    std::memcpy(&word, values.data() + i * sizeof word, sizeof word);
    bad |= (word & 0x7f800000U) == 0x7f800000U ? 1U : 0U;
  }
  return bad == 0;
}

Status ReceivedVector::add(const GossipParametersHead& head, SharedBytes body) {
  const bool same = head.elements == head_.elements && head.degree == head_.degree &&
                    head.topology == head_.topology && head.newcomer == head_.newcomer;
  if (!same) return corrupt("gossip parameters: expected pieces of one vector, got of another");
  if (body.size() != head.piece_bytes()) {
    return corrupt(fmt::format("gossip parameters: expected a piece of {} bytes, got {}",
                               head.piece_bytes(), body.size()));
  }
  std::optional<SharedBytes>& place = pieces_[head.piece];
  if (place) {
    return corrupt(
        fmt::format("gossip parameters: expected each piece once, got {} of round {} "
                    "again",
                    head.piece, head.round.value()));
  }
  if (!all_finite(body.span())) {
    return corrupt("gossip parameters: expected finite values, got an infinity or no number");
  }
  place = std::move(body);
  --missing_;
  return {};
}

void ReceivedVector::add_to(std::span<float> out, float weight) const {
  WEFT_CHECK(complete() && out.size() == head_.elements);
  float* to = out.data();
  for (const std::optional<SharedBytes>& piece : pieces_) {
    const std::uint8_t* const bytes = piece->span().data();
    const std::size_t values = piece->size() / sizeof(float);
    for (std::size_t i = 0; i < values; ++i) to[i] += weight * value_at(bytes, i);
    to += values;
  }
}

void ReceivedVector::copy_to(std::span<float> out) const {
  WEFT_CHECK(complete() && out.size() == head_.elements);
  float* to = out.data();
  for (const std::optional<SharedBytes>& piece : pieces_) {
    std::memcpy(to, piece->span().data(), piece->size());
    to += piece->size() / sizeof(float);
  }
}

double ReceivedVector::squared_distance(std::span<const float> from) const {
  WEFT_CHECK(complete() && from.size() == head_.elements);
  // Several sums, so that additions need not wait for each other.
  constexpr std::size_t kPartialSums = 8;
  std::array<double, kPartialSums> sums{};
  const float* at = from.data();
  for (const std::optional<SharedBytes>& piece : pieces_) {
    const std::uint8_t* const bytes = piece->span().data();
    const std::size_t values = piece->size() / sizeof(float);
    for (std::size_t i = 0; i < values; ++i) {
      const double difference =
          static_cast<double>(value_at(bytes, i)) - static_cast<double>(at[i]);
      sums[i % kPartialSums] += difference * difference;
    }
    at += values;
  }
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

Result<bool> Inbox::add(const PeerId& from, const GossipParametersHead& head, SharedBytes body) {
  auto peer = by_peer_.find(from);
  if (peer == by_peer_.end()) {
    if (by_peer_.size() >= peers_max_) return false;
    peer = by_peer_.emplace(from, std::map<Round, ReceivedVector>()).first;
  }
  std::map<Round, ReceivedVector>& vectors = peer->second;
  auto vector = vectors.find(head.round);
  if (vector == vectors.end()) {
    if (vectors.size() >= kVectorsPerPeerMax) {
      // It was left behind: the first is of the round at work, and the newest is what to catch up
      // with.
      if (head.round < vectors.rbegin()->first) return true;
      vectors.erase(std::prev(vectors.end()));
    }
    vector = vectors.emplace(head.round, ReceivedVector(head)).first;
  }
  WEFT_TRY(vector->second.add(head, std::move(body)));
  return true;
}

const ReceivedVector* Inbox::find(const PeerId& from, Round round) const {
  const auto peer = by_peer_.find(from);
  if (peer == by_peer_.end()) return nullptr;
  const auto vector = peer->second.find(round);
  return vector == peer->second.end() || !vector->second.complete() ? nullptr : &vector->second;
}

void Inbox::drop_before(Round round) {
  for (auto peer = by_peer_.begin(); peer != by_peer_.end();) {
    std::map<Round, ReceivedVector>& vectors = peer->second;
    vectors.erase(vectors.begin(), vectors.lower_bound(round));
    peer = vectors.empty() ? by_peer_.erase(peer) : std::next(peer);
  }
}

void Inbox::drop_all_but(const PeerId& from, Round complete_round) {
  const auto peer = by_peer_.find(from);
  if (peer == by_peer_.end()) return;
  std::erase_if(peer->second, [&](const auto& entry) {
    return entry.first != complete_round || !entry.second.complete();
  });
  if (peer->second.empty()) by_peer_.erase(peer);
}

std::size_t Inbox::vectors() const {
  std::size_t count = 0;
  for (const auto& [peer, vectors] : by_peer_) count += vectors.size();
  return count;
}

void Inbox::write_fingerprint(Writer& out) const {
  out.u64(by_peer_.size());
  for (const auto& [peer, vectors] : by_peer_) {
    out.peer(peer).u64(vectors.size());
    for (const auto& [round, vector] : vectors) {
      out.round(round).u32(vector.head().degree).u8(vector.complete() ? 1 : 0);
    }
  }
}

}  // namespace weft
