// Attacker: somebody who speaks to the members of a run in one of several roles, and what it knows.
//
// Threads: one. Fails: a try that cannot even begin says why in its outcome.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "contents.h"

namespace weft::hostile {

enum class Role : std::uint8_t {
  kStranger,  // a key of its own, nothing else
  kRevoked,   // shows a ticket that was taken back, first of all
  kFormer,    // was a member, and left or was lost
  kBanned,    // was a member, and was put out
  kJoiner,    // has proved a ticket, and takes the state
  kMember,    // the others have it in their view
};
std::optional<Role> parse_role(std::string_view name);

// How far into a connection a stranger goes before it says what it has to say.
enum class Stage : std::uint8_t { kPlain, kHandshake, kLink };

struct Try {
  std::uint64_t number = 0;
  Role role{};
  FrameKind kind;
  Content content{};
};

struct Outcome {
  Stage stage = Stage::kLink;
  // The connection or link that the try needs came about; if not, `error` says why.
  bool begun = false;
  std::string error;
  // The other side has ended it, and its words.
  bool ended = false;
  std::string farewell;
  std::size_t frames_sent = 0;
  // By type, after the first frame was sent; without goodbyes. It includes a companion's link.
  std::map<std::uint8_t, std::size_t> answers;
  std::size_t bytes_heard = 0;
  // Further connections of the bulk lane that the other side took.
  std::size_t widened = 0;
};

class Attacker {
 public:
  Attacker(std::uint64_t seed, std::vector<FrameKind> kinds)
      : seed_(seed), kinds_(std::move(kinds)) {}

  void add_target(const RawTarget& target) { targets_.push_back(target); }
  void set_trap(const std::string& endpoint) { knowledge_.now.trap = endpoint; }
  void set_ticket(const Ticket& ticket) { good_ = knowledge_.now.ticket = ticket; }
  void set_revoked(const Ticket& ticket) { revoked_ = ticket; }
  // kFormer, kBanned or kMember: speaks with the key in this file from now on.
  Status take_key(Role role, const std::string& path);
  // Joins far enough to know recipe, view, state and results, and records what members say.
  Status learn();
  Outcome attempt(const Try& what);
  // Members expect a sign of life from members and joiners now and then.
  void keep_alive();
  // Ends the links that last longer than a try.
  void rest();

 private:
  using Links = std::vector<std::unique_ptr<RawLink>>;

  Result<std::unique_ptr<RawLink>> open_link(const PeerIdentity& self, std::size_t target,
                                             Rng& rng);
  Status prove(RawLink& link, const Ticket& ticket);
  // The link of the try; a new one unless the role has one that lasts.
  Result<RawLink*> link_for(Role role, std::unique_ptr<RawLink>& own, Rng& rng);
  Result<RawLink*> joiner_link(Rng& rng);
  Result<RawLink*> member_link(Rng& rng);
  Outcome attempt_early(const Try& what, Stage stage, Rng& rng);
  Outcome attempt_on_link(const Try& what, Rng& rng);
  void prepare_facts(const RawLink& link, const Try& what, const RawLink* companion, Rng& rng);
  // What somebody in this role can show: only joiners, members and those who were put out hold a
  // ticket that was not taken back.
  Ticket ticket_for(Role role, Rng& rng) const;
  void send_heartbeat(RawLink& link);
  void absorb(RawLink& link);
  void absorb(const HeardFrame& frame);
  void learn_view(const ViewNoticeMessage& notice);
  const RawTarget& target_of(const RawLink& link) const;
  std::string draw_source(Rng& rng) const;

  std::uint64_t seed_;
  std::vector<FrameKind> kinds_;
  std::vector<RawTarget> targets_;
  Ticket good_;
  Ticket revoked_;
  Knowledge knowledge_;
  std::map<Role, PeerIdentity> keys_;
  std::unique_ptr<RawLink> joiner_;
  std::optional<PeerIdentity> joiner_key_;
  int joiner_logins_ = 0;
  // One a target.
  Links member_links_;
};

}  // namespace weft::hostile
