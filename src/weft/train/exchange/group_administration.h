// GroupAdministration: who is in a run's group, who may come in, who has to go, and what happens.
//
// No step sees it: what rounds need is RoundExchange. Every method has an answer where a group
// lacks the ability: kUnavailable with the reason, for people.
//
// Where it stands: the commands of a running peer (app/folder/control_commands.h) and the run loop
// -> here -> SwarmExchange and its siblings. Threads: any, but leave(), which is the training
// thread's. Fails: kTimeout where the network thread gives no answer; kUnavailable as above.
#pragma once

#include <string>
#include <vector>

#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/collective/parts/swarm_types.h"
#include "weft/peer/ticket.h"

namespace weft {

class GroupAdministration {
 public:
  virtual ~GroupAdministration() = default;
  virtual const PeerId& self() const = 0;
  virtual Result<SwarmStatus> status() = 0;
  // What has happened since the last call, oldest first; empty where the group reports nothing.
  virtual std::vector<SwarmEvent> take_events() = 0;

  // The text of a ticket that others can use from now on. kUnavailable where nobody can join.
  virtual Result<std::string> ticket(Duration valid_for) = 0;
  // A code by which peers of this network get the ticket of that line. kUnavailable where codes do
  // not exist.
  virtual Result<std::string> join_code(const std::string& ticket) = 0;
  // Makes a ticket void at all members. kUnavailable where there are none.
  virtual Status revoke(const InvitationId& invitation) = 0;
  // Votes to expel `peer`: a text about the votes so far. kUnavailable where members do not vote.
  virtual Result<std::string> expel(const PeerId& peer, const std::string& reason) = 0;

  // Parts from the others, who go on without this member; waits at most `limit` for their answer.
  virtual Status leave(Duration limit) = 0;
};

}  // namespace weft
