// HttpServer: takes HTTP/1.1 requests from a socket to an HttpService, and its answers back.
//
// Where it stands: sockets -> HttpConnection -> HttpParser -> HttpService, and back. It is
// independent of the content. Every complete request gets an answer, also in case of errors;
// requests that are too slow, too long or too many are refused with a reason (408, 413, 431, 503)
// before their connection ends. There is no authentication and no encryption: listen on loopback,
// or behind something that has both. Threads: run(), all connections and the service on the
// caller's; post() on any. Fails: listen() with kUnavailable (the address is in use, or not one of
// this machine).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "weft/base/status.h"
#include "weft/base/strong.h"
#include "weft/base/time.h"
#include "weft/http/http_request.h"
#include "weft/http/http_response.h"

namespace weft {

struct HttpServerOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 8080;  // 0: any free one
  HttpLimits limits = {};
  std::size_t connections_max = 4096;
  std::size_t bodies_bytes_max = std::size_t{256} << 20U;  // of all requests that are being read
  Duration idle_limit = std::chrono::seconds(60);          // between requests
  Duration head_limit = std::chrono::seconds(10);          // from a request's first byte on
  Duration body_limit = std::chrono::seconds(30);          // from then on
  Duration write_limit = std::chrono::seconds(30);         // without a byte taken by the client
  Duration linger_limit = std::chrono::seconds(2);         // for the client to read a last answer
  Duration stop_limit = std::chrono::seconds(30);          // for what has begun
};

// One connection of a client, with at most one request at a time.
using HttpClientId = Strong<struct HttpClientIdTag, std::uint64_t>;

// The code that answers the requests.
class HttpService {
 public:
  virtual ~HttpService() = default;
  // A complete request. The service answers it now or later, with HttpServer::respond(), or with
  // begin_stream() and the functions after it.
  virtual void on_request(HttpClientId client, const HttpRequest& request) = 0;
  // A connection arrived; it may be refused if there is no room.
  virtual void on_connection() = 0;
  // The server answers with an error by itself.
  virtual void on_fault(int status) = 0;
  // The client is gone. Nobody waits for the answer to its last request, if there was none yet.
  virtual void on_end(HttpClientId client) = 0;
};

class HttpServer {
 public:
  static Result<std::unique_ptr<HttpServer>> listen(const HttpServerOptions& options);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::uint16_t port() const;
  std::size_t connections() const;
  // Borrows `service`. Answers until `stop_asked()`, which it checks several times a second; then
  // stops listening, finishes the current requests, and returns.
  void run(HttpService& service, const std::function<bool()>& stop_asked);
  // Calls `work` on the thread of run().
  void post(std::function<void()> work);

  // To the request of `client`; nothing happens where the client is gone.
  void respond(HttpClientId client, const HttpResponse& response);
  void begin_stream(HttpClientId client, std::string_view content_type);
  void stream(HttpClientId client, std::string_view data);
  void end_stream(HttpClientId client);

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
