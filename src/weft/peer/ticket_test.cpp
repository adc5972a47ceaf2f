#include "weft/peer/ticket.h"

#include <cctype>
#include <limits>

#include <gtest/gtest.h>

#include "weft/wire/codec.h"

namespace weft::ticket_test {
namespace {

constexpr std::int64_t kExpiry = 1'900'000'000;

Hash256 invitation_key() {
  Hash256 key{};
  key.fill(0x5a);
  return key;
}

Ticket sample() {
  Ticket ticket;
  ticket.run.fill(1);
  ticket.recipe_hash.fill(2);
  ticket.members.resize(2);
  ticket.members[0].id.bytes.fill(3);
  ticket.members[0].endpoints = {"192.0.2.1:7420", "[2001:db8::1]:7420"};
  ticket.members[1].id.bytes.fill(4);
  ticket.members[1].endpoints = {"trainer.example:7420"};
  ticket.invitation.fill(5);
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
      Sha256().update(as_bytes(std::string_view("weft1-"))).update(fields).finish();
  Bytes all = fields;
  all.insert(all.end(), hash.begin(), hash.begin() + 4);
  return "weft1-" + to_base32(all);
}

Bytes fields_of(const std::string& line) {
  const Bytes bytes = *from_base32(line.substr(6));
  return {bytes.begin(), bytes.end() - 4};
}

TEST(Ticket, IsOneLineThatReadsBackTheSame) {
  const std::string line = format_ticket(sample());
  EXPECT_EQ(line.substr(0, 6), "weft1-");
  EXPECT_EQ(line.find_first_not_of("abcdefghijklmnopqrstuvwxyz234567", 6), std::string::npos);
  const Result<Ticket> got = parse_ticket(line);
  ASSERT_TRUE(got.ok()) << got.status().to_string();
  EXPECT_EQ(got->run, sample().run);
  EXPECT_EQ(got->recipe_hash, sample().recipe_hash);
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
  const Status cut = parse_ticket("<weft join " + line.substr(0, 200) + ">").status();
  EXPECT_NE(cut.message().find("cut or mistyped"), std::string::npos) << cut.message();
  EXPECT_NE(cut.message().find("got 200 characters"), std::string::npos) << cut.message();
  EXPECT_EQ(parse_ticket("weft join weft1-...").status().message(),
            "ticket: expected the whole line that `weft run` printed, got its beginning");
  EXPECT_EQ(parse_ticket("weft join weft2-aaaa").status().message(),
            "ticket: expected version weft1-, got 'weft2-'; both sides need the same Weft version");
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
            "ticket: expected a line that begins with weft1-, got '?[2J'");
  EXPECT_EQ(parse_ticket("weft2-aaaa").status().message(),
            "ticket: expected version weft1-, got 'weft2-'; both sides need the same Weft version");
  EXPECT_EQ(parse_ticket("weft1-" + std::string(9000, 'a')).status().message(),
            "ticket: expected at most 8192 characters, got 9006");
}

TEST(Ticket, RefusesFieldsOutOfBoundsUnderAGoodChecksum) {
  const Bytes fields = fields_of(format_ticket(sample()));
  for (std::size_t size = 0; size < fields.size(); ++size) {
    const Bytes prefix(fields.begin(), fields.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(parse_ticket(line_of(prefix)).status().code(), Code::kInvalidArgument) << size;
  }
  const auto head = [] { return Writer().raw(Hash256{}).raw(Hash256{}); };
  const auto message = [](const Bytes& bytes) {
    return parse_ticket(line_of(bytes)).status().message();
  };
  EXPECT_EQ(message(head().u32(0).take()), "ticket.members: expected at least one");
  EXPECT_EQ(message(head().u32(9).take()), "ticket.members: expected at most 8 entries, got 9");
  EXPECT_EQ(message(head().u32(1).peer({}).u32(0).take()),
            "ticket.member.endpoints: expected at least one address");
  EXPECT_EQ(message(head().u32(1).peer({}).u32(5).take()),
            "ticket.member.endpoints: expected at most 4 entries, got 5");
  EXPECT_EQ(message(head().u32(1).peer({}).u32(1).text("nowhere").take()),
            "ticket.member.endpoint: expected host:port");
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
