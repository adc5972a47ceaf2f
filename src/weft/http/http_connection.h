// HttpConnection: one client's connection: reads requests one after another, writes their answers.
//
// The server handles one request at a time; data that a client sends meanwhile waits in a small
// buffer, and then in the kernel's. A stream that the client does not read is bounded too: beyond
// kOutputBytesMax the connection ends.
//
//   reading -> busy (the request is with the host) -> flushing -> reading | lingering -> over
//
// Threads: the server's. Fails: the connection ends, and the host is notified.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <asio/ip/tcp.hpp>

#include "weft/base/time.h"
#include "weft/http/http_parser.h"
#include "weft/http/http_response.h"
#include "weft/http/http_server.h"

namespace weft {

class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  // The services of the server for its connections.
  class Host {
   public:
    virtual ~Host() = default;
    // Answers now or later: respond(), or begin_stream() and what follows it.
    virtual void on_request(HttpConnection& connection, const HttpRequest& request) = 0;
    // The connection answers with an error by itself.
    virtual void on_fault(int status) = 0;
    // The connection is over; it is in no callback of the host.
    virtual void on_end(HttpConnection& connection) = 0;
    // Counts bytes of bodies that are being read; false if there are too many.
    virtual bool hold_bytes(std::ptrdiff_t change) = 0;
    virtual bool stopping() const = 0;
    virtual const Clock& clock() const = 0;
    // Memory for one read, shared by all connections.
    virtual std::span<char> scratch() = 0;
  };

  HttpConnection(HttpClientId id, asio::ip::tcp::socket socket, const HttpServerOptions& options,
                 Host& host);

  HttpClientId id() const { return id_; }
  void start();
  // Instead of start(): sends one answer to any request, and ends.
  void refuse(const HttpResponse& response);

  // To the request that is with the host.
  void respond(const HttpResponse& response);
  void begin_stream(std::string_view content_type);
  void stream(std::string_view data);
  void end_stream();

  // Looks at the limits in time.
  void check(TimePoint now);
  // Ends at once between requests, else behind the present one.
  void stop_soon();
  void end();

 private:
  enum class Phase { kReading, kBusy, kFlushing, kLingering, kOver };

  void wait_readable();
  void read();
  void take(std::string_view bytes);
  std::size_t consume(std::string_view bytes);
  bool count_body();
  void hand_over();
  void answer_fault(const HttpFault& fault);
  void note_progress();
  void flush();
  void write_rest();
  void flushed();
  void linger();

  const HttpClientId id_;
  asio::ip::tcp::socket socket_;
  const HttpServerOptions& options_;
  Host& host_;
  HttpParser parser_;
  Phase phase_ = Phase::kReading;
  bool waiting_ = false;  // for bytes
  bool writing_ = false;
  bool input_ended_ = false;
  bool head_read_ = false;
  std::size_t held_ = 0;     // bytes of the body that the host counts
  std::size_t dropped_ = 0;  // while lingering
  HttpWay way_;              // of the present answer
  std::string input_;        // behind the present request
  std::string output_;       // after the data being written
  std::string sending_;
  std::size_t sent_ = 0;
  TimePoint deadline_;  // of the phase, or of the next byte to write
};

}  // namespace weft
