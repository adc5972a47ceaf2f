// The addresses of this machine's network interfaces, and the system's form of addresses.
//
// Included by sources that are compiled alone (CMakeLists.txt says which, and why).
// Threads: any. Fails: never; what the system does not tell is left out.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <netinet/in.h>
#include <sys/socket.h>

#include "weft/base/bytes.h"

namespace weft {

// One address of an interface of this machine.
struct Interface {
  unsigned index = 0;
  int family = AF_INET;
  // 4 or 16 bytes.
  Bytes address;
  Bytes mask;
};

// An IP address and port as the system takes them.
union SystemAddress {
  sockaddr_storage storage;
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
};

// AF_INET or AF_INET6.
std::size_t size_of_family(int family);
// 4 or 16 bytes; without the port.
Bytes ip_bytes(const SystemAddress& address);
std::string ip_text(const SystemAddress& address);

// Those that are up.
std::vector<Interface> interfaces();
bool is_own(const Bytes& address, const std::vector<Interface>& own);
// Whether it is in a network of one of them.
bool is_neighbour(const Bytes& address, const std::vector<Interface>& own);

}  // namespace weft
