// RunPresence: how others find this peer while it is a member, and it them when it is alone.
//
// A member answers questions on the local network (net/discovery.h) and leaves its addresses in
// the rendezvous (net/rendezvous.h); an isolated one looks in both for the addresses that the
// others have by then, and dials those it has no link to. Neither is needed for a run: what cannot
// be opened is logged and left out.
//
// Where it stands: a Swarm and a GossipMember own one each. It is not part of the membership core.
// Threads: the loop's, whose role guards its state: the answers of a table and of the network come
// back over the loop. Fails: never.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/base/rng.h"
#include "weft/base/status.h"
#include "weft/net/discovery_socket.h"
#include "weft/net/rendezvous.h"
#include "weft/net/transport.h"
#include "weft/peer/ticket.h"

namespace weft {

struct PresenceOptions {
  // Set by what makes the presence.
  RunId run{};
  // Answer on the local network.
  bool on_lan = false;
  // Answer this machine alone, since no other could reach this peer.
  bool this_machine_only = false;
  DiscoveryPlace place;
  // The name of the run, for people.
  std::string name;
  DiscoveryInvite invite = DiscoveryInvite::kTicket;
  // Empty: this peer uses no rendezvous.
  MakeRendezvousTable make_table;
};

// What is announced.
struct PresenceFacts {
  // False: nothing is announced.
  bool is_member = false;
  bool is_isolated = false;
  // As far as this peer knows.
  std::uint32_t members = 1;
};

// The text of `ticket` without the last of its members where it would not fit into the answer to a
// query by code. The first member stays.
std::string format_code_ticket(Ticket ticket);

class RunPresence {
 public:
  // `facts` and, for an open run, `invitation` are called about once a second; the latter may
  // return the same invitation repeatedly. Borrows `loop` and `transport`, which must outlive this.
  struct Callbacks {
    std::function<PresenceFacts()> facts;
    // Whether it is one of the run's members, as far as this peer knows: others are not dialled.
    std::function<bool(const PeerId&)> knows;
    std::function<OpenInvitation()> invitation;
    // The text of a ticket of this run with the present members; nothing once it is void.
    std::function<std::optional<std::string>(const Ticket&)> renewed;
  };
  RunPresence(EventLoop& loop, Transport& transport, const PeerIdentity& identity,
              PresenceOptions options, Callbacks callbacks);
  ~RunPresence();
  RunPresence(const RunPresence&) = delete;
  RunPresence& operator=(const RunPresence&) = delete;

  // From now on queries by this code on the local network get this ticket, while this peer is a
  // member and the ticket is valid. kUnavailable if queries cannot be received.
  Status offer(const IssuedJoinCode& code, const Ticket& ticket);

 private:
  struct Offer {
    IssuedJoinCode code;
    Ticket ticket;
  };

  void open_table() WEFT_REQUIRES(loop_.thread());
  void look_again() WEFT_REQUIRES(loop_.thread());
  void show(const PresenceFacts& facts) WEFT_REQUIRES(loop_.thread());
  void show_codes() WEFT_REQUIRES(loop_.thread());
  void meet(const PresenceFacts& facts) WEFT_REQUIRES(loop_.thread());
  void ask_lan() WEFT_REQUIRES(loop_.thread());
  void dial(const std::vector<PeerAddress>& found) WEFT_REQUIRES(loop_.thread());

  EventLoop& loop_;
  Transport& transport_;
  PeerIdentity identity_;
  PresenceOptions options_;
  Callbacks callbacks_;
  std::unique_ptr<DiscoveryListener> listener_ WEFT_GUARDED_BY(loop_.thread());
  std::optional<OpenInvitation> invitation_ WEFT_GUARDED_BY(loop_.thread());
  // The newest last.
  std::vector<Offer> offers_ WEFT_GUARDED_BY(loop_.thread());
  std::unique_ptr<DiscoveryAsker> asker_ WEFT_GUARDED_BY(loop_.thread());
  TimePoint ask_at_ WEFT_GUARDED_BY(loop_.thread());
  std::unique_ptr<RendezvousTable> table_ WEFT_GUARDED_BY(loop_.thread());
  // The addresses that this peer had when the table was opened.
  std::vector<std::string> announced_ WEFT_GUARDED_BY(loop_.thread());
  std::optional<Rendezvous> rendezvous_ WEFT_GUARDED_BY(loop_.thread());
  TimePoint dial_at_ WEFT_GUARDED_BY(loop_.thread());
  TimerId timer_ WEFT_GUARDED_BY(loop_.thread());
};

}  // namespace weft
