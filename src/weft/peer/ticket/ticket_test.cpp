#include "weft/peer/ticket.h"

#include <cctype>
#include <limits>

#include <gtest/gtest.h>

#include "weft/peer/second_half.h"
#include "weft/wire/codec.h"

namespace weft::ticket_test {
namespace {

constexpr std::int64_t kExpiry = 1'900'000'000;

Hash256 invitation_key() {
  Hash256 key{};
  key.fill(0x5a);
  return key;
}

template <class Array>
Array filled(std::uint8_t value) {
  Array out{};
  out.fill(value);
  return out;
}

Ticket sample() {
  Ticket ticket;
  ticket.run = with_second_half(filled<RunId>(1));
  ticket.recipe.fill(2);
  ticket.members.resize(2);
  ticket.members[0].id.bytes.fill(3);
  ticket.members[0].endpoints = {"192.0.2.1:7420", "[2001:db8::1]:7420"};
  ticket.members[1].id.bytes.fill(4);
  ticket.members[1].endpoints = {"trainer.example:7420"};
  ticket.invitation = make_invitation_id({5, 5, 5, 5, 5, 5, 5, 5});
  ticket.expiry_unix_s = kExpiry;
  ticket.secret = invitation_secret(invitation_key(), ticket.run, ticket.invitation, kExpiry);
  return ticket;
}

ProofLink link() {
  ProofLink out;
  out.joiner.bytes.fill(6);
  out.member.bytes.fill(3);
  out.exporter.fill(7);
  return out;
}

// A line whose checksum is right whatever the fields are.
std::string line_of(const Bytes& fields) {
  const Hash256 hash =
      Sha256().update(as_bytes(std::string_view("weft2-"))).update(fields).finish();
  Bytes all = fields;
  all.insert(all.end(), hash.begin(), hash.begin() + 3);
  return "weft2-" + to_base32(all);
}

Bytes fields_of(const std::string& line) {
  const Bytes bytes = *from_base32(line.substr(6));
  return {bytes.begin(), bytes.end() - 3};
}

TEST(Ticket, IsOneLineThatReadsBackTheSame) {
  const std::string line = format_ticket(sample());
  EXPECT_EQ(line.substr(0, 6), "weft2-");
  EXPECT_EQ(line.find_first_not_of("abcdefghijklmnopqrstuvwxyz234567", 6), std::string::npos);
  const Result<Ticket> got = parse_ticket(line);
  ASSERT_TRUE(got.ok()) << got.status().to_string();
  EXPECT_EQ(got->run, sample().run);
  EXPECT_EQ(got->recipe, sample().recipe);
  ASSERT_EQ(got->members.size(), 2U);
  EXPECT_EQ(got->members[0].id, sample().members[0].id);
  EXPECT_EQ(got->members[0].endpoints, sample().members[0].endpoints);
  EXPECT_EQ(got->members[1].endpoints, sample().members[1].endpoints);
  EXPECT_EQ(got->invitation, sample().invitation);
  EXPECT_EQ(got->expiry_unix_s, kExpiry);
  EXPECT_EQ(got->secret, sample().secret);
}

TEST(Ticket, SurvivesCapitalsAndBlanksAround) {
  std::string line = format_ticket(sample());
  for (char& letter : line) letter = static_cast<char>(std::toupper(letter));
  EXPECT_TRUE(parse_ticket("\n  " + line + " \r\n").ok());
}

TEST(Ticket, IsTakenAsPeoplePasteIt) {
  const std::string line = format_ticket(sample());
  std::string wrapped;
  for (std::size_t at = 0; at < line.size(); at += 76)
    wrapped += "> " + line.substr(at, 76) + "\r\n";
  std::string split = line;
  split.insert(100, " \\\n  ");
  for (const std::string& pasted :
       {wrapped, split, "\"" + line + "\"", "<" + line + ">", "`" + line + "`.",
        "weft join " + line, "weft join weft join " + line + "\n",
        "\xe2\x80\x9c"
        "Weft join " +
            line + "\xe2\x80\x9d",
        "please type: build/release/weft join '" + line + "'",
        line.substr(0, 50) + "\xc2\xa0" + line.substr(50)}) {
    const Result<Ticket> got = parse_ticket(pasted);
    ASSERT_TRUE(got.ok()) << pasted << "\n" << got.status().message();
    EXPECT_EQ(got->secret, sample().secret);
  }
}

TEST(Ticket, ACutOneIsSaidToBeCutHoweverItIsPasted) {
  const std::string line = format_ticket(sample());
  const Status cut = parse_ticket("<weft join " + line.substr(0, 150) + ">").status();
  EXPECT_NE(cut.message().find("cut or mistyped"), std::string::npos) << cut.message();
  EXPECT_NE(cut.message().find("got 150 characters"), std::string::npos) << cut.message();
  EXPECT_EQ(parse_ticket("weft join weft2-...").status().message(),
            "ticket: expected the whole line that `weft run` printed, got its beginning");
}

TEST(Ticket, EveryAlteredCharacterIsNoticed) {
  const std::string line = format_ticket(sample());
  for (std::size_t at = 0; at < line.size(); ++at) {
    std::string altered = line;
    altered[at] = altered[at] == 'q' ? 'r' : 'q';
    const Status status = parse_ticket(altered).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << "character " << at;
    if (at >= 6) {
      EXPECT_NE(status.message().find("cut or mistyped"), std::string::npos) << status.message();
    }
  }
}

TEST(Ticket, EveryCutLineIsNoticed) {
  const std::string line = format_ticket(sample());
  for (std::size_t size = 0; size < line.size(); ++size) {
    EXPECT_EQ(parse_ticket(line.substr(0, size)).status().code(), Code::kInvalidArgument) << size;
  }
  EXPECT_FALSE(parse_ticket(line + "a").ok());
}

TEST(Ticket, SaysWhatIsWrongWithALineThatIsNoTicket) {
  EXPECT_EQ(parse_ticket(" \n").status().message(), "ticket: expected a line, got nothing");
  EXPECT_EQ(parse_ticket("\x1b[2J").status().message(),
            "ticket: expected a line that begins with weft2-, got '?[2J'");
  EXPECT_EQ(parse_ticket("weft join weft3-aaaa").status().message(),
            "ticket: expected version weft2-, got 'weft3-'; both sides need the same Weft version");
  EXPECT_EQ(parse_ticket("weft1-aeaqcaibaeaq").status().message(),
            "ticket: 'weft1-' is an older kind than weft2-, from an older version of Weft; start "
            "the members with this version, or ask one that runs it for a new ticket: weft ticket "
            "OUT");
  EXPECT_EQ(parse_ticket("weft2-" + std::string(9000, 'a')).status().message(),
            "ticket: expected at most 8192 characters, got 9006");
}

TEST(Ticket, RefusesFieldsOutOfBoundsUnderAGoodChecksum) {
  const Bytes fields = fields_of(format_ticket(sample()));
  for (std::size_t size = 0; size < fields.size(); ++size) {
    const Bytes prefix(fields.begin(), fields.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(parse_ticket(line_of(prefix)).status().code(), Code::kInvalidArgument) << size;
  }
  const auto message = [](const Bytes& bytes) {
    return parse_ticket(line_of(bytes)).status().message();
  };
  // The head, and everything before the members.
  const auto begin = [](std::uint8_t head) {
    return Writer().u8(head).raw(Bytes(16 + 16 + 8)).u32(1).raw(Bytes(16));
  };
  EXPECT_EQ(message(begin(0).take()), "ticket.members: expected at least one");
  EXPECT_EQ(message(begin(9).take()), "ticket.members: expected at most 8, got 9");
  EXPECT_EQ(message(begin(0x81).take()), "ticket.head: expected no other bits");
  const auto member = [&] { return begin(1).raw(Bytes(32)); };
  EXPECT_EQ(message(member().u8(3).u16(1).u8(7).u8(7).u8(7).u8(7).take()),
            "ticket.member.endpoints: expected at most 4 addresses");
  EXPECT_EQ(message(member().u8(0x1b).u16(1).take()),
            "ticket.member.endpoint: expected a kind of address that is known");
  EXPECT_EQ(message(member().u8(0x0f).take()),
            "ticket.member.port: expected a port with the first address");
  EXPECT_EQ(message(member().u8(0x0a).u16(1).u8(0).take()),
            "ticket.member.endpoint: expected a host");
  EXPECT_EQ(message(member().u8(0x0a).u16(1).u8(3).raw(as_bytes(std::string_view("a b"))).take()),
            "ticket.member.endpoint: expected a host");
  EXPECT_EQ(message(member().u8(0x0a).u16(1).u8(91).raw(Bytes(91, 'a')).take()),
            "ticket.member.endpoint: expected a shorter name");
  EXPECT_EQ(message(member().u8(0x0b).u16(1).u8(0).take()),
            "ticket: expected its end, got 1 bytes more");
}

TEST(Ticket, IsShortForOneMember) {
  Ticket one = sample();
  one.members.resize(1);
  one.members[0].endpoints = {"192.0.2.1:7420", "10.0.0.12:7420"};
  EXPECT_EQ(format_ticket(one).size(), 179U);
  one.members[0].endpoints = {"192.0.2.1:7420", "127.0.0.1:7420"};
  EXPECT_EQ(format_ticket(one).size(), 173U);
  one.members[0].endpoints = {"192.0.2.1:7420", "[2001:db8::1]:7420"};
  EXPECT_EQ(format_ticket(one).size(), 198U);
}

// The line was written by tests/common/ticket_line.py.
TEST(Ticket, IsWhatAnotherEncoderWrites) {
  Ticket ticket = sample();
  ticket.members[0].endpoints.emplace_back("127.0.0.1:7420");
  ticket.members[1].endpoints = {"trainer.example:7421"};
  ticket.secret = with_second_half(filled<Hash256>(6));
  EXPECT_EQ(
      format_ticket(ticket),
      "weft2-aiaqcaibaeaqcaibaeaqcaibaeaqeaqcaibaeaqcaibaeaqcaibaebifaucqkbifaualgp3raydambqga"
      "ydambqgaydambqgaybqgaydambqgaydambqgaydambqgaydambqgaydambqgaydambqgah4dtaaaaqbauqacdny"
      "aaaaaaaaaaaaaaaaaaaq6baeaqcaibaeaqcaibaeaqcaibaeaqcaibaeaqcaibaeaqcaibaebl6ryd3uojqws3t"
      "foixgk6dbnvygyzicxh3q");
}

TEST(Ticket, HoldsValuesOfAnyKindAndLeavesOutWhatNobodyCanDial) {
  Ticket ticket = sample();
  ticket.run.fill(1);
  ticket.invitation.fill(5);
  ticket.secret.fill(6);
  // Written as people do, not as the system does: they come back so.
  ticket.members[0].endpoints = {"[2001:DB8::1]:7420", "host_1.example:80", "010.0.0.1:1",
                                 "[fe80::1%eth0]:65535"};
  ticket.members[1].endpoints = {"nowhere",     ":80",      "a b:1",
                                 "unix:/tmp/x", "host:007", "host:65536"};
  const Result<Ticket> got = parse_ticket(format_ticket(ticket));
  ASSERT_TRUE(got.ok()) << got.status().message();
  EXPECT_EQ(got->run, ticket.run);
  EXPECT_EQ(got->invitation, ticket.invitation);
  EXPECT_EQ(got->secret, ticket.secret);
  ASSERT_EQ(got->members.size(), 1U);
  EXPECT_EQ(got->members[0].endpoints, ticket.members[0].endpoints);
  ticket.members.erase(ticket.members.begin());
  EXPECT_EQ(parse_ticket(format_ticket(ticket)).status().message(),
            "ticket.members: expected at least one");
}

TEST(Ticket, AnExpiryOutOfItsRangeIsTakenToItsEnds) {
  Ticket ticket = sample();
  ticket.expiry_unix_s = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(parse_ticket(format_ticket(ticket))->expiry_unix_s, kTicketExpiryMax);
  ticket.expiry_unix_s = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(parse_ticket(format_ticket(ticket))->expiry_unix_s, 0);
}

TEST(Ticket, NamesItsRecipeForItsRunAndInvitationOnly) {
  const Hash256 recipe = filled<Hash256>(9);
  Ticket ticket = sample();
  ticket.recipe = recipe_check(ticket.run, ticket.invitation, recipe);
  EXPECT_TRUE(names_recipe(ticket, recipe));
  Hash256 other = recipe;
  other[31] ^= 1U;
  EXPECT_FALSE(names_recipe(ticket, other));
  ticket.invitation[15] ^= 1U;
  EXPECT_FALSE(names_recipe(ticket, recipe));
  ticket.invitation = sample().invitation;
  ticket.run[31] ^= 1U;
  EXPECT_FALSE(names_recipe(ticket, recipe));
}

TEST(Ticket, WhatAMemberMakesFollowsFromItsFirstHalf) {
  EXPECT_TRUE(has_second_half(sample().secret));
  EXPECT_TRUE(has_second_half(sample().invitation));
  EXPECT_TRUE(has_second_half(make_run_id({1}, {2})));
  EXPECT_FALSE(has_second_half(filled<Hash256>(1)));
  // No half is that of another.
  EXPECT_NE(make_invitation_id({1}), make_invitation_id({2}));
  EXPECT_NE(with_second_half(filled<Hash256>(1)), with_second_half(filled<Hash256>(2)));
}

TEST(Ticket, ExpiresAtItsSecondAndSaysHowLongAgo) {
  EXPECT_TRUE(check_expiry(sample(), kExpiry - 1).ok());
  EXPECT_EQ(check_expiry(sample(), kExpiry).message(),
            "ticket: expired 0 s ago; ask a member for a new one");
  EXPECT_EQ(check_expiry(sample(), kExpiry + 7200).message(),
            "ticket: expired 2 hours ago; ask a member for a new one");
  Ticket ancient = sample();
  ancient.expiry_unix_s = std::numeric_limits<std::int64_t>::min();
  EXPECT_FALSE(check_expiry(ancient, kExpiry).ok());
}

TEST(Ticket, ProofHoldsForOneLinkOnePurposeAndOneInvitation) {
  const Hash256 key = invitation_key();
  const JoinProof proof = make_proof(sample(), ProofPurpose::kJoin, link());
  EXPECT_TRUE(check_proof(proof, key, ProofPurpose::kJoin, link()));
  EXPECT_FALSE(check_proof(proof, key, ProofPurpose::kRecipe, link()));

  ProofLink other = link();
  other.exporter[31] ^= 1U;
  EXPECT_FALSE(check_proof(proof, key, ProofPurpose::kJoin, other));
  other = link();
  other.joiner.bytes[0] ^= 1U;
  EXPECT_FALSE(check_proof(proof, key, ProofPurpose::kJoin, other));
  other = link();
  other.member.bytes[0] ^= 1U;
  EXPECT_FALSE(check_proof(proof, key, ProofPurpose::kJoin, other));

  JoinProof altered = proof;
  altered.expiry_unix_s += 1;
  EXPECT_FALSE(check_proof(altered, key, ProofPurpose::kJoin, link()));
  altered = proof;
  altered.run[0] ^= 1U;
  EXPECT_FALSE(check_proof(altered, key, ProofPurpose::kJoin, link()));
  altered = proof;
  altered.invitation[0] ^= 1U;
  EXPECT_FALSE(check_proof(altered, key, ProofPurpose::kJoin, link()));
  Hash256 other_key = key;
  other_key[0] ^= 1U;
  EXPECT_FALSE(check_proof(proof, other_key, ProofPurpose::kJoin, link()));
}

TEST(Ticket, AHolderCannotProlongItsInvitation) {
  Ticket prolonged = sample();
  prolonged.expiry_unix_s += 3600;
  const JoinProof proof = make_proof(prolonged, ProofPurpose::kJoin, link());
  EXPECT_FALSE(check_proof(proof, invitation_key(), ProofPurpose::kJoin, link()));
}

TEST(Ticket, RunIdDependsOnRecipeAndNonce) {
  EXPECT_NE(make_run_id({1}, {2}), make_run_id({1}, {3}));
  EXPECT_NE(make_run_id({1}, {2}), make_run_id({2}, {2}));
  EXPECT_EQ(make_run_id({1}, {2}), make_run_id({1}, {2}));
}

}  // namespace
}  // namespace weft::ticket_test
