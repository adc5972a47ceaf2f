// HttpParser: bytes as they come in to HTTP/1.1 requests (RFC 9112); owns no socket and no clock.
//
//   request := line "\r\n" (name ":" value "\r\n"){0..} "\r\n" body
//   body    := Content-Length bytes | (hexadecimal "\r\n" bytes "\r\n"){..} "0\r\n" trailers "\r\n"
//
// Strict where servers that differ let requests be smuggled past one another: lines end in "\r\n"
// alone, nothing is folded, and of Content-Length and Transfer-Encoding there is one, once.
// Whatever the sizes of the pieces that are fed, the outcome is the same.
// Threads: one owner. Fails: by fault(), for good: 400, 413, 414, 431, 501 or 505.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "weft/http/http_request.h"

namespace weft {

class HttpParser {
 public:
  explicit HttpParser(const HttpLimits& limits) : limits_(limits) {}

  // Takes bytes until a request is whole or a fault is found, and returns how many it took.
  std::size_t feed(std::string_view bytes);

  // A request is whole: take() it, then feed what follows.
  bool done() const { return place_ == Place::kDone; }
  bool failed() const { return place_ == Place::kFailed; }
  // A part of a request has come.
  bool begun() const { return place_ != Place::kRequestLine || !line_.empty(); }
  // The head is whole and the body is not.
  bool in_body() const;
  // The client waits for "100 Continue" before it sends the body. True once a request.
  bool take_continue();
  // Of the body of a request that is not yet whole.
  std::size_t body_bytes() const { return request_.body.size(); }

  // REQUIRES: failed().
  const HttpFault& fault() const { return fault_; }
  // REQUIRES: done().
  HttpRequest take();

 private:
  enum class Place {
    kRequestLine,
    kHeader,
    kBody,
    kChunkSize,
    kChunkData,
    kChunkEnd,
    kTrailer,
    kDone,
    kFailed,
  };

  std::size_t feed_line(std::string_view bytes);
  std::size_t feed_body(std::string_view bytes);
  std::size_t line_bytes_max() const;
  void fail(int status, std::string reason);
  void fail_long_line();
  void end_line();
  void end_request_line();
  void take_target(std::string_view target);
  void end_header();
  void end_head();
  void end_chunk_size();
  // Each returns whether the request still stands.
  bool check_host();
  bool take_connection();
  bool take_length();

  const HttpLimits limits_;
  Place place_ = Place::kRequestLine;
  std::string line_;  // what has come of the present line
  std::size_t empty_lines_ = 0;
  std::size_t header_bytes_ = 0;
  std::size_t left_ = 0;  // of the body, or of the present chunk
  bool expects_continue_ = false;
  HttpRequest request_;
  HttpFault fault_;
};

}  // namespace weft
