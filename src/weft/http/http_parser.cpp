#include "weft/http/http_parser.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "weft/base/check.h"

namespace weft {
namespace {

constexpr std::size_t kMethodBytesMax = 16;
constexpr std::size_t kChunkLineBytesMax = 256;
// Some clients send a line's end too many behind a body.
constexpr std::size_t kEmptyLinesMax = 2;
constexpr std::string_view kAbsolute = "http://";

bool is_token_byte(char byte) {
  const bool letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
  const bool digit = byte >= '0' && byte <= '9';
  return letter || digit || std::string_view("!#$%&'*+-.^_`|~").find(byte) != std::string::npos;
}

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token_byte);
}

// What may stand in the value of a header: no control character but the tab.
bool is_value(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char byte) {
    const auto value = static_cast<unsigned char>(byte);
    return value == '\t' || (value >= 0x20 && value != 0x7F);
  });
}

bool is_target(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char byte) { return byte > 0x20 && byte < 0x7F; });
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& byte : result) {
    if (byte >= 'A' && byte <= 'Z') byte = static_cast<char>(byte - 'A' + 'a');
  }
  return result;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// Nothing where the text is no number, or larger than any limit.
std::optional<std::size_t> number(std::string_view text, int base) {
  std::size_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value, base);
  if (error != std::errc() || at != end || text.empty()) return std::nullopt;
  return value;
}

}  // namespace

const std::string* HttpRequest::header(std::string_view name) const {
  const auto found = std::find_if(headers.begin(), headers.end(),
                                  [&](const auto& header) { return header.first == name; });
  return found == headers.end() ? nullptr : &found->second;
}

std::size_t HttpParser::feed(std::string_view bytes) {
  std::size_t used = 0;
  while (used < bytes.size() && !done() && !failed()) {
    const std::string_view rest = bytes.substr(used);
    const bool counted = place_ == Place::kBody || place_ == Place::kChunkData;
    used += counted ? feed_body(rest) : feed_line(rest);
  }
  return used;
}

bool HttpParser::in_body() const {
  return place_ == Place::kBody || place_ == Place::kChunkSize || place_ == Place::kChunkData ||
         place_ == Place::kChunkEnd || place_ == Place::kTrailer;
}

bool HttpParser::take_continue() {
  return in_body() && request_.body.empty() && std::exchange(expects_continue_, false);
}

HttpRequest HttpParser::take() {
  WEFT_CHECK(done());
  place_ = Place::kRequestLine;
  empty_lines_ = 0;
  header_bytes_ = 0;
  expects_continue_ = false;
  return std::exchange(request_, HttpRequest());
}

std::size_t HttpParser::line_bytes_max() const {
  if (place_ == Place::kRequestLine) return limits_.line_bytes_max;
  if (place_ == Place::kChunkSize || place_ == Place::kChunkEnd) return kChunkLineBytesMax;
  return limits_.header_bytes_max - header_bytes_;
}

std::size_t HttpParser::feed_line(std::string_view bytes) {
  const std::size_t newline = bytes.find('\n');
  const std::string_view piece = bytes.substr(0, newline);
  if (line_.size() + piece.size() > line_bytes_max()) {
    fail_long_line();
    return bytes.size();
  }
  line_ += piece;
  if (newline == std::string_view::npos) return bytes.size();
  if (line_.empty() || line_.back() != '\r') {
    fail(400, "line: expected an end of \"\\r\\n\", got \"\\n\" alone");
  } else {
    line_.pop_back();
    end_line();
  }
  line_.clear();
  return newline + 1;
}

std::size_t HttpParser::feed_body(std::string_view bytes) {
  const std::size_t count = std::min(left_, bytes.size());
  request_.body += bytes.substr(0, count);
  left_ -= count;
  if (left_ == 0) place_ = place_ == Place::kBody ? Place::kDone : Place::kChunkEnd;
  return count;
}

void HttpParser::fail(int status, std::string reason) {
  place_ = Place::kFailed;
  fault_ = {status, std::move(reason)};
  line_.clear();
  request_.body = {};
}

void HttpParser::fail_long_line() {
  if (place_ == Place::kRequestLine) {
    return fail(414, fmt::format("request line: expected at most {} bytes", line_bytes_max()));
  }
  if (place_ == Place::kHeader || place_ == Place::kTrailer) {
    return fail(431, fmt::format("headers: expected at most {} bytes", limits_.header_bytes_max));
  }
  fail(400, fmt::format("chunk: expected a size in at most {} bytes", line_bytes_max()));
}

void HttpParser::end_line() {
  switch (place_) {
    case Place::kRequestLine:
      return end_request_line();
    case Place::kHeader:
      header_bytes_ += std::min(line_.size() + 2, limits_.header_bytes_max - header_bytes_);
      return line_.empty() ? end_head() : end_header();
    case Place::kChunkSize:
      return end_chunk_size();
    case Place::kChunkEnd:
      if (!line_.empty()) return fail(400, "chunk: expected its end, got more bytes");
      place_ = Place::kChunkSize;
      return;
    case Place::kTrailer:  // read, bounded, and dropped
      header_bytes_ += std::min(line_.size() + 2, limits_.header_bytes_max - header_bytes_);
      if (line_.empty()) place_ = Place::kDone;
      return;
    case Place::kBody:
    case Place::kChunkData:
    case Place::kDone:
    case Place::kFailed:
      break;
  }
}

void HttpParser::end_request_line() {
  if (line_.empty()) {
    if (++empty_lines_ > kEmptyLinesMax) fail(400, "request line: expected one, got empty lines");
    return;
  }
  const std::string_view line = line_;
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  const std::string_view method = line.substr(0, first);
  if (first == last || !is_token(method) || method.size() > kMethodBytesMax) {
    return fail(400, "request line: expected METHOD TARGET HTTP/1.1");
  }
  const std::string_view version = line.substr(last + 1);
  if (version != "HTTP/1.1" && version != "HTTP/1.0") {
    const bool known = version.starts_with("HTTP/") && version.size() == 8;
    return fail(known ? 505 : 400, "version: expected HTTP/1.1");
  }
  request_.minor_version = version.back() - '0';
  request_.keep_alive = request_.minor_version == 1;
  request_.method = method;
  place_ = Place::kHeader;
  take_target(line.substr(first + 1, last - first - 1));
}

void HttpParser::take_target(std::string_view target) {
  if (!is_target(target)) return fail(400, "target: expected printable characters of ASCII");
  if (lower(target.substr(0, kAbsolute.size())) == kAbsolute) {
    const std::size_t path = target.find('/', kAbsolute.size());
    target = path == std::string_view::npos ? "/" : target.substr(path);
  }
  if (!target.starts_with('/') && target != "*") {
    return fail(400, "target: expected a path that begins with \"/\"");
  }
  const std::size_t mark = target.find('?');
  request_.path = target.substr(0, mark);
  if (mark != std::string_view::npos) request_.query = target.substr(mark + 1);
}

void HttpParser::end_header() {
  const std::string_view line = line_;
  const std::size_t colon = line.find(':');
  if (request_.headers.size() >= limits_.headers_max) {
    return fail(431, fmt::format("headers: expected at most {}", limits_.headers_max));
  }
  // White space before the colon or at the line's begin (a folded line) is no token.
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) {
    return fail(400, "header: expected NAME: VALUE");
  }
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (!is_value(value)) return fail(400, "header: expected a value without control characters");
  request_.headers.emplace_back(lower(line.substr(0, colon)), value);
}

void HttpParser::end_head() {
  if (!check_host() || !take_connection() || !take_length()) return;
  header_bytes_ = 0;  // counted anew for trailers
}

bool HttpParser::check_host() {
  const auto hosts = std::count_if(request_.headers.begin(), request_.headers.end(),
                                   [](const auto& header) { return header.first == "host"; });
  if (hosts == 1 || (hosts == 0 && request_.minor_version == 0)) return true;
  fail(400, fmt::format("host: expected one header Host, got {}", hosts));
  return false;
}

bool HttpParser::take_connection() {
  for (const auto& [name, value] : request_.headers) {
    if (name == "expect") {
      if (lower(value) != "100-continue") {
        fail(417, "expect: expected 100-continue");
        return false;
      }
      expects_continue_ = request_.minor_version == 1;
    }
    if (name != "connection") continue;
    for (std::size_t begin = 0; begin <= value.size();) {
      const std::size_t comma = std::min(value.find(',', begin), value.size());
      const std::string option = lower(trimmed(value.substr(begin, comma - begin)));
      if (option == "close") {
        request_.keep_alive = false;
        return true;
      }
      if (option == "keep-alive") request_.keep_alive = true;
      begin = comma + 1;
    }
  }
  return true;
}

bool HttpParser::take_length() {
  const std::string* length = nullptr;
  const std::string* encoding = nullptr;
  for (const auto& [name, value] : request_.headers) {
    const bool is_length = name == "content-length";
    if (!is_length && name != "transfer-encoding") continue;
    if (length != nullptr || encoding != nullptr) {
      fail(400, "length: expected Content-Length or Transfer-Encoding, once");
      return false;
    }
    (is_length ? length : encoding) = &value;
  }
  request_.has_length = length != nullptr || encoding != nullptr;
  if (encoding != nullptr) {
    if (request_.minor_version == 0 || lower(*encoding) != "chunked") {
      fail(request_.minor_version == 0 ? 400 : 501, "transfer-encoding: expected chunked");
      return false;
    }
    place_ = Place::kChunkSize;
    return true;
  }
  left_ = 0;
  if (length != nullptr) {
    const bool digits = length->find_first_not_of("0123456789") == std::string::npos;
    const std::optional<std::size_t> value = number(*length, 10);
    if (length->empty() || !digits) {
      fail(400, "content-length: expected digits");
      return false;
    }
    if (!value.has_value() || *value > limits_.body_bytes_max) {
      fail(413, fmt::format("body: expected at most {} bytes", limits_.body_bytes_max));
      return false;
    }
    left_ = *value;
  }
  place_ = left_ > 0 ? Place::kBody : Place::kDone;
  return true;
}

void HttpParser::end_chunk_size() {
  // Extensions behind ";" are read and dropped.
  const std::string_view digits = std::string_view(line_).substr(0, line_.find(';'));
  const bool hexadecimal =
      !digits.empty() && digits.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
  if (!hexadecimal || !is_value(line_)) {
    return fail(400, "chunk: expected its size in hexadecimal digits");
  }
  const std::optional<std::size_t> size = number(digits, 16);
  if (!size.has_value() || *size > limits_.body_bytes_max - request_.body.size()) {
    return fail(413, fmt::format("body: expected at most {} bytes", limits_.body_bytes_max));
  }
  left_ = *size;
  place_ = left_ > 0 ? Place::kChunkData : Place::kTrailer;
}

}  // namespace weft
