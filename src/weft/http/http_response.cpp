#include "weft/http/http_response.h"

#include <array>
#include <ctime>

#include <fmt/format.h>

#include "weft/base/check.h"

namespace weft {
namespace {

constexpr std::array<const char*, 7> kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::array<const char*, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                 "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

// "Sun, 06 Nov 1994 08:49:37 GMT".
std::string date_text(std::int64_t unix_time_s) {
  const auto seconds = static_cast<std::time_t>(unix_time_s);
  std::tm parts = {};
  gmtime_r(&seconds, &parts);
  return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT",
                     kDays.at(static_cast<std::size_t>(parts.tm_wday)), parts.tm_mday,
                     kMonths.at(static_cast<std::size_t>(parts.tm_mon)), parts.tm_year + 1900,
                     parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::string response_head(int status, std::string_view content_type, const HttpWay& way) {
  return fmt::format("HTTP/1.1 {} {}\r\nDate: {}\r\nContent-Type: {}\r\nConnection: {}\r\n", status,
                     status_words(status), date_text(way.unix_time_s), content_type,
                     way.keep_alive ? "keep-alive" : "close");
}

}  // namespace

std::string_view status_words(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 411:
      return "Length Required";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";  // tidy: allow unfinished: the words of HTTP
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Unknown";
  }
}

std::string encode_response(const HttpResponse& response, const HttpWay& way) {
  std::string bytes = response_head(response.status, response.content_type, way);
  for (const auto& [name, value] : response.headers) {
    bytes += fmt::format("{}: {}\r\n", name, value);
  }
  bytes += fmt::format("Content-Length: {}\r\n\r\n", response.body.size());
  if (!way.head_only) bytes += response.body;
  return bytes;
}

std::string encode_stream_head(std::string_view content_type, const HttpWay& way) {
  std::string bytes = response_head(200, content_type, way) + "Cache-Control: no-store\r\n";
  if (way.minor_version > 0) bytes += "Transfer-Encoding: chunked\r\n";
  return bytes + "\r\n";
}

std::string encode_piece(std::string_view data, const HttpWay& way) {
  WEFT_CHECK(!data.empty());
  if (way.minor_version == 0) return std::string(data);
  return fmt::format("{:x}\r\n{}\r\n", data.size(), data);
}

std::string encode_stream_end(const HttpWay& way) {
  return way.minor_version == 0 ? std::string() : "0\r\n\r\n";
}

std::string server_sent_event(std::string_view data) {
  WEFT_CHECK(data.find_first_of("\r\n") == std::string_view::npos);
  return fmt::format("data: {}\n\n", data);
}

}  // namespace weft
