// Finding a run: `weft join` without a ticket, and tickets whose addresses no longer answer.
//
// Where it stands: main -> peer_command -> here -> net/discovery_socket.h, net/rendezvous.h.
// Threads: the caller's, blocked for the limit. Fails: kUnavailable if nothing answers,
// kInvalidArgument for a person's answer that matches no run.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "weft/base/status.h"
#include "weft/net/discovery_socket.h"
#include "weft/net/rendezvous.h"
#include "weft/peer/ticket.h"

namespace weft {

struct FindRunOptions {
  // How long the local network is listened to.
  Duration limit = std::chrono::milliseconds(1500);
  // The same for the answer to a code, which comes from one member.
  Duration code_limit = std::chrono::milliseconds(2500);
  DiscoveryPlace place;
  // How a run's name or tag begins; empty: the person is asked.
  std::string wanted;
  // Nothing: no rendezvous is looked into.
  MakeRendezvousTable make_table;
  Duration rendezvous_limit = std::chrono::seconds(30);
};

// The person's line after a question; nothing at the end of the input.
using AskPerson = std::function<std::optional<std::string>(const std::string& question)>;

// One line per run, numbered from 1.
std::string run_list(const std::vector<DiscoveredRun>& runs);
// Asks which run, unless `wanted` names one, and for the ticket if it is not an open run.
Result<Ticket> choose_run(const std::vector<DiscoveredRun>& runs, const std::string& wanted,
                          const AskPerson& ask);
// Searches the local network and chooses. `show` gets the list.
Result<Ticket> find_run(const FindRunOptions& options, const AskPerson& ask,
                        const std::function<void(const std::string&)>& show);

// The ticket in `text`; or, if it is a code (net/join_code.h), the ticket from the member that
// issued it, which this searches on the local network. kUnavailable if nobody answers to the code.
Result<Ticket> ticket_or_code(const std::string& text, const FindRunOptions& options);

// `ticket` with `found` members before its own, each once, within its bounds.
Ticket with_members(Ticket ticket, const std::vector<PeerAddress>& found);
// Asks the local network, then the rendezvous, where the run's members are now. kUnavailable if
// neither knows any.
Result<Ticket> refresh_ticket(const Ticket& ticket, const FindRunOptions& options);

// Whether a person reads standard error and types into standard input.
bool is_terminal_there();
// On standard error and standard input.
std::optional<std::string> ask_on_terminal(const std::string& question);

}  // namespace weft
