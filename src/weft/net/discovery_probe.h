// Probes: how this machine stands in its network, for the person who asks why nothing connects.
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

// Addresses of this machine that others may reach, without ports.
std::vector<std::string> own_hosts();

// Listens at "host:port" for a moment; the endpoint it was, or the system's reason.
Result<std::string> probe_listen(const std::string& endpoint);

enum class DialOutcome : std::uint8_t {
  kConnected,
  kRefused,   // the machine is there, and nobody listens
  kNoAnswer,  // nothing came back: a firewall, a NAT, a machine that is off
  kNoRoute,   // this machine has no way there
  kNoName,    // the host has no address
  kOther
};

struct DialReport {
  DialOutcome outcome = DialOutcome::kOther;
  Duration took{};
  // The system's words.
  std::string text;
};

// One TCP connection to "host:port", opened and closed.
DialReport probe_dial(const std::string& endpoint, Duration limit);

// How STUN servers see one UDP socket of this machine.
struct StunView {
  std::string server;
  // "host:port" as it saw them, or why there is none.
  Result<std::string> mapped;
};
struct StunReport {
  std::uint16_t local_port = 0;
  std::vector<StunView> views;
};

// Asks all `servers` ("host:port") from one IPv4 socket.
Result<StunReport> probe_stun(const std::vector<std::string>& servers, Duration limit);

}  // namespace weft
