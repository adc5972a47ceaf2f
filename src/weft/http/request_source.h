// Request source: whether the sender of a request meant this server.
//
// Clients are not authenticated, so two attacks through a person's browser must be refused: a page
// of another site that posts here (its requests carry that site's Origin, and only content types of
// forms are sent without a preflight request), and a page whose name resolves to this machine (DNS
// rebinding: Host is that name). Threads: pure functions. Fails: by an answer 403 or 415.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/http/http_request.h"

namespace weft {

// The host in "name", "name:80", "1.2.3.4:80" or "[::1]:80", in lower case; empty for anything
// else.
std::string host_of(std::string_view authority);

// Why `request` is refused; nothing if it is accepted. `hosts` are names of this server, in lower
// case, besides localhost; all addresses are accepted, since an address cannot be rebound.
std::optional<HttpFault> source_fault(const HttpRequest& request,
                                      const std::vector<std::string>& hosts);
// The same for a request with a body, whose type must be JSON.
std::optional<HttpFault> content_fault(const HttpRequest& request);

}  // namespace weft
