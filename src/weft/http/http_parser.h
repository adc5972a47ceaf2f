// HttpParser: turns received bytes into HTTP/1.1 requests (RFC 9112); owns no socket and no clock.
//
//   request := line "\r\n" (name ":" value "\r\n"){0..} "\r\n" body
//   body    := Content-Length bytes | (hexadecimal "\r\n" bytes "\r\n"){..} "0\r\n" trailers "\r\n"
//
// It is strict, because differences between servers allow request smuggling: lines end only in
// "\r\n", nothing is folded, and at most one of Content-Length and Transfer-Encoding may occur,
// once. The result does not depend on the sizes of the pieces that are fed.
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

  // Takes bytes until a request is complete or a fault is found, and returns how many it took.
  std::size_t feed(std::string_view bytes);

  // A request is complete: take() it, then feed the following bytes.
  bool done() const { return place_ == Place::kDone; }
  bool failed() const { return place_ == Place::kFailed; }
  // A part of a request has come.
  bool begun() const { return place_ != Place::kRequestLine || !line_.empty(); }
  // The head is complete and the body is not.
  bool in_body() const;
  // The client waits for "100 Continue" before it sends the body. True once a request.
  bool take_continue();
  // Bytes so far of the body of an incomplete request.
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
  // Each returns whether the request is still valid.
  bool check_host();
  bool take_connection();
  bool take_length();

  const HttpLimits limits_;
  Place place_ = Place::kRequestLine;
  std::string line_;  // the received part of the present line
  std::size_t empty_lines_ = 0;
  std::size_t header_bytes_ = 0;
  std::size_t left_ = 0;  // of the body, or of the present chunk
  bool expects_continue_ = false;
  HttpRequest request_;
  HttpFault fault_;
};

}  // namespace weft
