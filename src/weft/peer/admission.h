// Admission: which peers a member accepts, and how much of its time strangers get.
//
// This has every check of a join request in one pure function, and the bounded set of strangers:
// peers that have only a link.
//
// Threads: one owner.
// Fails: refusals are values; each has the reason for the person at the other end.
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

// Whom a run admits.
enum class InviteMode : std::uint8_t {
  kOpen,       // every peer that has its id and an address
  kTicket,     // holders of an invitation that is neither expired nor revoked
  kAllowlist,  // the keys on a list; the link has proved the joiner's
};
// "open", "ticket" or "allowlist".
Result<InviteMode> parse_invite_mode(std::string_view text);

inline constexpr std::size_t kAllowedMax = 256;
// Peer ids of 64 hexadecimal digits, between blanks or commas; the message names the bad one.
Result<std::set<PeerId>> parse_allow_list(std::string_view text);

// The identity of this run; a joiner must name the same.
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

// How much of a member's time all strangers together get.
struct StrangerLimits {
  // At a time, of all and of one address (LinkInfo::origin): of too many the oldest goes.
  std::size_t count_max = 64;
  std::size_t of_address_max = 8;
  // Those among them that have shown a ticket and wait; they are counted by themselves.
  std::size_t holders_max = 128;
  // Limits of a stranger's frames and answers until it has proved a ticket.
  int frames_max = 8;
  std::size_t bytes_max = 16 * 1024;
  int answers_max = 1;
  // How many answers a former member that has shown no proof on this link gets in each `known_gap`.
  int known_answers_max = 4;
  Duration known_gap = std::chrono::milliseconds(250);
  // How long a stranger may stay, or may wait from one request to the next.
  Duration timeout = std::chrono::seconds(10);
};

// Links of peers that are neither members nor joiners.
class Strangers {
 public:
  explicit Strangers(const StrangerLimits& limits) : limits_(limits) {}

  // Adds it, if it is new; returns those whose links must be closed for it.
  std::vector<PeerId> add(const PeerId& peer, const std::string& origin, TimePoint now);
  // It has proved a ticket: its counts of frames and answers are reset. Returns as add().
  std::vector<PeerId> show_ticket(const PeerId& peer, TimePoint now);
  bool has_ticket(const PeerId& peer) const;
  // False if the stranger has used up its frames or bytes; true for a peer that is not in the set,
  // or has a ticket.
  bool count_frame(const PeerId& peer, std::size_t bytes);
  // The same of answers.
  bool count_answer(const PeerId& peer);
  // False if one that was a member was answered as often as it may be, just now.
  bool count_known_answer(const PeerId& peer, TimePoint now);
  bool answered(const PeerId& peer) const;
  void remove(const PeerId& peer) { strangers_.erase(peer); }
  bool contains(const PeerId& peer) const { return strangers_.count(peer) != 0; }
  std::size_t size() const { return strangers_.size(); }
  // Removes and returns those whose time is over.
  std::vector<PeerId> take_expired(TimePoint now);

 private:
  struct Stranger {
    std::string origin;
    TimePoint since;
    std::uint64_t number = 0;
    int frames = 0;
    std::size_t bytes = 0;
    int answers = 0;
    bool has_ticket = false;
    TimePoint known_since{};
    int known_answers = 0;
  };
  using Order = std::map<std::uint64_t, PeerId>;
  // The oldest first.
  Order in_order(bool with_ticket) const;

  StrangerLimits limits_;
  std::uint64_t made_ = 0;
  std::map<PeerId, Stranger> strangers_;
};

}  // namespace weft
