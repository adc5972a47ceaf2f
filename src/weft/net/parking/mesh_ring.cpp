#include "weft/net/parking/mesh_ring.h"

#include <algorithm>
#include <utility>

#include "weft/base/check.h"

namespace weft {

MeshRing::MeshRing(const PeerId& self, std::vector<PeerAddress> members,
                   const std::vector<int>& distances, std::size_t mesh_members)
    : members_(std::move(members)), sparse_(members_.size() > mesh_members) {
  for (int place = 0; place < size(); ++place) {
    places_.emplace(members_[static_cast<std::size_t>(place)].id, place);
  }
  WEFT_CHECK(places_.size() == members_.size() && places_.contains(self));
  place_ = places_.at(self);
  for (int step = 1; step < size(); step *= 2) distances_.insert(step);
  for (const int step : distances) {
    if (step > 0 && step < size()) distances_.insert(step);
  }
}

const PeerAddress* MeshRing::find(const PeerId& peer) const {
  const auto found = places_.find(peer);
  return found == places_.end() ? nullptr : &members_[static_cast<std::size_t>(found->second)];
}

bool MeshRing::is_neighbour(const PeerId& peer) const {
  const auto found = places_.find(peer);
  if (found == places_.end() || found->second == place_) return false;
  if (!sparse_) return true;
  const int ahead = (found->second - place_ + size()) % size();
  return distances_.contains(ahead) || distances_.contains(size() - ahead);
}

int MeshRing::neighbours() const {
  return static_cast<int>(
      std::count_if(members_.begin(), members_.end(),
                    [this](const PeerAddress& member) { return is_neighbour(member.id); }));
}

int MeshRing::distance(int from, int to) const {
  const int ahead = (to - from + size()) % size();
  return std::min(ahead, size() - ahead);
}

std::vector<PeerId> MeshRing::toward(const PeerId& target, const std::set<PeerId>& linked) const {
  const auto found = places_.find(target);
  if (found == places_.end()) return {};
  const int here = distance(place_, found->second);
  std::vector<std::pair<int, PeerId>> nearer;
  for (const PeerId& peer : linked) {
    const auto place = places_.find(peer);
    if (place == places_.end()) continue;
    const int there = distance(place->second, found->second);
    if (there < here) nearer.emplace_back(there, peer);
  }
  std::sort(nearer.begin(), nearer.end());
  std::vector<PeerId> out;
  out.reserve(nearer.size());
  for (const auto& [there, peer] : nearer) out.push_back(peer);
  return out;
}

}  // namespace weft
