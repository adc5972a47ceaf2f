// HttpRouter: where a request's path leads, or the answer that refuses it; no socket, no thread.
//
// Refused are a request of another site's page or for another server's name (request_source.h), a
// path that leads nowhere, a method that its route has not, and a POST without a length or whose
// body is not JSON: 403, 404, 405, 411 and 415. Threads: one owner.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/http/http_request.h"
#include "weft/http/http_response.h"

namespace weft {

struct HttpRoute {
  std::string_view path;  // one that ends in "/" leads to all that begins with it, "/" only to "/"
  std::string_view method;  // "GET", which is HEAD too, or "POST", which has a body of JSON
};

struct HttpMatch {
  std::optional<std::size_t> route = {};     // the index of the route that has the path
  std::optional<HttpResponse> refusal = {};  // set if no route handles the request
};

class HttpRouter {
 public:
  // `paths` is the list in the message for a client with an unknown path; `hosts` are this server's
  // names as source_fault() takes them.
  HttpRouter(std::vector<HttpRoute> routes, std::string paths, std::vector<std::string> hosts);

  HttpMatch find(const HttpRequest& request) const;

 private:
  std::optional<std::size_t> find_path(std::string_view path) const;

  const std::vector<HttpRoute> routes_;
  const std::string paths_;
  const std::vector<std::string> hosts_;
};

}  // namespace weft
