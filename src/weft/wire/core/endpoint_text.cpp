#include "weft/wire/core/endpoint_text.h"

#include "weft/wire/printable.h"

namespace weft {

void write_endpoints(Writer& out, const std::vector<std::string>& endpoints) {
  std::vector<std::string> fitting;
  for (const std::string& endpoint : endpoints) {
    if (endpoint.size() > kHintEndpointBytesMax || fitting.size() == kHintEndpointsMax) continue;
    fitting.push_back(to_printable(endpoint, kHintEndpointBytesMax));
  }
  out.u32(static_cast<std::uint32_t>(fitting.size()));
  for (const std::string& endpoint : fitting) out.text(endpoint);
}

std::vector<std::string> read_endpoints(Reader& in, std::uint32_t least) {
  std::vector<std::string> endpoints;
  const std::uint32_t count = in.count("endpoints", kHintEndpointsMax);
  if (count < least) in.fail("endpoints", "expected at least one address");
  for (std::uint32_t i = 0; i < count && !in.failed(); ++i) {
    std::string endpoint = read_printable(in, "endpoint", kHintEndpointBytesMax);
    if (endpoint.find(':') == std::string::npos || endpoint.find(' ') != std::string::npos) {
      in.fail("endpoint", "expected host:port");
    }
    endpoints.push_back(std::move(endpoint));
  }
  return endpoints;
}

}  // namespace weft
