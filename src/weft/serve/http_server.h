// HttpServer: answers HTTP/1.1 requests with a model; what `weft serve` runs.
//
// Where it stands: sockets -> HttpConnection -> HttpParser -> Router -> ModelThread, and back.
// Every whole request gets an answer, errors too; what is too slow, too long or too much is told so
// (408, 413, 431, 503) before its connection ends. No authentication and no encryption: listen on
// loopback, or behind something that has both.
// Threads: run() and all connections on the caller's; the model computes on one of its own.
// Fails: listen() with kUnavailable (address taken, or not of this machine).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/serve/http_request.h"
#include "weft/serve/model_thread.h"
#include "weft/serve/served_model.h"

namespace weft {

struct ServeOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 8080;  // 0: any free one
  // Names of this server, in lower case, beside localhost and `host`; requests for others, as of a
  // page whose name was made to lead here, are refused.
  std::vector<std::string> names = {};
  ModelThreadOptions model = {};
  HttpLimits limits = {};
  std::size_t connections_max = 4096;
  std::size_t bodies_bytes_max = std::size_t{256} << 20U;  // of all requests that are being read
  std::int64_t tokens_max = 1024;                          // of one completion
  Duration idle_limit = std::chrono::seconds(60);          // between requests
  Duration head_limit = std::chrono::seconds(10);          // from a request's first byte on
  Duration body_limit = std::chrono::seconds(30);          // from then on
  Duration write_limit = std::chrono::seconds(30);         // without a byte taken by the client
  Duration linger_limit = std::chrono::seconds(2);         // for the client to read a last answer
  Duration stop_limit = std::chrono::seconds(30);          // for what has begun
};

class HttpServer {
 public:
  // Borrows `model`, which nobody else may use until this is gone.
  static Result<std::unique_ptr<HttpServer>> listen(ServedModel& model,
                                                    const ServeOptions& options);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::uint16_t port() const;
  // Answers until `stop_asked()`, which is looked at some times a second; then listens no more,
  // finishes what has begun, and returns.
  void run(const std::function<bool()>& stop_asked);

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
