// PortMap: a listening port that this network's router was asked to open, by UPnP or NAT-PMP.
//
// Optional libraries implement the two protocols (CMake finds miniupnpc and libnatpmp); without
// them open() fails and says so. A thread of its own renews the lease; the destructor closes the
// port at the router. Threads: open() blocks its caller for a few seconds at most; all else any
// thread, one at a time. Fails: kUnavailable with the answers of both protocols.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "weft/base/status.h"
#include "weft/base/time.h"

namespace weft {

class PortMap {
 public:
  // Asks for `port` (TCP) under the same number outside, or under any other.
  static Result<std::unique_ptr<PortMap>> open(std::uint16_t port);
  virtual ~PortMap() = default;
  // "host:port" that peers outside may dial.
  virtual const std::string& endpoint() const = 0;
  // "UPnP" or "NAT-PMP".
  virtual const std::string& method() const = 0;
};

// The protocols that this program was built with, for people: "UPnP, NAT-PMP", or "neither".
std::string port_map_methods();

}  // namespace weft
