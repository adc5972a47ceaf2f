// The addresses of this machine's network interfaces, and the system's representation of addresses.
//
// Only sources that are compiled alone include it (CMakeLists.txt says which, and why). Threads:
// any. Fails: never; what the system does not report is left out.
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
  // The address, 4 or 16 bytes long.
  Bytes address;
  Bytes mask;
};

// An IP address and port as system calls take them.
union SystemAddress {
  sockaddr_storage storage;
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
};

// AF_INET or AF_INET6.
std::size_t size_of_family(int family);
// The address without the port, 4 or 16 bytes long.
Bytes ip_bytes(const SystemAddress& address);
std::string ip_text(const SystemAddress& address);

// The interfaces that are up.
std::vector<Interface> interfaces();
bool is_own(const Bytes& address, const std::vector<Interface>& own);
// True if the address is in a network of one of the interfaces.
bool is_neighbour(const Bytes& address, const std::vector<Interface>& own);

}  // namespace weft
