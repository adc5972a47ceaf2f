#include "weft/net/discovery/interfaces.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>

namespace weft {

std::size_t size_of_family(int family) {
  return family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
}

// REQUIRES: `from` points to an address of `family`.
static SystemAddress copy_of(const sockaddr* from, int family) {
  SystemAddress out{};
  std::memcpy(&out.storage, from, size_of_family(family));
  out.any.sa_family = static_cast<sa_family_t>(family);
  return out;
}

Bytes ip_bytes(const SystemAddress& address) {
  const bool is_v4 = address.any.sa_family == AF_INET;
  Bytes out(is_v4 ? sizeof address.v4.sin_addr : sizeof address.v6.sin6_addr);
  if (is_v4) {
    std::memcpy(out.data(), &address.v4.sin_addr, out.size());
  } else {
    std::memcpy(out.data(), &address.v6.sin6_addr, out.size());
  }
  return out;
}

std::string ip_text(const SystemAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const Bytes bytes = ip_bytes(address);
  const int family = address.any.sa_family;
  if (::inet_ntop(family, bytes.data(), text.data(), text.size()) == nullptr) return "";
  return text.data();
}

std::vector<Interface> interfaces() {
  std::vector<Interface> out;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return out;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_netmask == nullptr) continue;
    const int family = entry->ifa_addr->sa_family;
    if ((family != AF_INET && family != AF_INET6) || (entry->ifa_flags & IFF_UP) == 0) continue;
    const unsigned index = ::if_nametoindex(entry->ifa_name);
    if (index == 0) continue;
    out.push_back({index, family, ip_bytes(copy_of(entry->ifa_addr, family)),
                   ip_bytes(copy_of(entry->ifa_netmask, family))});
  }
  ::freeifaddrs(list);
  return out;
}

bool is_own(const Bytes& address, const std::vector<Interface>& own) {
  return std::any_of(own.begin(), own.end(),
                     [&](const Interface& interface) { return interface.address == address; });
}

bool is_neighbour(const Bytes& address, const std::vector<Interface>& own) {
  for (const Interface& interface : own) {
    if (interface.address.size() != address.size()) continue;
    bool same = true;
    for (std::size_t i = 0; i < address.size(); ++i) {
      same = same && ((address[i] ^ interface.address[i]) & interface.mask[i]) == 0;
    }
    if (same) return true;
  }
  return false;
}

}  // namespace weft
