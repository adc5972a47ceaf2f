// Request source: whether a request is one that its sender meant for this server.
//
// Nobody is asked who they are, so two things must not be left to whoever can make a person's
// browser send something: a page of another site that posts here (its requests carry an Origin of
// their own, and only types that a form can have need no asking), and a page whose own name was
// made to lead here (DNS rebinding: Host is that name). Threads: pure functions. Fails: by an
// answer 403 or 415.
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

// Why `request` is not answered; nothing if it is. `hosts` are names, in lower case, that this
// server has beside localhost; addresses are taken as they come, since no name leads to another
// one.
std::optional<HttpFault> source_fault(const HttpRequest& request,
                                      const std::vector<std::string>& hosts);
// The same of a request with a body, which says that it is JSON.
std::optional<HttpFault> content_fault(const HttpRequest& request);

}  // namespace weft
