// AddressScope: from how far away an address can be reached, which determines who may name it.
//
// An IPv4 address inside of an IPv6 one (mapped, NAT64, 6to4) counts as itself.
// Threads: any. Fails: never.
#pragma once

#include <asio/ip/address.hpp>

#include "weft/net/stream/medium.h"

namespace weft {

enum class AddressScope : std::uint8_t {
  kNone,    // the address of no machine: unspecified, multicast, reserved
  kHost,    // this machine's own address
  kLink,    // one network segment: 169.254/16, fe80::/10
  kSite,    // a private network: 10/8, 172.16/12, 192.168/16, fc00::/7
  kShared,  // behind a provider's translation: 100.64/10
  kWorld,
};

// Returns the IPv4 address if it is embedded in an IPv6 one, otherwise the address itself.
asio::ip::address plain_ip(asio::ip::address address);
asio::ip::address ip_of(const SocketAddress& address);
AddressScope scope_of(const asio::ip::address& address);
// A socket of this machine without an address is kHost.
AddressScope scope_of(const SocketAddress& address);

}  // namespace weft
