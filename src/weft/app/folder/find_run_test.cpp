#include "weft/app/folder/find_run.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/thread.h"
#include "weft/net/rendezvous_memory.h"

namespace weft::find_run_test {
namespace {

constexpr Duration kLimit = std::chrono::seconds(30);

template <class Array>
Array filled(std::uint8_t value) {
  Array out{};
  out.fill(value);
  return out;
}

PeerId peer(std::uint8_t number) { return {filled<Hash256>(number)}; }

DiscoveredRun run(std::uint8_t number, DiscoveryInvite invite) {
  DiscoveredRun out;
  out.tag = discovery_tag(filled<RunId>(number));
  out.name = "run " + std::to_string(number);
  out.invite = invite;
  DiscoveredMember member;
  member.id = peer(number);
  member.endpoints = {"192.0.2.1:7420"};
  member.source = "192.0.2.1";
  member.members = 3;
  if (invite == DiscoveryInvite::kOpen) {
    member.open = OpenInvitation{filled<RunId>(number), filled<Hash256>(5), filled<InvitationId>(6),
                                 1'900'000'000, filled<Hash256>(7)};
  }
  out.answers = {member};
  return out;
}

Ticket ticket(std::uint8_t number) {
  Ticket out;
  out.run = filled<RunId>(number);
  out.members = {{peer(40), {"198.51.100.1:1"}}};
  out.expiry_unix_s = 1'900'000'000;
  return out;
}

// Gives `lines` one after the other.
AskPerson answers(std::vector<std::string> lines) {
  auto left = std::make_shared<std::vector<std::string>>(std::move(lines));
  return [left](const std::string& /*question*/) -> std::optional<std::string> {
    if (left->empty()) return std::nullopt;
    std::string line = left->front();
    left->erase(left->begin());
    return line;
  };
}

const std::vector<DiscoveredRun> kRuns = {run(1, DiscoveryInvite::kTicket),
                                          run(2, DiscoveryInvite::kOpen)};

TEST(FindRun, AnOpenRunNeedsNothingButItsNumber) {
  const Result<Ticket> chosen = choose_run(kRuns, "", answers({"2"}));
  ASSERT_TRUE(chosen.ok()) << chosen.status().to_string();
  EXPECT_EQ(chosen->run, filled<RunId>(2));
  EXPECT_EQ(chosen->secret, filled<Hash256>(7));
  ASSERT_EQ(chosen->members.size(), 1U);
  EXPECT_EQ(chosen->members[0].id, peer(2));
}

TEST(FindRun, AClosedRunAsksForItsTicket) {
  const std::string line = format_ticket(ticket(1));
  const Result<Ticket> chosen = choose_run(kRuns, "", answers({"1", line}));
  ASSERT_TRUE(chosen.ok()) << chosen.status().to_string();
  EXPECT_EQ(chosen->run, filled<RunId>(1));
  EXPECT_EQ(choose_run(kRuns, "", answers({"1", format_ticket(ticket(3))})).status().message(),
            "join: the ticket is for another run than the one chosen");
  EXPECT_FALSE(choose_run(kRuns, "", answers({"1", "weft2-nonsense"})).ok());
  EXPECT_FALSE(choose_run(kRuns, "", answers({"1"})).ok());
}

TEST(FindRun, ARunIsNamedByItsNameOrItsTag) {
  EXPECT_TRUE(choose_run(kRuns, "run 2", answers({})).ok());
  EXPECT_FALSE(choose_run(kRuns, "run", answers({})).ok());
  EXPECT_TRUE(choose_run(kRuns, to_hex(kRuns[1].tag).substr(0, 8), answers({})).ok());
  EXPECT_EQ(choose_run(kRuns, "run 9", answers({})).status().code(), Code::kUnavailable);
  const std::vector<DiscoveredRun> twice = {kRuns[1], kRuns[1]};
  EXPECT_EQ(choose_run(twice, "run 2", answers({})).status().code(), Code::kInvalidArgument);
}

TEST(FindRun, WhatIsNoNumberIsRefused) {
  for (const char* line : {"", "0", "3", "-1", "two", "1 2", "99999999999999999999999"}) {
    EXPECT_EQ(choose_run(kRuns, "", answers({line})).status().code(), Code::kInvalidArgument)
        << line;
  }
  EXPECT_FALSE(choose_run(kRuns, "", answers({})).ok());
  EXPECT_EQ(choose_run({}, "", answers({"1"})).status().code(), Code::kUnavailable);
}

TEST(FindRun, TheListNamesEachRun) {
  const std::string list = run_list(kRuns);
  EXPECT_NE(list.find("  1  run 1"), std::string::npos) << list;
  EXPECT_NE(list.find("  2  run 2"), std::string::npos) << list;
  EXPECT_NE(list.find("open"), std::string::npos) << list;
  EXPECT_NE(list.find("at 192.0.2.1"), std::string::npos) << list;
}

TEST(FindRun, FoundMembersComeBeforeThoseOfTheTicket) {
  const std::vector<PeerAddress> found = {{peer(41), {"192.0.2.7:1"}},
                                          {peer(40), {"192.0.2.8:1", "198.51.100.1:1"}}};
  const Ticket mended = with_members(ticket(1), found);
  ASSERT_EQ(mended.members.size(), 2U);
  EXPECT_EQ(mended.members[0].id, peer(41));
  EXPECT_EQ(mended.members[1].endpoints,
            (std::vector<std::string>{"192.0.2.8:1", "198.51.100.1:1"}));
  std::vector<PeerAddress> many;
  for (int i = 0; i < 50; ++i) {
    many.push_back({peer(static_cast<std::uint8_t>(100 + i)), std::vector<std::string>(9, "h:1")});
    for (int at = 0; at < 9; ++at) many.back().endpoints.push_back("h:" + std::to_string(at + 2));
  }
  const Ticket full = with_members(ticket(1), many);
  EXPECT_EQ(full.members.size(), kTicketAddressesMax);
  EXPECT_TRUE(parse_ticket(format_ticket(full)).ok());
}

TEST(FindRun, ACodeIsToldFromATicketAndATypoFromACodeThatNobodyKnows) {
  FindRunOptions options;
  // A port on which nobody is.
  options.place.port = 1;
  options.code_limit = std::chrono::milliseconds(20);
  EXPECT_TRUE(ticket_or_code(format_ticket(ticket(1)), options).ok());
  const Status typo = ticket_or_code("k7q2m4-xd9fhj-2wpz8x", options).status();
  EXPECT_EQ(typo.code(), Code::kInvalidArgument);
  EXPECT_NE(typo.message().find("letter by letter"), std::string::npos) << typo.message();
  const Status unknown = ticket_or_code("K7Q2M4 XD9FHJ 2WPZ8Y", options).status();
  EXPECT_EQ(unknown.code(), Code::kUnavailable);
  EXPECT_NE(unknown.message().find("k7q2m4-xd9fhj-2wpz8y"), std::string::npos) << unknown.message();
  EXPECT_EQ(ticket_or_code("nonsense", options).status().code(), Code::kInvalidArgument);
}

TEST(FindRun, ATicketThatNobodyAnswersIsMendedFromTheRendezvous) {
  const auto store = std::make_shared<RendezvousStore>();
  const PeerIdentity member = PeerIdentity::generate();
  FindRunOptions options;
  // A port on which nobody is.
  options.place.port = 1;
  options.limit = std::chrono::milliseconds(20);
  EXPECT_EQ(refresh_ticket(ticket(1), options).status().code(), Code::kUnavailable);
  options.make_table = [store](EventLoop& loop) -> Result<std::unique_ptr<RendezvousTable>> {
    return std::unique_ptr<RendezvousTable>(std::make_unique<MemoryRendezvousTable>(loop, store));
  };
  options.rendezvous_limit = kLimit;
  store->with([&](auto& values) {
    values[rendezvous_key(filled<RunId>(1))] = {seal_rendezvous_record(
        member, filled<RunId>(1), {"192.0.2.5:7"}, SystemClock().unix_time_s())};
  });
  const Result<Ticket> mended = refresh_ticket(ticket(1), options);
  ASSERT_TRUE(mended.ok()) << mended.status().to_string();
  ASSERT_EQ(mended->members.size(), 2U);
  EXPECT_EQ(mended->members[0].id, member.id());
}

}  // namespace
}  // namespace weft::find_run_test
