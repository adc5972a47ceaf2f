// Any bytes as a ticket: the line as it is, and the bytes as fields under a good checksum; and as a
// code.
#include <string>
#include <string_view>

#include "weft/base/check.h"
#include "weft/base/hash.h"
#include "weft/net/join_code.h"
#include "weft/peer/ticket.h"

namespace {

void check_line(std::string_view line) {
  const weft::Result<weft::Ticket> ticket = weft::parse_ticket(line);
  if (!ticket.ok()) {
    WEFT_CHECK(ticket.status().code() == weft::Code::kInvalidArgument);
    return;
  }
  const std::string text = weft::format_ticket(*ticket);
  const weft::Result<weft::Ticket> again = weft::parse_ticket(text);
  WEFT_CHECK(again.ok());
  WEFT_CHECK(weft::format_ticket(*again) == text);
  // Any expiry may be asked for at any time.
  WEFT_CHECK(weft::check_expiry(*ticket, 0).ok() == (ticket->expiry_unix_s > 0));
}

void check_code(std::string_view typed) {
  const weft::Result<weft::JoinCode> code = weft::parse_join_code(typed);
  if (!code.ok()) {
    WEFT_CHECK(code.status().code() == weft::Code::kInvalidArgument);
    return;
  }
  WEFT_CHECK(*weft::parse_join_code(weft::format_join_code(*code)) == *code);
}

// The checksum would hide the decoder behind it from random bytes.
std::string line_of(weft::ByteSpan fields) {
  const weft::Hash256 hash =
      weft::Sha256().update(weft::as_bytes(std::string_view("weft2-"))).update(fields).finish();
  weft::Bytes bytes(fields.begin(), fields.end());
  bytes.insert(bytes.end(), hash.begin(), hash.begin() + 3);
  return "weft2-" + weft::to_base32(bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const weft::ByteSpan bytes(data, size);
  check_line(weft::to_text(bytes));
  check_line(line_of(bytes));
  check_code(weft::to_text(bytes));
  return 0;
}
