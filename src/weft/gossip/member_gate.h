// MemberGate: lets a link reach the GossipCore once both ends have shown that they may take part.
//
// Members hold the run's invitation key and prove it to each other on every link (MemberProof). A
// newcomer proves its ticket (JoinRequest) to a member of that ticket, which gives it the key. Each
// end sends *welcome* once it has checked the other's proof; a link is admitted where both have.
//
// Bounds: over an unproved link at most a stranger's frames are received (LinkTrust), within
// `timeout`; with more than `strangers_max` of them the new one is closed. A stranger gets the
// recipe once.
//
// Where it stands: LooseMember asks it before the core. Threads: one owner; no clock inside.
// Fails: a peer's fault ends its link; refused() has the reason why this newcomer is not let in.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/gossip/gossip_core.h"
#include "weft/net/transport.h"
#include "weft/peer/admission.h"
#include "weft/peer/ticket.h"

namespace weft {

struct MemberGateOptions {
  PeerId self;
  RunId run{};
  std::string recipe_text{};
  Hash256 recipe_hash{};
  Hash256 layout_hash{};
  InviteMode invite = InviteMode::kTicket;
  std::set<PeerId> allowed{};
  // The run's key, or else a ticket that leads to it.
  std::optional<Hash256> key{};
  std::optional<Ticket> ticket{};
  // The incarnation of this process; it is sent with the endpoints to the member that is asked for
  // admission.
  std::uint64_t incarnation = 1;
  std::vector<std::string> endpoints{};
  std::size_t strangers_max = 64;
  Duration timeout = std::chrono::seconds(10);
};

struct GateTrust {
  PeerId peer;
  LinkTrust trust;
};
using GateAction = std::variant<GossipSend, GossipClose, GateTrust>;

class MemberGate {
 public:
  explicit MemberGate(MemberGateOptions options) : options_(std::move(options)) {}

  void link_up(const LinkInfo& link, TimePoint now);
  void link_down(const PeerId& peer) { links_.erase(peer); }
  // True if the frame was for the gate; other frames are for the core if admitted() holds.
  bool receive(const PeerId& from, std::uint8_t type, ByteSpan head, std::int64_t now_unix_s);
  // From now on nobody is let in any more, and is given `why`; members' links stay welcome.
  void shut(std::string why) { shut_ = std::move(why); }
  // Where a peer that was let in by its ticket on this link can be dialled; empty for others.
  std::vector<std::string> endpoints_of(const PeerId& peer) const;
  // Closes the links that were not proved in time.
  void tick(TimePoint now);
  std::optional<TimePoint> next_deadline() const;

  std::vector<GateAction> take_actions();
  // Links that were admitted since the last call.
  std::vector<PeerId> take_admitted();
  bool admitted(const PeerId& peer) const;
  const std::optional<Hash256>& key() const { return options_.key; }
  const MemberGateOptions& options() const { return options_; }
  // Why members refuse this newcomer permanently; ok as long as none has.
  const Status& refused() const { return refused_; }

 private:
  struct Link {
    LinkInfo info;
    TimePoint since;
    bool asked = false;    // this end has sent its ticket
    bool proved = false;   // the other end has
    bool welcome = false;  // the other end has reported that this one has
    bool sent_recipe = false;
    std::optional<Hash256> proof{};  // it came before this end had the key to check it
    bool reported = false;
    std::vector<std::string> endpoints{};  // of its request to join
  };
  RunFacts facts() const;
  void show(Link& link);
  void close(const PeerId& peer, const Status& why);
  void refuse(const PeerId& peer, const JoinRefusedMessage& why);
  void prove(Link& link, const Hash256& given_key);
  void report_if_admitted(Link& link);
  Status on_recipe_request(Link& link, ByteSpan head, std::int64_t now_unix_s);
  Status on_join_request(Link& link, ByteSpan head, std::int64_t now_unix_s);
  Status on_member_proof(Link& link, ByteSpan head);
  Status check_member_proof(Link& link, const Hash256& hmac);
  Status on_welcome(Link& link, ByteSpan head);
  Status on_refused(Link& link, ByteSpan head);

  MemberGateOptions options_;
  std::map<PeerId, Link> links_;
  std::vector<GateAction> actions_;
  std::vector<PeerId> admitted_;
  Status refused_;
  std::optional<std::string> shut_;
};

}  // namespace weft
