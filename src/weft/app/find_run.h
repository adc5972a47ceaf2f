// Finding a run: `weft join` without a ticket, and tickets whose addresses no longer answer.
//
// Where it stands: main -> peer_command -> here -> net/discovery_socket.h, net/rendezvous.h.
// Threads: the caller's, blocked for the limit. Fails: kUnavailable where nothing answers,
// kInvalidArgument for an answer of the person that fits nothing.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "weft/net/discovery_socket.h"
#include "weft/net/rendezvous.h"
#include "weft/peer/ticket.h"

namespace weft {

struct FindRunOptions {
  // How long the local network is listened to.
  Duration limit = std::chrono::milliseconds(1500);
  // The same for the answer to a code, which one member gives.
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

// One line a run, numbered from 1.
std::string run_list(const std::vector<DiscoveredRun>& runs);
// Asks which one, where `wanted` does not say it, and for the ticket of one that is not open.
Result<Ticket> choose_run(const std::vector<DiscoveredRun>& runs, const std::string& wanted,
                          const AskPerson& ask);
// Searches the local network and chooses. `show` gets the list.
Result<Ticket> find_run(const FindRunOptions& options, const AskPerson& ask,
                        const std::function<void(const std::string&)>& show);

// The ticket in `text`; or, where a code stands there (net/join_code.h), the one that the member
// who issued it gives: the local network is asked. kUnavailable where nobody answers to the code.
Result<Ticket> ticket_or_code(const std::string& text, const FindRunOptions& options);

// `ticket` with `found` members before its own, each once, within its bounds.
Ticket with_members(Ticket ticket, const std::vector<PeerAddress>& found);
// Asks the local network, then the rendezvous, where the run's members are by now. kUnavailable
// where neither knows any.
Result<Ticket> refresh_ticket(const Ticket& ticket, const FindRunOptions& options);

// Whether a person reads standard error and types into standard input.
bool is_terminal_there();
// On standard error and standard input.
std::optional<std::string> ask_on_terminal(const std::string& question);

}  // namespace weft
