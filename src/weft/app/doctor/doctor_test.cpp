#include "weft/app/doctor/doctor.h"

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "weft/app/doctor/doctor_checks.h"
#include "weft/app/doctor/doctor_facts.h"

namespace weft::doctor_test {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
constexpr std::int64_t kNow = 1'900'000'000;

// A fault without a way out helps nobody.
void expect(const Finding& finding, DoctorResult result, const std::string& part = "") {
  EXPECT_EQ(finding.result, result) << finding_text(finding);
  EXPECT_NE(finding.text.find(part), std::string::npos) << finding_text(finding);
  EXPECT_EQ(finding.remedy.empty(), result == DoctorResult::kGood) << finding_text(finding);
}

StunReport stun(std::uint16_t local_port, const std::vector<std::string>& mapped) {
  StunReport report;
  report.local_port = local_port;
  for (const std::string& seen : mapped) report.views.push_back({"stun.example:3478", seen});
  return report;
}

TEST(Doctor, JudgesTheMachine) {
  expect(judge_processor({8, "avx2", {"generic"}, {"avx512"}, ""}), DoctorResult::kGood,
         "loops for avx2; it also runs generic; it does not run avx512");
  expect(judge_processor({8, "generic", {}, {"avx2", "avx512"}, ""}), DoctorResult::kNote,
         "does not run avx2, avx512");
  expect(judge_processor({8, "generic", {"avx2"}, {}, "generic"}), DoctorResult::kNote,
         "(WEFT_ISA=generic)");
  expect(judge_processor({8, "generic", {}, {}, ""}), DoctorResult::kGood, "loops for generic");
  expect(judge_memory({8 * kGiB, 4 * kGiB}), DoctorResult::kGood, "4.0 GiB free of 8.0 GiB");
  expect(judge_memory({8 * kGiB, kGiB / 2}), DoctorResult::kNote);
  expect(judge_memory({8 * kGiB, kGiB / 8}), DoctorResult::kFailed);
  expect(judge_disk({"out", 20 * kGiB, ""}), DoctorResult::kGood);
  expect(judge_disk({"out", kGiB / 2, ""}), DoctorResult::kNote);
  expect(judge_disk({"out", 1, ""}), DoctorResult::kFailed);
  expect(judge_disk({"out", 20 * kGiB, "Permission denied"}), DoctorResult::kFailed, "Permission");
  expect(judge_files(4096), DoctorResult::kGood);
  expect(judge_files(256), DoctorResult::kNote);
  expect(judge_files(64), DoctorResult::kFailed);
}

TEST(Doctor, JudgesTheClockByOthersWhereThereAreAny) {
  expect(judge_clock({kNow, true, {}}), DoctorResult::kGood);
  expect(judge_clock({kNow, false, {}}), DoctorResult::kNote);
  expect(judge_clock({1'000'000, true, {}}), DoctorResult::kFailed);
  expect(judge_clock({kNow, false, {1, 2, 900'000}}), DoctorResult::kGood, "2 s behind");
  expect(judge_clock({kNow, true, {-90}}), DoctorResult::kNote, "90 s ahead of");
  expect(judge_clock({kNow, true, {4000, 4001}}), DoctorResult::kFailed);
}

TEST(Doctor, KnowsWhatAnAddressIsGoodFor) {
  EXPECT_EQ(address_kind("198.51.100.4"), AddressKind::kPublic);
  EXPECT_EQ(address_kind("2001:db8::1"), AddressKind::kPublic);
  EXPECT_EQ(address_kind("peer.example"), AddressKind::kPublic);
  EXPECT_EQ(address_kind("100.64.0.1"), AddressKind::kShared);
  EXPECT_EQ(address_kind("100.128.0.1"), AddressKind::kPublic);
  for (const char* address : {"10.1.2.3", "172.31.0.1", "192.168.1.1", "fd00::1"}) {
    EXPECT_EQ(address_kind(address), AddressKind::kPrivate) << address;
  }
  for (const char* address : {"127.0.0.1", "169.254.3.4", "0.0.0.0", "::1", "fe80::1"}) {
    EXPECT_EQ(address_kind(address), AddressKind::kLocal) << address;
  }
  expect(judge_addresses({"192.168.1.1", "127.0.0.1"}), DoctorResult::kNote, "private");
  expect(judge_addresses({"100.64.0.1"}), DoctorResult::kNote, "provider");
  expect(judge_addresses({"127.0.0.1"}), DoctorResult::kNote, "no network");
  expect(judge_own_address("127.0.0.1:0"), DoctorResult::kNote, "reached from this machine");
  expect(judge_addresses({"10.0.0.1", "2001:db8::1"}), DoctorResult::kGood, "2001:db8::1");
}

TEST(Doctor, TellsTheKindsOfNatApart) {
  const std::vector<std::string> own = {"192.168.1.7", "127.0.0.1"};
  EXPECT_EQ(nat_kind(own, stun(5000, {"192.168.1.7:5000"})), NatKind::kNone);
  EXPECT_EQ(nat_kind(own, stun(5000, {"203.0.113.9:5000", "203.0.113.9:5000"})),
            NatKind::kSamePort);
  EXPECT_EQ(nat_kind(own, stun(5000, {"203.0.113.9:61000", "203.0.113.9:61000"})), NatKind::kCone);
  EXPECT_EQ(nat_kind(own, stun(5000, {"203.0.113.9:61000", "203.0.113.9:61001"})),
            NatKind::kSymmetric);
  EXPECT_EQ(nat_kind(own, stun(5000, {"203.0.113.9:61000"})), NatKind::kSeen);
  EXPECT_EQ(nat_kind(own, stun(5000, {})), NatKind::kUnknown);
  expect(judge_nat(own, stun(5000, {"203.0.113.9:1", "203.0.113.9:2"})), DoctorResult::kNote,
         "another mapping");
  StunReport silent;
  silent.views.push_back({"stun.example:3478", timed_out("no answer")});
  expect(judge_nat(own, silent), DoctorResult::kFailed, "no answer");
  expect(judge_nat(own, unavailable("no socket")), DoctorResult::kFailed);
}

TEST(Doctor, AMappedPortHelpsOnlyOnAPublicAddress) {
  expect(judge_mapping(std::string("203.0.113.9:7420"), "UPnP"), DoctorResult::kGood,
         "UPnP opens 203.0.113.9:7420");
  expect(judge_mapping(std::string("192.168.0.7:7420"), "NAT-PMP"), DoctorResult::kNote);
  expect(judge_mapping(unavailable("no router answers"), ""), DoctorResult::kNote, "no router");
}

TEST(Doctor, NamesTheReasonWhyAMemberIsOutOfReach) {
  PeerId member;
  member.bytes.fill(7);
  const auto report = [](DialOutcome outcome, const char* text) {
    return EndpointReport{"192.0.2.1:7420", {outcome, {}, text}};
  };
  expect(judge_member(member, {report(DialOutcome::kNoAnswer, "timed out"),
                               report(DialOutcome::kConnected, "")}),
         DoctorResult::kGood, "answers in");
  const Finding refused = judge_member(member, {report(DialOutcome::kRefused, "refused")});
  expect(refused, DoctorResult::kNote, "refused");
  EXPECT_NE(refused.remedy.find("restarted"), std::string::npos);
  const Finding silent = judge_member(member, {report(DialOutcome::kNoAnswer, "timed out")});
  EXPECT_NE(silent.remedy.find("firewall"), std::string::npos);
  expect(judge_member(member, {report(DialOutcome::kNoRoute, "no route")}), DoctorResult::kNote);
  expect(judge_member(member, {report(DialOutcome::kNoName, "unknown")}), DoctorResult::kNote);
  expect(judge_reach(3, 1), DoctorResult::kGood);
  expect(judge_reach(3, 0), DoctorResult::kFailed, "0 of 3");
}

TEST(Doctor, JudgesTheTicketAndThePort) {
  Ticket ticket;
  ticket.members = {{PeerId{}, {"192.0.2.1:1"}}};
  ticket.expiry_unix_s = kNow + 7200;
  expect(judge_ticket(ticket, kNow), DoctorResult::kGood, "2 hours more");
  expect(judge_ticket(ticket, kNow + 7200), DoctorResult::kFailed, "expired");
  expect(judge_ticket(parse_ticket("nonsense"), kNow), DoctorResult::kFailed);
  expect(judge_listen("0.0.0.0:80", std::string("0.0.0.0:80")), DoctorResult::kGood);
  expect(judge_listen("0.0.0.0:80", unavailable("Permission denied")), DoctorResult::kFailed,
         "0.0.0.0:80: Permission denied");
  expect(judge_listen("x", invalid_argument("endpoint: expected HOST:PORT")),
         DoctorResult::kFailed);
}

TEST(Doctor, JudgesTheLocalNetwork) {
  expect(judge_lan(unavailable("no multicast")), DoctorResult::kNote, "no multicast");
  expect(judge_lan(std::vector<DiscoveredRun>()), DoctorResult::kNote, "no run");
  DiscoveredRun run;
  run.name = "digits";
  expect(judge_lan(std::vector<DiscoveredRun>{run}), DoctorResult::kGood, "digits");
}

TEST(Doctor, TheExitCodeSaysWhatToDo) {
  const auto finding = [](const char* step, DoctorResult result) {
    return Finding{step, result, "text", "remedy"};
  };
  EXPECT_EQ(findings_code({}), ExitCode::kOk);
  EXPECT_EQ(findings_code({finding("memory", DoctorResult::kNote)}), ExitCode::kOk);
  EXPECT_EQ(findings_code({finding("listen", DoctorResult::kFailed)}), ExitCode::kUnavailable);
  const std::vector<Finding> both = {finding("listen", DoctorResult::kFailed),
                                     finding("ticket", DoctorResult::kFailed)};
  EXPECT_EQ(findings_code(both), ExitCode::kUsage);
  EXPECT_EQ(findings_summary(both), "2 of 2 steps failed: listen, ticket");
  EXPECT_EQ(findings_summary({}), "no obstacle found");
  EXPECT_EQ(finding_text(both[0]),
            "FAILED listen           text\n                        -> remedy\n");
}

TEST(Doctor, AsksTheSystem) {
  const std::string meminfo = "MemTotal:  2048 kB\nMemAvailable:\t  1024 kB\nSwapTotal: 1 kB\n";
  EXPECT_EQ(meminfo_bytes(meminfo, "MemTotal"), 2048U * 1024);
  EXPECT_EQ(meminfo_bytes(meminfo, "MemAvailable"), 1024U * 1024);
  EXPECT_EQ(meminfo_bytes(meminfo, "MemFree"), 0U);
  EXPECT_EQ(meminfo_bytes("MemTotal:", "MemTotal"), 0U);
  EXPECT_GT(memory_facts().total_bytes, 0U);
  EXPECT_GT(processor_facts().cores, 0);
  EXPECT_FALSE(processor_facts().in_use.empty());
  EXPECT_GT(clock_facts().unix_time_s, kNow - 200'000'000);
  EXPECT_GT(open_files_max(), 0U);
  const std::string here = std::filesystem::temp_directory_path().string();
  const DiskFacts disk = disk_facts(here + "/not/there/yet");
  EXPECT_GT(disk.free_bytes, 0U);
  EXPECT_EQ(disk.fault, "");
  EXPECT_NE(disk_facts("/proc/version/x").fault, "");
}

}  // namespace
}  // namespace weft::doctor_test
