#include "weft/peer/ticket.h"

#include <algorithm>

#include <fmt/format.h>

#include "weft/wire/codec.h"
#include "weft/wire/printable.h"

namespace weft {

namespace {

constexpr std::string_view kPrefix = "weft1-";
constexpr std::size_t kChecksumBytes = 4;

// Before the checksum: run 32, recipe hash 32, count u32 x (peer 32, count u32 x endpoint text),
// invitation 16, expiry u64, secret 32.
Bytes encode_fields(const Ticket& ticket) {
  WEFT_CHECK(ticket.members.size() <= kTicketAddressesMax);
  Writer out;
  out.raw(ticket.run).raw(ticket.recipe_hash);
  out.u32(static_cast<std::uint32_t>(ticket.members.size()));
  for (const PeerAddress& member : ticket.members) {
    WEFT_CHECK(member.endpoints.size() <= kEndpointsMax);
    out.peer(member.id).u32(static_cast<std::uint32_t>(member.endpoints.size()));
    for (const std::string& endpoint : member.endpoints) {
      out.text(to_printable(endpoint, kEndpointBytesMax));
    }
  }
  out.raw(ticket.invitation).u64(static_cast<std::uint64_t>(ticket.expiry_unix_s));
  return out.raw(ticket.secret).take();
}

PeerAddress read_address(Reader& in) {
  PeerAddress address;
  address.id = in.peer("member.id");
  const std::uint32_t endpoints = in.count("member.endpoints", kEndpointsMax);
  if (endpoints == 0) in.fail("member.endpoints", "expected at least one address");
  for (std::uint32_t i = 0; i < endpoints && !in.failed(); ++i) {
    std::string endpoint = read_printable(in, "member.endpoint", kEndpointBytesMax);
    if (endpoint.find(':') == std::string::npos || endpoint.find(' ') != std::string::npos) {
      in.fail("member.endpoint", "expected host:port");
    }
    address.endpoints.push_back(std::move(endpoint));
  }
  return address;
}

Result<Ticket> decode_fields(ByteSpan bytes) {
  Reader in("ticket", bytes);
  Ticket ticket;
  ticket.run = in.raw<32>("run");
  ticket.recipe_hash = in.raw<32>("recipe_hash");
  const std::uint32_t members = in.count("members", kTicketAddressesMax);
  if (members == 0) in.fail("members", "expected at least one");
  for (std::uint32_t i = 0; i < members && !in.failed(); ++i) {
    ticket.members.push_back(read_address(in));
  }
  ticket.invitation = in.raw<16>("invitation");
  ticket.expiry_unix_s = static_cast<std::int64_t>(in.u64("expiry"));
  ticket.secret = in.raw<32>("secret");
  // A ticket is what a person gave us, so a fault in it is theirs to mend.
  if (const Status status = in.finish(); !status.ok()) return invalid_argument(status.message());
  return ticket;
}

std::array<std::uint8_t, kChecksumBytes> checksum(ByteSpan fields) {
  const Hash256 hash = Sha256().update(as_bytes(kPrefix)).update(fields).finish();
  std::array<std::uint8_t, kChecksumBytes> out{};
  std::copy_n(hash.begin(), kChecksumBytes, out.begin());
  return out;
}

bool starts_like(std::string_view text, std::string_view prefix) {
  const auto lower = [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  };
  return text.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), text.begin(),
                                                    [&](char a, char b) { return a == lower(b); });
}

// "weft1-", or that of another version.
bool begins_ticket(std::string_view text) {
  constexpr std::string_view kName = "weft";
  const auto is_digit = [](char letter) { return letter >= '0' && letter <= '9'; };
  return starts_like(text, kName) && text.size() > kName.size() + 1 && is_digit(text[4]) &&
         text.substr(5, 2).find('-') != std::string_view::npos;
}

// What mail programs, chats and shells put around a line and between its parts.
constexpr std::string_view kMarks[] = {" ",
                                       "\t",
                                       "\r",
                                       "\n",
                                       "\"",
                                       "'",
                                       "`",
                                       "<",
                                       ">",
                                       "\\",
                                       "\xc2\xa0",
                                       "\xc2\xab",
                                       "\xc2\xad",
                                       "\xc2\xbb",  // blank, << , -, >>
                                       "\xe2\x80\x8b",
                                       "\xe2\x80\x98",
                                       "\xe2\x80\x99",
                                       "\xe2\x80\x9c",
                                       "\xe2\x80\x9d",  // quotes
                                       "\xe2\x80\x9e",
                                       "\xe2\x80\xaf",
                                       "\xef\xbb\xbf"};

std::string without_marks(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto* const mark = std::find_if(std::begin(kMarks), std::end(kMarks),
                                          [&](auto known) { return text.starts_with(known); });
    if (mark == std::end(kMarks)) out += text[0];
    text.remove_prefix(mark == std::end(kMarks) ? 1 : mark->size());
  }
  return out;
}

// The ticket in what a person has pasted: wrapped over lines, quoted, in <>, or with the words
// "weft join" and others before it.
std::string pasted_ticket(std::string_view text) {
  std::string line = without_marks(text);
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (!begins_ticket(std::string_view(line).substr(at))) continue;
    line.erase(0, at);
    break;
  }
  constexpr std::string_view kStops = ".,;:)]";
  while (!line.empty() && kStops.find(line.back()) != std::string_view::npos) line.pop_back();
  return line;
}

Status check_prefix(std::string_view text) {
  if (starts_like(text, kPrefix)) return {};
  if (starts_like(text, "weft") && text.substr(0, 8).find('-') != std::string_view::npos) {
    return invalid_argument(
        fmt::format("ticket: expected version {}, got '{}'; both sides need the same Weft version",
                    kPrefix, to_printable(text, text.find('-') + 1)));
  }
  return invalid_argument(fmt::format("ticket: expected a line that begins with {}, got '{}'",
                                      kPrefix, to_printable(text, kPrefix.size())));
}

std::string in_words(std::int64_t seconds) {
  if (seconds < 120) return fmt::format("{} s", seconds);
  if (seconds < 2 * 3600) return fmt::format("{} minutes", seconds / 60);
  if (seconds < 2 * 86400) return fmt::format("{} hours", seconds / 3600);
  return fmt::format("{} days", seconds / 86400);
}

Hash256 proof_hmac(const Hash256& secret, const JoinProof& proof, ProofPurpose purpose,
                   const ProofLink& link) {
  Writer message;
  message.text("weft join proof")
      .u8(static_cast<std::uint8_t>(purpose))
      .u16(proof.version)
      .raw(proof.run)
      .raw(proof.invitation)
      .u64(static_cast<std::uint64_t>(proof.expiry_unix_s))
      .peer(link.joiner)
      .peer(link.member)
      .raw(link.exporter);
  return hmac_sha256(secret, message.written());
}

}  // namespace

std::string format_ticket(const Ticket& ticket) {
  Bytes bytes = encode_fields(ticket);
  const auto sum = checksum(bytes);
  bytes.insert(bytes.end(), sum.begin(), sum.end());
  return std::string(kPrefix) + to_base32(bytes);
}

Result<Ticket> parse_ticket(std::string_view text) {
  const std::string line = pasted_ticket(text);
  if (line.empty()) return invalid_argument("ticket: expected a line, got nothing");
  WEFT_TRY(check_prefix(line));
  if (line.size() == kPrefix.size()) {
    return invalid_argument(
        "ticket: expected the whole line that `weft run` printed, got its beginning");
  }
  if (line.size() > kTicketTextMax) {
    return invalid_argument(
        fmt::format("ticket: expected at most {} characters, got {}", kTicketTextMax, line.size()));
  }
  const auto cut = [&](std::string_view why) {
    return invalid_argument(
        fmt::format("ticket: it was cut or mistyped; copy the whole line again ({}; got {} "
                    "characters)",
                    to_printable(why, kReasonBytesMax), line.size()));
  };
  const Result<Bytes> bytes = from_base32(std::string_view(line).substr(kPrefix.size()));
  if (!bytes.ok()) return cut(bytes.status().message());
  const std::size_t fields_size = bytes->size() - std::min(bytes->size(), kChecksumBytes);
  const ByteSpan fields = ByteSpan(*bytes).first(fields_size);
  const auto expected = checksum(fields);
  if (!std::ranges::equal(ByteSpan(*bytes).subspan(fields_size), expected)) {
    return cut("its checksum is wrong");
  }
  return decode_fields(fields);
}

Status check_expiry(const Ticket& ticket, std::int64_t now_unix_s) {
  if (now_unix_s < ticket.expiry_unix_s) return {};
  // The expiry may be any number; the difference is taken where it cannot overflow.
  const std::int64_t ago = now_unix_s - std::max<std::int64_t>(ticket.expiry_unix_s, 0);
  return invalid_argument(
      fmt::format("ticket: expired {} ago; ask a member for a new one", in_words(ago)));
}

Hash256 invitation_secret(const Hash256& invitation_key, const RunId& run,
                          const InvitationId& invitation, std::int64_t expiry_unix_s) {
  const Bytes message = Writer()
                            .text("weft invitation")
                            .raw(run)
                            .raw(invitation)
                            .u64(static_cast<std::uint64_t>(expiry_unix_s))
                            .take();
  return hmac_sha256(invitation_key, message);
}

JoinProof make_proof(const Ticket& ticket, ProofPurpose purpose, const ProofLink& link) {
  JoinProof proof;
  proof.run = ticket.run;
  proof.invitation = ticket.invitation;
  proof.expiry_unix_s = ticket.expiry_unix_s;
  proof.hmac = proof_hmac(ticket.secret, proof, purpose, link);
  return proof;
}

bool check_proof(const JoinProof& proof, const Hash256& invitation_key, ProofPurpose purpose,
                 const ProofLink& link) {
  const Hash256 secret =
      invitation_secret(invitation_key, proof.run, proof.invitation, proof.expiry_unix_s);
  return equal_constant_time(proof_hmac(secret, proof, purpose, link), proof.hmac);
}

Hash256 member_proof(const Hash256& invitation_key, const RunId& run, const ProofLink& link) {
  const Bytes message = Writer()
                            .text("weft member")
                            .raw(run)
                            .raw(link.exporter)
                            .peer(link.joiner)
                            .peer(link.member)
                            .take();
  return hmac_sha256(invitation_key, message);
}

RunId make_run_id(const Hash256& recipe_hash, const Hash256& nonce) {
  return Sha256()
      .update(as_bytes(std::string_view("weft run")))
      .update(recipe_hash)
      .update(nonce)
      .finish();
}

}  // namespace weft
