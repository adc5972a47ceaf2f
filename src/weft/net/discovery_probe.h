// Probes of this machine's network, for a person who asks why nothing connects.
//
// Threads: each call blocks its caller, at most for the limit given (a name server may take its
// own time). Fails: the outcome is the answer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/base/status.h"
#include "weft/base/time.h"

namespace weft {

// Addresses of this machine that others may be able to reach, without ports.
std::vector<std::string> own_hosts();

// Listens at "host:port" for a moment. Returns the endpoint that it was bound to, or the system's
// reason.
Result<std::string> probe_listen(const std::string& endpoint);

enum class DialOutcome : std::uint8_t {
  kConnected,
  kRefused,   // the machine answers, but no process listens
  kNoAnswer,  // nothing came back: a firewall, a NAT, or a machine that is off
  kNoRoute,   // this machine has no route to it
  kNoName,    // the host has no address
  kOther
};

struct DialReport {
  DialOutcome outcome = DialOutcome::kOther;
  Duration took{};
  // The system's message.
  std::string text;
};

// Opens one TCP connection to "host:port" and closes it.
DialReport probe_dial(const std::string& endpoint, Duration limit);

// The address of one UDP socket of this machine as a STUN server sees it.
struct StunView {
  std::string server;
  // "host:port" as the server saw it, or why there is none.
  Result<std::string> mapped;
};
struct StunReport {
  std::uint16_t local_port = 0;
  std::vector<StunView> views;
};

// Asks all `servers` ("host:port") from one IPv4 socket.
Result<StunReport> probe_stun(const std::vector<std::string>& servers, Duration limit);

}  // namespace weft
