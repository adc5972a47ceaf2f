// Judges the facts of a machine and its network: one pure function per step of `weft doctor`.
//
// Threads: functions of their arguments. Fails: never.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/app/doctor/doctor.h"
#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/net/discovery.h"
#include "weft/net/discovery_probe.h"
#include "weft/peer/ticket.h"

namespace weft {

struct ProcessorFacts {
  int cores = 0;
  // The instruction set of the loops in use (base/isa.h), and the others that are meant for use.
  std::string in_use;
  std::vector<std::string> also_here;
  std::vector<std::string> not_here;
  // The value of WEFT_ISA, if it is set.
  std::string asked;
};
Finding judge_processor(const ProcessorFacts& facts);

struct MemoryFacts {
  std::uint64_t total_bytes = 0;
  // What a new process may use, limited by the machine and by its control group.
  std::uint64_t free_bytes = 0;
};
Finding judge_memory(const MemoryFacts& facts);

struct DiskFacts {
  std::string folder;
  std::uint64_t free_bytes = 0;
  // Empty if files can be written there.
  std::string fault;
};
Finding judge_disk(const DiskFacts& facts);

struct ClockFacts {
  std::int64_t unix_time_s = 0;
  // Whether the system reports that its clock is synchronised.
  bool synchronised = false;
  // Other clocks minus ours, of members on the local network.
  std::vector<std::int64_t> ahead_s;
};
Finding judge_clock(const ClockFacts& facts);

Finding judge_files(std::uint64_t open_files_max);

Finding judge_listen(const std::string& wanted, const Result<std::string>& bound);

// From where an address can be reached.
enum class AddressKind : std::uint8_t { kPublic, kShared, kPrivate, kLocal };
// The kind of an address without port; kShared is a provider's own network (100.64.0.0/10).
AddressKind address_kind(const std::string& host);
// `hosts`: addresses of this machine, without port; those of kLocal do not count.
Finding judge_addresses(const std::vector<std::string>& hosts);
// Instead, where a run would listen at `listen`, which no other machine reaches.
Finding judge_own_address(const std::string& listen);

enum class NatKind : std::uint8_t {
  kUnknown,
  kNone,       // seen under an address of its own
  kSamePort,   // one mapping for all, and it keeps the port
  kCone,       // one mapping for all: holes can be punched
  kSymmetric,  // a mapping for each address: only a relay or an open port helps
  kSeen        // one server answered: there is a NAT, its kind is not known
};
// `own`: addresses of this machine, without port.
NatKind nat_kind(const std::vector<std::string>& own, const StunReport& report);
Finding judge_nat(const std::vector<std::string>& own, const Result<StunReport>& report);

// `endpoint`: the address that the router opened for this machine, according to `method`.
Finding judge_mapping(const Result<std::string>& endpoint, const std::string& method);

Finding judge_lan(const Result<std::vector<DiscoveredRun>>& runs);
Finding judge_ticket(const Result<Ticket>& ticket, std::int64_t now_unix_s);

struct EndpointReport {
  std::string endpoint;
  DialReport dial;
};
Finding judge_member(const PeerId& member, const std::vector<EndpointReport>& reports);
// Judges all members of a ticket together: one that answers is enough.
Finding judge_reach(int members, int reached);

}  // namespace weft
