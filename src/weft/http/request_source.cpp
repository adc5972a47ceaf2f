#include "weft/http/request_source.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <asio/ip/address.hpp>
#include <fmt/format.h>

namespace weft {
namespace {

constexpr std::size_t kShownMax = 100;

std::string lower_case(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  });
  return out;
}

bool is_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size();
}

bool is_address(const std::string& host) {
  asio::error_code error;
  asio::ip::make_address(host, error);
  return !error;
}

bool is_own(const std::string& host, const std::vector<std::string>& hosts) {
  return is_address(host) || host == "localhost" ||
         std::find(hosts.begin(), hosts.end(), host) != hosts.end();
}

// "http://HOST[:PORT]" without the scheme, or empty.
std::string_view authority_of(std::string_view origin) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (origin.starts_with(scheme)) return origin.substr(scheme.size());
  }
  return {};
}

}  // namespace

std::string host_of(std::string_view authority) {
  const bool bracketed = authority.starts_with('[');
  const std::size_t end = bracketed ? authority.find(']') : authority.find(':');
  if (bracketed && end == std::string_view::npos) return "";
  const std::string_view host = bracketed ? authority.substr(1, end - 1) : authority.substr(0, end);
  if (end == std::string_view::npos) return lower_case(host);
  const std::string_view rest = authority.substr(bracketed ? end + 1 : end);
  if (!rest.empty() && (!rest.starts_with(':') || !is_port(rest.substr(1)))) return "";
  return lower_case(host);
}

std::optional<HttpFault> source_fault(const HttpRequest& request,
                                      const std::vector<std::string>& hosts) {
  const std::string* const host = request.header("host");
  // Without one only in HTTP/1.0, which no browser speaks.
  if (host != nullptr && !is_own(host_of(*host), hosts)) {
    return HttpFault{403, fmt::format("host: expected localhost, an address or a name of "
                                      "--allow-host, got \"{}\"",
                                      host->substr(0, kShownMax))};
  }
  const std::string* const origin = request.header("origin");
  if (origin == nullptr) return std::nullopt;
  // A page of this very server, as far as there could be one.
  const std::string_view authority = authority_of(*origin);
  if (host != nullptr && !authority.empty() && lower_case(authority) == lower_case(*host)) {
    return std::nullopt;
  }
  return HttpFault{403, fmt::format("origin: expected none, as of a program, or this server's own, "
                                    "got \"{}\"",
                                    origin->substr(0, kShownMax))};
}

std::optional<HttpFault> content_fault(const HttpRequest& request) {
  const std::string* const type = request.header("content-type");
  if (type != nullptr) {
    std::string plain = lower_case(std::string_view(*type).substr(0, type->find(';')));
    while (plain.ends_with(' ') || plain.ends_with('\t')) plain.pop_back();
    if (plain == "application/json") return std::nullopt;
  }
  return HttpFault{415, fmt::format("content-type: expected application/json (curl --json), got {}",
                                    type == nullptr ? "none" : type->substr(0, kShownMax))};
}

}  // namespace weft
