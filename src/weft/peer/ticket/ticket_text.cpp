// The line of a ticket: how people paste it, its version, its checksum.
#include <algorithm>
#include <array>
#include <iterator>

#include <fmt/format.h>

#include "weft/peer/ticket.h"
#include "weft/peer/ticket/ticket_fields.h"
#include "weft/wire/printable.h"

namespace weft {

namespace {

constexpr std::string_view kPrefix = "weft2-";
constexpr std::size_t kChecksumBytes = 3;

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

// "weft2-", or that of another version.
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

// What to do about a ticket of another version of this format.
Status other_version(std::string_view text) {
  const std::string prefix = to_printable(text, text.find('-') + 1);
  if (prefix == "weft1-") {
    return invalid_argument(fmt::format(
        "ticket: '{}' is an older kind than {}, from an older version of Weft; start the members "
        "with this version, or ask one that runs it for a new ticket: weft ticket OUT",
        prefix, kPrefix));
  }
  return invalid_argument(
      fmt::format("ticket: expected version {}, got '{}'; both sides need the same Weft version",
                  kPrefix, prefix));
}

Status check_prefix(std::string_view text) {
  if (starts_like(text, kPrefix)) return {};
  if (starts_like(text, "weft") && text.substr(0, 8).find('-') != std::string_view::npos) {
    return other_version(text);
  }
  return invalid_argument(fmt::format("ticket: expected a line that begins with {}, got '{}'",
                                      kPrefix, to_printable(text, kPrefix.size())));
}

}  // namespace

std::string format_ticket(const Ticket& ticket) {
  Bytes bytes = encode_ticket_fields(ticket);
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
  return decode_ticket_fields(fields);
}

}  // namespace weft
