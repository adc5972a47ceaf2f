#include "weft/http/http_router.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "weft/http/api_error.h"
#include "weft/http/request_source.h"

namespace weft {
namespace {

HttpResponse refusal_of(int status, std::string message) {
  return error_response({.status = status, .message = std::move(message)});
}

bool leads_to(const HttpRoute& route, std::string_view path) {
  const bool whole_tree = route.path.size() > 1 && route.path.ends_with('/');
  return whole_tree ? path.starts_with(route.path) : path == route.path;
}

}  // namespace

HttpRouter::HttpRouter(std::vector<HttpRoute> routes, std::string paths,
                       std::vector<std::string> hosts)
    : routes_(std::move(routes)), paths_(std::move(paths)), hosts_(std::move(hosts)) {}

std::optional<std::size_t> HttpRouter::find_path(std::string_view path) const {
  const auto found = std::find_if(routes_.begin(), routes_.end(),
                                  [&](const HttpRoute& route) { return leads_to(route, path); });
  if (found == routes_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - routes_.begin());
}

HttpMatch HttpRouter::find(const HttpRequest& request) const {
  if (const auto fault = source_fault(request, hosts_)) {
    return {.refusal = refusal_of(fault->status, fault->reason)};
  }
  const std::optional<std::size_t> found = find_path(request.path);
  if (!found.has_value()) return {.refusal = refusal_of(404, "path: expected " + paths_)};
  const HttpRoute& route = routes_[*found];
  const bool reads = route.method == "GET";
  if (request.method != route.method && !(reads && request.method == "HEAD")) {
    HttpResponse wrong =
        refusal_of(405, fmt::format("method: expected {} for {}", route.method, route.path));
    wrong.headers.emplace_back("Allow", reads ? "GET, HEAD" : "POST");
    return {found, std::move(wrong)};
  }
  if (reads) return {found};
  if (!request.has_length) {
    return {found, refusal_of(411, "length: expected Content-Length or chunks of a body")};
  }
  if (const auto fault = content_fault(request)) {
    return {found, refusal_of(fault->status, fault->reason)};
  }
  return {found};
}

}  // namespace weft
