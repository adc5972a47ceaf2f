// Team: an ordered subset of the members of one view, in which an exchange takes place.
//
// A team is derived from the view and a purpose by every member for itself, without a message. Its
// id covers the view, the purpose and the members, so that two members that derive different teams
// find that out from the id. These purposes have a meaning of their own:
//
//   "all"            every rank of the view, in its order
//   "even ranks"     ranks 0, 2, 4 ...
//   "odd ranks"      ranks 1, 3, 5 ...
//   "column C of N"  the ranks r with r mod N = C
//   "stage S of N"   the S-th of N blocks of consecutive ranks, whose sizes differ by one at most
//
// Columns and stages count from 0. Where the view is too small for such a team to have a member,
// one member stands in for it: rank C mod n, or the rank at which the empty block begins. So a
// purpose has a team in every view, and a round never lacks an exchange. Every rank of a view is in
// exactly one of the N stages or columns unless one member stands in.
//
// Threads: a value. Fails: kInvalidArgument with a text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/status.h"
#include "weft/base/strong.h"
#include "weft/wire/collective_message.h"
#include "weft/wire/ids.h"

namespace weft {

// A position in one team: 0 .. size - 1.
using TeamRank = Strong<struct TeamRankTag, std::int32_t>;

// The limits of a purpose: its characters, and the number of stages or columns that it may name.
inline constexpr std::size_t kPurposeBytesMax = 64;
inline constexpr int kTeamPartsMax = 4096;

class Team {
 public:
  // Without members.
  Team() = default;
  // Any members, in any order. REQUIRES: view_size > 0. Fails: no members, one twice, one that is
  // not in the view; a purpose that is empty or too long.
  static Result<Team> make(const ViewId& view, int view_size, std::string_view purpose,
                           std::vector<Rank> members);
  // The team of one of the purposes above. REQUIRES: view_size > 0. Fails: another purpose.
  static Result<Team> derive(const ViewId& view, int view_size, std::string_view purpose);

  const TeamId& id() const { return id_; }
  const std::string& purpose() const { return purpose_; }
  int size() const { return static_cast<int>(members_.size()); }
  int view_size() const { return static_cast<int>(ranks_.size()); }
  // By team rank.
  std::span<const Rank> members() const { return members_; }
  bool contains(Rank member) const { return rank_of(member).value() >= 0; }
  // TeamRank(-1) for a rank that is not in the team, or not in the view.
  TeamRank rank_of(Rank member) const;
  // REQUIRES: a rank of the team.
  Rank member(TeamRank rank) const { return members_[static_cast<std::size_t>(rank.value())]; }
  friend bool operator==(const Team& a, const Team& b) { return a.id_ == b.id_; }

 private:
  TeamId id_{};
  std::string purpose_;
  std::vector<Rank> members_;
  // By rank in the view: the rank in the team, or -1.
  std::vector<TeamRank> ranks_;
};

// Whether Team::derive() knows it.
Status check_purpose(std::string_view purpose);

}  // namespace weft
