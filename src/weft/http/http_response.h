// HttpResponse: an answer, and its bytes on the wire; server-sent events for answers in pieces.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft {

struct HttpResponse {
  int status = 200;
  std::string body;
  std::string content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers = {};
};

// What the answer depends on apart from its content.
struct HttpWay {
  int minor_version = 1;   // of the request
  bool keep_alive = true;  // the connection goes on behind the answer
  bool head_only = false;  // the request was HEAD
  std::int64_t unix_time_s = 0;
};

// "Not Found"; "Unknown" for a number without a text here.
std::string_view status_words(int status);

std::string encode_response(const HttpResponse& response, const HttpWay& way);

// An answer whose length is not known yet: the head, pieces, the end. To a client of HTTP/1.0 the
// pieces go as they are and the connection's end is the answer's (way.keep_alive must be false).
std::string encode_stream_head(std::string_view content_type, const HttpWay& way);
// REQUIRES: `data` is not empty.
std::string encode_piece(std::string_view data, const HttpWay& way);
std::string encode_stream_end(const HttpWay& way);

// One event of text/event-stream. REQUIRES: no line break in `data`.
std::string server_sent_event(std::string_view data);

}  // namespace weft
