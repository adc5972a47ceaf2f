#include "weft/net/stream/address_scope.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include <asio/ip/tcp.hpp>
#include <sys/socket.h>

namespace weft {

namespace {

using V6Bytes = asio::ip::address_v6::bytes_type;

bool begins_with(const V6Bytes& bytes, std::initializer_list<std::uint8_t> prefix) {
  return std::equal(prefix.begin(), prefix.end(), bytes.begin());
}

// Where an IPv6 address carries an IPv4 one.
std::optional<std::size_t> place_of_v4(const V6Bytes& bytes) {
  // ::ffff:a.b.c.d, and a.b.c.d behind a NAT64 router.
  if (begins_with(bytes, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff})) return 12;
  if (begins_with(bytes, {0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0})) return 12;
  // 6to4.
  if (begins_with(bytes, {0x20, 0x02})) return 2;
  return std::nullopt;
}

AddressScope scope_of_v4(const asio::ip::address_v4::bytes_type& bytes) {
  if (bytes[0] == 0 || bytes[0] >= 224) return AddressScope::kNone;
  if (bytes[0] == 127) return AddressScope::kHost;
  if (bytes[0] == 169 && bytes[1] == 254) return AddressScope::kLink;
  if (bytes[0] == 100 && (bytes[1] & 0xc0U) == 64) return AddressScope::kShared;
  const bool site = bytes[0] == 10 || (bytes[0] == 172 && (bytes[1] & 0xf0U) == 16) ||
                    (bytes[0] == 192 && bytes[1] == 168);
  return site ? AddressScope::kSite : AddressScope::kWorld;
}

}  // namespace

asio::ip::address plain_ip(asio::ip::address address) {
  if (!address.is_v6()) return address;
  const V6Bytes bytes = address.to_v6().to_bytes();
  const std::optional<std::size_t> place = place_of_v4(bytes);
  if (!place) return address;
  asio::ip::address_v4::bytes_type v4{};
  std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(*place), v4.size(), v4.begin());
  return asio::ip::address_v4(v4);
}

asio::ip::address ip_of(const SocketAddress& address) {
  asio::ip::tcp::endpoint endpoint;
  std::memcpy(endpoint.data(), address.data(), std::min(address.size(), endpoint.capacity()));
  endpoint.resize(std::min(address.size(), endpoint.capacity()));
  return endpoint.address();
}

AddressScope scope_of(const asio::ip::address& address) {
  const asio::ip::address plain = plain_ip(address);
  if (plain.is_v4()) return scope_of_v4(plain.to_v4().to_bytes());
  const asio::ip::address_v6 v6 = plain.to_v6();
  const V6Bytes bytes = v6.to_bytes();
  if (v6.is_loopback()) return AddressScope::kHost;
  // The rest of ::/96 held IPv4 addresses once.
  if (v6.is_multicast() || begins_with(bytes, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})) {
    return AddressScope::kNone;
  }
  if (v6.is_link_local()) return AddressScope::kLink;
  // Unique local, what was site-local, and a NAT64 of one's own.
  const bool site = (bytes[0] & 0xfeU) == 0xfc || v6.is_site_local() ||
                    begins_with(bytes, {0, 0x64, 0xff, 0x9b, 0, 1});
  return site ? AddressScope::kSite : AddressScope::kWorld;
}

AddressScope scope_of(const SocketAddress& address) {
  return address.protocol().family() == AF_UNIX ? AddressScope::kHost : scope_of(ip_of(address));
}

}  // namespace weft
