// Admission: whom a member lets in, and how much of its time strangers get.
//
// Every check of a join request in one pure function, and the two bounded sets: strangers, who
// have only a link, and joiners, who proved a ticket.
//
// Threads: one owner.
// Fails: refusals are values; each carries the reason for the person at the other end.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/peer/revocations.h"
#include "weft/peer/ticket.h"
#include "weft/wire/join_message.h"

namespace weft {

// Whom a run lets in.
enum class InviteMode : std::uint8_t {
  kOpen,       // everybody who has its id and an address
  kTicket,     // whoever holds an invitation that is neither expired nor revoked
  kAllowlist,  // the keys on a list; the link has proved the joiner's
};
// "open", "ticket" or "allowlist".
Result<InviteMode> parse_invite_mode(std::string_view text);

inline constexpr std::size_t kAllowedMax = 256;
// Peer ids of 64 hexadecimal digits, between blanks or commas; the message names the bad one.
Result<std::set<PeerId>> parse_allow_list(std::string_view text);

// What this run is; a joiner must name the same.
struct RunFacts {
  RunId run{};
  Hash256 recipe_hash{};
  Hash256 layout_hash{};
  Hash256 invitation_key{};
  InviteMode invite = InviteMode::kTicket;
  // Borrowed; null for none.
  const std::set<PeerId>* allowed = nullptr;
  const Revocations* revocations = nullptr;
};

// Why the proof is not enough, or nothing. `now_unix_s` in seconds since 1970.
std::optional<JoinRefusedMessage> refuse_proof(const RunFacts& facts, const JoinProof& proof,
                                               ProofPurpose purpose, const ProofLink& link,
                                               std::int64_t now_unix_s);
// As refuse_proof, and why the joiner does not fit this run.
std::optional<JoinRefusedMessage> refuse_join(const RunFacts& facts,
                                              const JoinRequestMessage& request,
                                              const ProofLink& link, std::int64_t now_unix_s);
// True where asking another member, or later, cannot help.
bool final_refusal(RefusalCode code);

// Links of peers that are neither members nor joiners.
class Strangers {
 public:
  // Each may stay for `timeout` and send `frames_max` frames; at most `count_max` at a time.
  Strangers(int count_max, int frames_max, Duration timeout)
      : count_max_(count_max), frames_max_(frames_max), timeout_(timeout) {}

  // False if there are too many already.
  bool add(const PeerId& peer, TimePoint now);
  // False if the stranger has used up its frames; true for a peer that is not in the set.
  bool count_frame(const PeerId& peer);
  void remove(const PeerId& peer) { strangers_.erase(peer); }
  bool contains(const PeerId& peer) const { return strangers_.count(peer) != 0; }
  // Removes and returns those whose time is over.
  std::vector<PeerId> take_expired(TimePoint now);

 private:
  struct Stranger {
    TimePoint since;
    int frames = 0;
  };

  int count_max_;
  int frames_max_;
  Duration timeout_;
  std::map<PeerId, Stranger> strangers_;
};

}  // namespace weft
