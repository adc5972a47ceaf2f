#include "weft/peer/ticket/ticket_fields.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include "weft/peer/second_half.h"
#include "weft/wire/codec.h"
#include "weft/wire/printable.h"

namespace weft {

namespace {

constexpr std::uint8_t kMembersMask = 0x0f;
constexpr std::uint8_t kRunInFull = 0x10;
constexpr std::uint8_t kInvitationInFull = 0x20;
constexpr std::uint8_t kSecretInFull = 0x40;

constexpr std::uint8_t kKindMask = 0x03;
constexpr std::uint8_t kPortAsBefore = 0x04;
constexpr std::uint8_t kLastOfMember = 0x08;
constexpr std::size_t kPortTextMax = 6;  // ":65535"
constexpr std::size_t kHostBytesMax = kEndpointBytesMax - kPortTextMax;

enum class HostKind : std::uint8_t { kV4 = 0, kV6 = 1, kName = 2, kLoopback = 3 };
constexpr std::string_view kLoopbackText = "127.0.0.1";

struct EndpointParts {
  HostKind kind = HostKind::kName;
  // The address, or the name.
  Bytes host;
  std::uint16_t port = 0;
};

// As the system writes it; `family` is that of the address's size.
template <std::size_t N>
std::string ip_as_text(int family, const std::array<std::uint8_t, N>& bytes) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  return ::inet_ntop(family, bytes.data(), text.data(), text.size()) == nullptr ? "" : text.data();
}

// The bytes of an address that reads back as `text`, character for character.
template <std::size_t N>
std::optional<Bytes> ip_as_bytes(int family, const std::string& text) {
  std::array<std::uint8_t, N> bytes{};
  if (::inet_pton(family, text.c_str(), bytes.data()) != 1) return std::nullopt;
  if (ip_as_text(family, bytes) != text) return std::nullopt;
  return Bytes(bytes.begin(), bytes.end());
}

// A name of any script would be escaped on its way; names in addresses are ASCII.
bool is_host(std::string_view host) {
  return !host.empty() && host.size() <= kHostBytesMax &&
         std::all_of(host.begin(), host.end(), [](char c) { return c > ' ' && c <= '~'; });
}

std::optional<EndpointParts> parts_of(const std::string& endpoint) {
  const std::size_t colon = endpoint.rfind(':');
  if (colon == std::string::npos) return std::nullopt;
  const std::string host = endpoint.substr(0, colon);
  EndpointParts parts;
  const char* const end = endpoint.data() + endpoint.size();
  const auto parsed = std::from_chars(endpoint.data() + colon + 1, end, parts.port);
  const bool is_port = parsed.ec == std::errc() && parsed.ptr == end;
  if (!is_port || endpoint != fmt::format("{}:{}", host, parts.port) || !is_host(host)) {
    return std::nullopt;
  }
  if (host == kLoopbackText) {
    parts.kind = HostKind::kLoopback;
    return parts;
  }
  if (auto v4 = ip_as_bytes<4>(AF_INET, host)) {
    return EndpointParts{HostKind::kV4, std::move(*v4), parts.port};
  }
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    if (auto v6 = ip_as_bytes<16>(AF_INET6, host.substr(1, host.size() - 2))) {
      return EndpointParts{HostKind::kV6, std::move(*v6), parts.port};
    }
  }
  parts.host = Bytes(host.begin(), host.end());
  return parts;
}

std::vector<EndpointParts> parts_of(const PeerAddress& member) {
  std::vector<EndpointParts> out;
  for (const std::string& endpoint : member.endpoints) {
    std::optional<EndpointParts> parts = parts_of(endpoint);
    if (parts && out.size() < kEndpointsMax) out.push_back(std::move(*parts));
  }
  return out;
}

// `port`: the one written last, or nothing so far.
void write_endpoint(Writer& out, const EndpointParts& parts, bool is_last,
                    std::optional<std::uint16_t>& port) {
  auto tag = static_cast<std::uint8_t>(parts.kind);
  if (port == parts.port) tag |= kPortAsBefore;
  if (is_last) tag |= kLastOfMember;
  out.u8(tag);
  if (port != parts.port) out.u16(parts.port);
  if (parts.kind == HostKind::kName) out.u8(static_cast<std::uint8_t>(parts.host.size()));
  out.raw(parts.host);
  port = parts.port;
}

std::string read_host(Reader& in, HostKind kind) {
  switch (kind) {
    case HostKind::kV4:
      return ip_as_text(AF_INET, in.raw<4>("member.endpoint"));
    case HostKind::kV6:
      return fmt::format("[{}]", ip_as_text(AF_INET6, in.raw<16>("member.endpoint")));
    case HostKind::kLoopback:
      return std::string(kLoopbackText);
    case HostKind::kName:
      break;
  }
  const std::size_t size = in.u8("member.endpoint");
  if (size > kHostBytesMax) in.fail("member.endpoint", "expected a shorter name");
  std::string host;
  for (std::size_t i = 0; i < size && !in.failed(); ++i) {
    host += static_cast<char>(in.u8("member.endpoint"));
  }
  if (!is_host(host)) in.fail("member.endpoint", "expected a host");
  return host;
}

// Whether another endpoint of the member follows.
bool read_endpoint(Reader& in, PeerAddress& member, std::optional<std::uint16_t>& port) {
  const std::uint8_t tag = in.u8("member.endpoint");
  if ((tag & ~(kKindMask | kPortAsBefore | kLastOfMember)) != 0) {
    in.fail("member.endpoint", "expected a kind of address that is known");
  }
  if ((tag & kPortAsBefore) == 0) {
    port = in.u16("member.port");
  } else if (!port) {
    in.fail("member.port", "expected a port with the first address");
  }
  const std::string host = read_host(in, static_cast<HostKind>(tag & kKindMask));
  member.endpoints.push_back(fmt::format("{}:{}", host, port.value_or(0)));
  return (tag & kLastOfMember) == 0;
}

void read_members(Reader& in, std::size_t count, Ticket& ticket) {
  std::optional<std::uint16_t> port;
  for (std::size_t i = 0; i < count && !in.failed(); ++i) {
    PeerAddress& member = ticket.members.emplace_back();
    member.id = in.peer("member.id");
    while (read_endpoint(in, member, port) && !in.failed()) {
      if (member.endpoints.size() == kEndpointsMax) {
        in.fail("member.endpoints", fmt::format("expected at most {} addresses", kEndpointsMax));
      }
    }
  }
}

template <std::size_t N>
void write_half(Writer& out, const std::array<std::uint8_t, N>& value, bool in_full) {
  out.raw(ByteSpan(value).first(in_full ? N : N / 2));
}

template <std::size_t N>
std::array<std::uint8_t, N> read_half(Reader& in, std::string_view field, bool in_full) {
  if (in_full) return in.raw<N>(field);
  const std::array<std::uint8_t, N / 2> half = in.raw<N / 2>(field);
  std::array<std::uint8_t, N> value{};
  std::copy(half.begin(), half.end(), value.begin());
  return with_second_half(value);
}

}  // namespace

Bytes encode_ticket_fields(const Ticket& ticket) {
  using Dialled = std::pair<PeerId, std::vector<EndpointParts>>;
  std::vector<Dialled> members;
  for (const PeerAddress& member : ticket.members) {
    std::vector<EndpointParts> parts = parts_of(member);
    if (!parts.empty() && members.size() < kTicketAddressesMax) {
      members.emplace_back(member.id, std::move(parts));
    }
  }
  const bool run = !has_second_half(ticket.run);
  const bool invitation = !has_second_half(ticket.invitation);
  const bool secret = !has_second_half(ticket.secret);
  auto head = static_cast<std::uint8_t>(members.size());
  head |= run ? kRunInFull : 0;
  head |= invitation ? kInvitationInFull : 0;
  head |= secret ? kSecretInFull : 0;
  Writer out;
  out.u8(head);
  write_half(out, ticket.run, run);
  out.raw(ticket.recipe);
  write_half(out, ticket.invitation, invitation);
  out.u32(static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(ticket.expiry_unix_s, 0, kTicketExpiryMax)));
  write_half(out, ticket.secret, secret);
  std::optional<std::uint16_t> port;
  for (const auto& [id, parts] : members) {
    out.peer(id);
    for (const EndpointParts& endpoint : parts) {
      write_endpoint(out, endpoint, &endpoint == &parts.back(), port);
    }
  }
  return out.take();
}

Result<Ticket> decode_ticket_fields(ByteSpan bytes) {
  Reader in("ticket", bytes);
  Ticket ticket;
  const std::uint8_t head = in.u8("head");
  const std::size_t members = head & kMembersMask;
  if ((head & ~(kMembersMask | kRunInFull | kInvitationInFull | kSecretInFull)) != 0) {
    in.fail("head", "expected no other bits");
  }
  if (members == 0) in.fail("members", "expected at least one");
  if (members > kTicketAddressesMax) {
    in.fail("members", fmt::format("expected at most {}, got {}", kTicketAddressesMax, members));
  }
  ticket.run = read_half<32>(in, "run", (head & kRunInFull) != 0);
  ticket.recipe = in.raw<16>("recipe");
  ticket.invitation = read_half<16>(in, "invitation", (head & kInvitationInFull) != 0);
  ticket.expiry_unix_s = in.u32("expiry");
  ticket.secret = read_half<32>(in, "secret", (head & kSecretInFull) != 0);
  read_members(in, members, ticket);
  // A ticket is what a person gave us, so a fault in it is theirs to mend.
  if (const Status status = in.finish(); !status.ok()) return invalid_argument(status.message());
  return ticket;
}

}  // namespace weft
