#include "weft/http/http_connection.h"

#include <algorithm>
#include <utility>

#include <asio/buffer.hpp>

#include "weft/base/check.h"
#include "weft/http/api_error.h"

namespace weft {
namespace {

constexpr std::size_t kInputBytesMax = std::size_t{16} << 10U;
constexpr std::size_t kOutputBytesMax = std::size_t{8} << 20U;  // behind what is being written
constexpr std::size_t kDroppedBytesMax = std::size_t{64} << 20U;
// For a request that had begun to come when the server was told to stop.
constexpr Duration kLastReadLimit = std::chrono::seconds(2);

}  // namespace

HttpConnection::HttpConnection(HttpClientId id, asio::ip::tcp::socket socket,
                               const HttpServerOptions& options, Host& host)
    : id_(id),
      socket_(std::move(socket)),
      options_(options),
      host_(host),
      parser_(options.limits),
      deadline_(host.clock().now() + options.idle_limit) {}

void HttpConnection::start() { wait_readable(); }

void HttpConnection::refuse(const HttpResponse& response) {
  phase_ = Phase::kBusy;
  way_ = {.keep_alive = false, .unix_time_s = host_.clock().unix_time_s()};
  respond(response);
  wait_readable();
}

void HttpConnection::wait_readable() {
  const bool full = phase_ != Phase::kLingering && input_.size() >= kInputBytesMax;
  if (waiting_ || input_ended_ || full || phase_ == Phase::kOver) return;
  waiting_ = true;
  socket_.async_wait(asio::ip::tcp::socket::wait_read,
                     [self = shared_from_this()](const asio::error_code& error) {
                       self->waiting_ = false;
                       if (self->phase_ == Phase::kOver) return;
                       if (error) return self->end();
                       self->read();
                     });
}

void HttpConnection::read() {
  asio::error_code error;
  std::span<char> scratch = host_.scratch();
  const bool kept = phase_ == Phase::kBusy || phase_ == Phase::kFlushing;
  if (kept) scratch = scratch.first(std::min(scratch.size(), kInputBytesMax));
  const std::size_t count = socket_.read_some(asio::buffer(scratch.data(), scratch.size()), error);
  if (error == asio::error::would_block || error == asio::error::try_again) return wait_readable();
  if (error == asio::error::eof) {
    input_ended_ = true;
    // A client that only sends no more still reads its answer.
    if (phase_ == Phase::kReading || phase_ == Phase::kLingering) end();
    return;
  }
  if (error) return end();
  take({scratch.data(), count});
  wait_readable();
}

void HttpConnection::take(std::string_view bytes) {
  if (phase_ == Phase::kLingering) {
    dropped_ += bytes.size();
    if (dropped_ > kDroppedBytesMax) end();
    return;
  }
  if (phase_ == Phase::kReading && input_.empty()) bytes.remove_prefix(consume(bytes));
  if (phase_ != Phase::kOver) input_ += bytes;
}

// Takes bytes until a request is whole; what follows it is for later.
std::size_t HttpConnection::consume(std::string_view bytes) {
  std::size_t used = 0;
  while (phase_ == Phase::kReading && used < bytes.size()) {
    if (!parser_.begun()) deadline_ = host_.clock().now() + options_.head_limit;
    used += parser_.feed(bytes.substr(used));
    if (parser_.failed()) {
      answer_fault(parser_.fault());
    } else if (!count_body()) {
      answer_fault({503, "body: too many requests are being read; try again later"});
    } else if (parser_.done()) {
      hand_over();
    } else if (parser_.in_body() && !std::exchange(head_read_, true)) {
      deadline_ = host_.clock().now() + options_.body_limit;
    }
    if (phase_ == Phase::kReading && parser_.take_continue()) {
      output_ += "HTTP/1.1 100 Continue\r\n\r\n";
      flush();
    }
  }
  return used;
}

bool HttpConnection::count_body() {
  const std::size_t now = parser_.body_bytes();
  const auto change = static_cast<std::ptrdiff_t>(now) - static_cast<std::ptrdiff_t>(held_);
  held_ = now;
  return host_.hold_bytes(change) || change <= 0;
}

void HttpConnection::hand_over() {
  phase_ = Phase::kBusy;
  head_read_ = false;
  const HttpRequest request = parser_.take();
  way_ = {.minor_version = request.minor_version,
          .keep_alive = request.keep_alive && !host_.stopping(),
          .head_only = request.method == "HEAD",
          .unix_time_s = host_.clock().unix_time_s()};
  host_.on_request(*this, request);
  static_cast<void>(host_.hold_bytes(-static_cast<std::ptrdiff_t>(std::exchange(held_, 0))));
}

void HttpConnection::answer_fault(const HttpFault& fault) {
  phase_ = Phase::kBusy;
  way_ = {.keep_alive = false, .unix_time_s = host_.clock().unix_time_s()};
  host_.on_fault(fault.status);
  respond(error_response({.status = fault.status, .message = fault.reason}));
}

void HttpConnection::respond(const HttpResponse& response) {
  if (phase_ == Phase::kOver) return;
  WEFT_CHECK(phase_ == Phase::kBusy);
  if (host_.stopping()) way_.keep_alive = false;
  output_ += encode_response(response, way_);
  phase_ = Phase::kFlushing;
  flush();
}

void HttpConnection::begin_stream(std::string_view content_type) {
  if (phase_ == Phase::kOver) return;
  if (way_.minor_version == 0 || host_.stopping()) way_.keep_alive = false;
  output_ += encode_stream_head(content_type, way_);
  flush();
}

void HttpConnection::stream(std::string_view data) {
  if (phase_ == Phase::kOver || data.empty()) return;
  if (output_.size() + data.size() > kOutputBytesMax) return end();
  output_ += encode_piece(data, way_);
  flush();
}

void HttpConnection::end_stream() {
  if (phase_ == Phase::kOver) return;
  output_ += encode_stream_end(way_);
  phase_ = Phase::kFlushing;
  flush();
  if (!writing_) flushed();
}

void HttpConnection::note_progress() { deadline_ = host_.clock().now() + options_.write_limit; }

void HttpConnection::flush() {
  if (writing_ || output_.empty()) return;
  sending_ = std::exchange(output_, std::string());
  sent_ = 0;
  if (phase_ != Phase::kReading) note_progress();
  writing_ = true;
  write_rest();
}

void HttpConnection::write_rest() {
  socket_.async_write_some(
      asio::buffer(sending_.data() + sent_, sending_.size() - sent_),
      [self = shared_from_this()](const asio::error_code& error, std::size_t count) {
        if (self->phase_ == Phase::kOver) return;
        if (error) return self->end();
        self->sent_ += count;
        if (self->phase_ != Phase::kReading) self->note_progress();
        if (self->sent_ < self->sending_.size()) return self->write_rest();
        self->writing_ = false;
        self->flush();
        if (!self->writing_ && self->phase_ == Phase::kFlushing) self->flushed();
      });
}

// The answer is with the kernel: the next request, or the end.
void HttpConnection::flushed() {
  if (!way_.keep_alive || host_.stopping()) return linger();
  phase_ = Phase::kReading;
  deadline_ = host_.clock().now() + options_.idle_limit;
  const std::string input = std::exchange(input_, std::string());
  const std::size_t used = consume(input);
  if (phase_ == Phase::kOver) return;
  input_.insert(0, input, used);
  if (phase_ == Phase::kReading && input_ended_) return end();
  wait_readable();
}

// Closing a socket with bytes unread would take the answer away from the client.
void HttpConnection::linger() {
  asio::error_code ignored;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  if (input_ended_) return end();
  phase_ = Phase::kLingering;
  input_.clear();
  deadline_ = host_.clock().now() + options_.linger_limit;
  wait_readable();
}

void HttpConnection::check(TimePoint now) {
  if (phase_ == Phase::kOver || now < deadline_) return;
  if (phase_ == Phase::kBusy && !writing_) return;  // the service's turn
  if (phase_ == Phase::kReading && parser_.begun()) {
    return answer_fault({408, "request: expected it sooner"});
  }
  end();
}

void HttpConnection::stop_soon() {
  if (phase_ != Phase::kReading) return;
  if (!parser_.begun() && !writing_) return end();
  deadline_ = std::min(deadline_, host_.clock().now() + kLastReadLimit);
}

void HttpConnection::end() {
  if (std::exchange(phase_, Phase::kOver) == Phase::kOver) return;
  asio::error_code ignored;
  socket_.close(ignored);
  static_cast<void>(host_.hold_bytes(-static_cast<std::ptrdiff_t>(std::exchange(held_, 0))));
  host_.on_end(*this);
}

}  // namespace weft
