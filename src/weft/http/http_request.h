// HttpRequest: one complete request of a client, or the server's answer to an invalid one.
//
// Threads: values.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft {

struct HttpLimits {
  std::size_t line_bytes_max = 8192;     // the request line
  std::size_t header_bytes_max = 32768;  // all header lines, and again all trailer lines
  std::size_t headers_max = 100;
  std::size_t body_bytes_max = std::size_t{4} << 20U;
};

struct HttpRequest {
  std::string method;
  std::string path;   // of the target, as it was sent
  std::string query;  // behind "?"
  int minor_version = 1;
  // In order; names in lower case, values without white space around them.
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  bool has_length = false;  // the head has the body's length
  bool keep_alive = true;   // the client wants to keep this connection

  // The first of this name (in lower case); null if there is none.
  const std::string* header(std::string_view name) const;
};

// A request that is answered with an error, behind which the connection ends.
struct HttpFault {
  int status = 400;
  std::string reason;
  friend bool operator==(const HttpFault&, const HttpFault&) = default;
};

}  // namespace weft
