// MeshRing: which members of a large group keep a link of their own, and the way between others.
//
// The members are in one order, the same at all of them. A member at place r keeps links to the
// places r + d and r - d for a few distances d: the powers of two, and those that the caller names.
// Both ends of a link compute the same. A packet goes to the linked member that is nearest to its
// target along the ring, so that each hop about halves the distance.
//
// IMPLEMENTATION: the powers of two are the fingers of Stoica et al., "Chord: a scalable
// peer-to-peer lookup service", SIGCOMM 2001, section 4.3, taken in both directions.
// Threads: a value. Fails: never.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <vector>

#include "weft/net/transport.h"

namespace weft {

class MeshRing {
 public:
  // Without members: nobody is a neighbour, and there is no way.
  MeshRing() = default;
  // `distances` in [1, members.size()), beside the powers of two. Up to `mesh_members` members are
  // all neighbours. REQUIRES: `self` is a member, and no member comes twice.
  MeshRing(const PeerId& self, std::vector<PeerAddress> members, const std::vector<int>& distances,
           std::size_t mesh_members);

  // Whether there are members that are no neighbours.
  bool sparse() const { return sparse_; }
  const std::vector<PeerAddress>& members() const { return members_; }
  // Null for a peer that is no member.
  const PeerAddress* find(const PeerId& peer) const;
  bool contains(const PeerId& peer) const { return places_.contains(peer); }
  // Whether this member and `peer` keep a link of their own.
  bool is_neighbour(const PeerId& peer) const;
  // How many members are neighbours of this one.
  int neighbours() const;
  // Those of `linked` that are nearer to `target` than this member is, the nearest first, and
  // `target` itself before all others. Peers that are no members are left out.
  std::vector<PeerId> toward(const PeerId& target, const std::set<PeerId>& linked) const;

 private:
  int size() const { return static_cast<int>(members_.size()); }
  // Along the ring, the shorter way round.
  int distance(int from, int to) const;

  std::vector<PeerAddress> members_;
  std::map<PeerId, int> places_;
  // One way round or the other.
  std::set<int> distances_;
  int place_ = 0;
  bool sparse_ = false;
};

}  // namespace weft
