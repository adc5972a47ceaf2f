#include "weft/app/doctor/doctor_checks.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>
#include <utility>

#include <arpa/inet.h>
#include <fmt/format.h>

#include "weft/base/printable.h"

namespace weft {

namespace {

constexpr std::uint64_t kMiB = 1024 * 1024;
constexpr std::uint64_t kMemoryNeeded = 256 * kMiB;
constexpr std::uint64_t kMemoryComfortable = 1024 * kMiB;
constexpr std::uint64_t kDiskNeeded = 100 * kMiB;
constexpr std::uint64_t kDiskComfortable = 1024 * kMiB;
constexpr std::uint64_t kOpenFilesNeeded = 128;
constexpr std::uint64_t kOpenFilesComfortable = 1024;
// 2025-01-01: no clock that is right shows less.
constexpr std::int64_t kEarliestUnixTimeS = 1'735'689'600;
constexpr std::int64_t kClockNoteS = 60;
constexpr std::int64_t kClockFaultS = 3600;

Finding good(std::string step, std::string text) {
  return {std::move(step), DoctorResult::kGood, std::move(text), ""};
}
Finding note(std::string step, std::string text, std::string remedy) {
  return {std::move(step), DoctorResult::kNote, std::move(text), std::move(remedy)};
}
Finding failed_finding(std::string step, std::string text, std::string remedy) {
  return {std::move(step), DoctorResult::kFailed, std::move(text), std::move(remedy)};
}

std::string size_text(std::uint64_t bytes) {
  const auto mib = static_cast<double>(bytes) / static_cast<double>(kMiB);
  return mib < 1024 ? fmt::format("{:.0f} MiB", mib) : fmt::format("{:.1f} GiB", mib / 1024);
}

// The host of "host:port" or "[v6]:port".
std::string host_of(const std::string& endpoint) {
  std::string host = endpoint.substr(0, endpoint.rfind(':'));
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  return host;
}

std::string joined(const std::vector<std::string>& parts, const char* between) {
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : between) + part;
  return out;
}

std::int64_t median(std::vector<std::int64_t> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

Finding judge_processor(const ProcessorFacts& facts) {
  std::string text = fmt::format("{} cores, loops for {}", facts.cores, facts.in_use);
  if (!facts.asked.empty()) text += fmt::format(" (WEFT_ISA={})", facts.asked);
  if (!facts.also_here.empty()) {
    text += fmt::format("; it also runs {}", fmt::join(facts.also_here, ", "));
  }
  if (!facts.not_here.empty()) {
    text += fmt::format("; it does not run {}", fmt::join(facts.not_here, ", "));
  }
  if (facts.in_use != "generic" || (facts.also_here.empty() && facts.not_here.empty())) {
    return good("processor", text);
  }
  return note("processor", text,
              facts.also_here.empty()
                  ? "it will work, but several times slower; in a virtual machine let the host's "
                    "processor type through"
                  : "these loops are several times slower than others that run here: unset "
                    "WEFT_ISA");
}

Finding judge_memory(const MemoryFacts& facts) {
  const std::string text =
      fmt::format("{} free of {}", size_text(facts.free_bytes), size_text(facts.total_bytes));
  if (facts.total_bytes == 0) {
    return {"memory", DoctorResult::kSkipped, "the system does not report it", ""};
  }
  if (facts.free_bytes < kMemoryNeeded) {
    return failed_finding("memory", text,
                          "end other programs, or raise the limit of this container");
  }
  if (facts.free_bytes < kMemoryComfortable) {
    return note("memory", text, "enough for small models; run.micro_batch saves memory");
  }
  return good("memory", text);
}

Finding judge_disk(const DiskFacts& facts) {
  if (!facts.fault.empty()) {
    return failed_finding("disk", fmt::format("{}: {}", facts.folder, facts.fault),
                          "choose another folder with --out");
  }
  const std::string text = fmt::format("{} free in {}", size_text(facts.free_bytes), facts.folder);
  if (facts.free_bytes < kDiskNeeded) {
    return failed_finding("disk", text, "make room, or choose another folder with --out");
  }
  if (facts.free_bytes < kDiskComfortable) {
    return note("disk", text, "checkpoints of large models may not fit; checkpoint.keep = 1");
  }
  return good("disk", text);
}

Finding judge_clock(const ClockFacts& facts) {
  constexpr const char* kRemedy =
      "tickets expire by the clock: set it, and let the system keep it (timedatectl set-ntp "
      "true)";
  if (facts.unix_time_s < kEarliestUnixTimeS) {
    return failed_finding("clock", "it shows a time before 2025", kRemedy);
  }
  if (!facts.ahead_s.empty()) {
    const std::int64_t ahead = median(facts.ahead_s);
    const std::string text =
        fmt::format("{} s {} the clocks of {} on this network", std::abs(ahead),
                    ahead > 0 ? "behind" : "ahead of",
                    counted(static_cast<std::int64_t>(facts.ahead_s.size()), "member"));
    if (std::abs(ahead) > kClockFaultS) return failed_finding("clock", text, kRemedy);
    if (std::abs(ahead) > kClockNoteS) return note("clock", text, kRemedy);
    return good("clock", text);
  }
  if (facts.synchronised) return good("clock", "kept by the system");
  return note("clock", "not synchronised, as far as the system knows", kRemedy);
}

Finding judge_files(std::uint64_t open_files_max) {
  const std::string text = fmt::format("{} open files allowed", open_files_max);
  constexpr const char* kRemedy = "each other member needs two: ulimit -n 4096";
  if (open_files_max < kOpenFilesNeeded) return failed_finding("files", text, kRemedy);
  if (open_files_max < kOpenFilesComfortable) return note("files", text, kRemedy);
  return good("files", text);
}

Finding judge_listen(const std::string& wanted, const Result<std::string>& bound) {
  if (bound.ok()) return good("listen", fmt::format("{} is free", *bound));
  if (bound.status().code() == Code::kInvalidArgument) {
    return failed_finding("listen", bound.status().message(), "give --listen HOST:PORT");
  }
  return failed_finding("listen", fmt::format("{}: {}", wanted, bound.status().message()),
                        "another program may have the port, or the address is not this machine's: "
                        "--listen '*:0' takes any free port of any address");
}

AddressKind address_kind(const std::string& host) {
  std::array<std::uint8_t, 16> bytes{};
  if (::inet_pton(AF_INET, host.c_str(), bytes.data()) == 1) {
    if (bytes[0] == 127 || bytes[0] == 0 || (bytes[0] == 169 && bytes[1] == 254)) {
      return AddressKind::kLocal;
    }
    if (bytes[0] == 100 && (bytes[1] & 0xc0U) == 64) return AddressKind::kShared;
    const bool is_private = bytes[0] == 10 || (bytes[0] == 172 && (bytes[1] & 0xf0U) == 16) ||
                            (bytes[0] == 192 && bytes[1] == 168);
    return is_private ? AddressKind::kPrivate : AddressKind::kPublic;
  }
  if (::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1) {
    if ((bytes[0] & 0xe0U) == 0x20) return AddressKind::kPublic;
    if ((bytes[0] & 0xfeU) == 0xfc) return AddressKind::kPrivate;
    return AddressKind::kLocal;
  }
  // A name that a person gave to the world.
  return AddressKind::kPublic;
}

Finding judge_addresses(const std::vector<std::string>& hosts) {
  std::set<AddressKind> kinds;
  std::vector<std::string> outer;
  for (const std::string& host : hosts) {
    const AddressKind kind = address_kind(host);
    if (kind == AddressKind::kLocal) continue;
    kinds.insert(kind);
    outer.push_back(host);
  }
  const std::string text = joined(outer, ", ");
  if (kinds.count(AddressKind::kPublic) != 0) {
    return good("addresses", fmt::format("{}: others may reach this machine directly", text));
  }
  if (outer.empty()) {
    return note("addresses", "no network but this machine's own",
                "peers of this machine work; connect it to a network for others");
  }
  if (kinds.count(AddressKind::kShared) != 0) {
    return note("addresses", fmt::format("{}: the provider shares one address among many", text),
                "others reach this machine through a peer that both reach, or by IPv6");
  }
  return note("addresses", fmt::format("{}: private", text),
              "peers of this network reach this machine; for others forward the port of --listen "
              "in the router, or let a reachable peer found the run");
}

Finding judge_own_address(const std::string& listen) {
  return note(
      "addresses",
      fmt::format("{} can only be reached from this machine, and so can the run", listen),
      "others cannot take part or find it on the local network: use --listen '*:0' for them");
}

NatKind nat_kind(const std::vector<std::string>& own, const StunReport& report) {
  std::vector<std::string> mapped;
  for (const StunView& view : report.views) {
    if (view.mapped.ok()) mapped.push_back(*view.mapped);
  }
  if (mapped.empty()) return NatKind::kUnknown;
  const std::string& first = mapped.front();
  if (std::find(own.begin(), own.end(), host_of(first)) != own.end()) return NatKind::kNone;
  if (mapped.size() == 1) return NatKind::kSeen;
  const bool same = std::all_of(mapped.begin(), mapped.end(),
                                [&](const std::string& other) { return other == first; });
  if (!same) return NatKind::kSymmetric;
  const std::string port = fmt::format(":{}", report.local_port);
  const bool keeps = first.size() > port.size() &&
                     first.compare(first.size() - port.size(), port.size(), port) == 0;
  return keeps ? NatKind::kSamePort : NatKind::kCone;
}

Finding judge_nat(const std::vector<std::string>& own, const Result<StunReport>& report) {
  if (!report.ok()) return failed_finding("nat", report.status().message(), "look at the network");
  std::vector<std::string> views;
  for (const StunView& view : report->views) {
    const std::string& seen = view.mapped.ok() ? *view.mapped : view.mapped.status().message();
    views.push_back(fmt::format("{}: {}", view.server, seen));
  }
  const std::string text = joined(views, "; ");
  switch (nat_kind(own, *report)) {
    case NatKind::kNone:
      return good("nat", "none; " + text);
    case NatKind::kSamePort:
    case NatKind::kCone:
      return good("nat", "one mapping for all, holes can be punched; " + text);
    case NatKind::kSeen:
      return note("nat", "there is one; " + text, "give --stun a second server for its kind");
    case NatKind::kSymmetric:
      return note("nat", "another mapping for each address; " + text,
                  "holes cannot be punched: forward a port in the router, or rely on a relay");
    case NatKind::kUnknown:
      break;
  }
  return failed_finding("nat", text, "no server answers over UDP: a firewall may block it");
}

Finding judge_mapping(const Result<std::string>& endpoint, const std::string& method) {
  if (!endpoint.ok()) {
    return note("mapping", endpoint.status().message(),
                "forward the port of --listen in the router by hand, or turn its UPnP on");
  }
  const std::string text = fmt::format("{} opens {}", method, *endpoint);
  if (address_kind(host_of(*endpoint)) == AddressKind::kPublic) return good("mapping", text);
  return note("mapping", text,
              "the router is itself behind another: others reach this machine through a peer that "
              "both reach");
}

Finding judge_lan(const Result<std::vector<DiscoveredRun>>& runs) {
  if (!runs.ok()) {
    return note("local network", runs.status().message(),
                "runs are not found here without a ticket; with one everything else works");
  }
  if (runs->empty()) {
    return note("local network", "no run answers",
                "normal if none runs; wireless networks often block multicast");
  }
  std::vector<std::string> names;
  for (const DiscoveredRun& run : *runs) names.push_back(run.name);
  return good("local network",
              fmt::format("{}: {}", counted(static_cast<std::int64_t>(runs->size()), "run"),
                          printable(joined(names, ", "))));
}

Finding judge_ticket(const Result<Ticket>& ticket, std::int64_t now_unix_s) {
  if (!ticket.ok()) {
    const bool is_code = ticket.status().code() == Code::kUnavailable;
    return failed_finding("ticket", ticket.status().message(),
                          is_code ? "ask a member for a new one: weft ticket OUT --code"
                                  : "copy the whole line again");
  }
  if (const Status expiry = check_expiry(*ticket, now_unix_s); !expiry.ok()) {
    return failed_finding("ticket", expiry.message(),
                          "ask a member for a new one: weft ticket OUT");
  }
  const std::int64_t hours = (ticket->expiry_unix_s - now_unix_s) / 3600;
  const auto members = static_cast<std::int64_t>(ticket->members.size());
  return good("ticket", fmt::format("names {}, valid for {} more", counted(members, "member"),
                                    counted(hours, "hour")));
}

Finding judge_member(const PeerId& member, const std::vector<EndpointReport>& reports) {
  const std::string step = "member " + member.short_name();
  std::vector<std::string> texts;
  std::set<DialOutcome> outcomes;
  for (const EndpointReport& report : reports) {
    outcomes.insert(report.dial.outcome);
    if (report.dial.outcome == DialOutcome::kConnected) {
      return good(step, fmt::format("{} answers in {:.0f} ms", report.endpoint,
                                    1e3 * to_seconds(report.dial.took)));
    }
    texts.push_back(fmt::format("{}: {}", report.endpoint, report.dial.text));
  }
  const std::string text = joined(texts, "; ");
  if (outcomes.count(DialOutcome::kRefused) != 0) {
    return note(step, text, "its machine answers, the peer does not: it has ended, or restarted");
  }
  if (outcomes.count(DialOutcome::kNoAnswer) != 0) {
    return note(step, text,
                "a firewall or a NAT is in between, or the machine is off: try from its network, "
                "or open its port");
  }
  if (outcomes.count(DialOutcome::kNoName) != 0) {
    return note(step, text, "the name has no address: check the name servers");
  }
  return note(step, text, "this machine has no route there: check its network");
}

Finding judge_reach(int members, int reached) {
  const std::string text = fmt::format("{} of {} members of the ticket answer", reached, members);
  if (reached > 0) return good("reach", text);
  return failed_finding(
      "reach", text,
      "the steps above show why; a running member prints a newer ticket (weft ticket OUT), and "
      "`weft join TICKET --rendezvous HOST:PORT` asks where they are");
}

}  // namespace weft
