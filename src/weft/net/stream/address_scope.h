// AddressScope: from how far away an address can be reached, which says who may name it.
//
// An IPv4 address inside of an IPv6 one (mapped, NAT64, 6to4) counts as itself.
// Threads: any. Fails: never.
#pragma once

#include <asio/ip/address.hpp>

#include "weft/net/stream/medium.h"

namespace weft {

enum class AddressScope : std::uint8_t {
  kNone,    // no machine's: unspecified, multicast, reserved
  kHost,    // this machine's own
  kLink,    // of one wire: 169.254/16, fe80::/10
  kSite,    // a private network: 10/8, 172.16/12, 192.168/16, fc00::/7
  kShared,  // behind a provider's translation: 100.64/10
  kWorld,
};

// As IPv4 where it is an IPv4 address in another coat.
asio::ip::address plain_ip(asio::ip::address address);
asio::ip::address ip_of(const SocketAddress& address);
AddressScope scope_of(const asio::ip::address& address);
// A socket of this machine that has no address is kHost.
AddressScope scope_of(const SocketAddress& address);

}  // namespace weft
