#include "weft/http/http_server.h"

#include <array>
#include <chrono>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <fmt/format.h>
#include <sys/resource.h>

#include "weft/http/api_error.h"
#include "weft/http/http_connection.h"

namespace weft {
namespace {

using asio::ip::tcp;

constexpr Duration kSweepInterval = std::chrono::milliseconds(50);
constexpr Duration kAcceptPause = std::chrono::milliseconds(100);
constexpr int kBacklog = 4096;
constexpr std::size_t kScratchBytes = std::size_t{64} << 10U;
// Beyond the limit of connections: those that are only told that there is no room.
constexpr std::size_t kRefusedMax = 64;
constexpr ::rlim_t kOtherDescriptors = 64;

// As many descriptors as connections, where the system's hard limit allows it.
void allow_descriptors(std::size_t connections) {
  ::rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const ::rlim_t wanted = connections + kRefusedMax + kOtherDescriptors;
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min(limit.rlim_max, wanted);
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

Result<tcp::endpoint> address_of(asio::io_context& context, const HttpServerOptions& options) {
  asio::error_code error;
  const asio::ip::address numeric = asio::ip::make_address(options.host, error);
  if (!error) return tcp::endpoint(numeric, options.port);
  tcp::resolver resolver(context);
  const auto found =
      resolver.resolve(options.host, std::to_string(options.port), tcp::resolver::passive, error);
  if (!error && !found.empty()) return found.begin()->endpoint();
  return unavailable(fmt::format("listen on {}: {}; give --host an address of this machine",
                                 options.host, error ? error.message() : "no such address"));
}

}  // namespace

class HttpServer::Impl final : public HttpConnection::Host {
 public:
  explicit Impl(const HttpServerOptions& options)
      : options_(options), acceptor_(context_), sweep_(context_), pause_(context_) {}

  Status open();
  std::uint16_t port() const { return port_; }
  std::size_t count() const { return connections_.size(); }
  void run(HttpService& service, const std::function<bool()>& stop_asked);
  void post(std::function<void()> work) { asio::post(context_, std::move(work)); }
  // Null where the client is gone.
  std::shared_ptr<HttpConnection> find(HttpClientId client) const;

  void on_request(HttpConnection& connection, const HttpRequest& request) override;
  void on_fault(int status) override { service_->on_fault(status); }
  void on_end(HttpConnection& connection) override;
  bool hold_bytes(std::ptrdiff_t change) override;
  bool stopping() const override { return stopping_; }
  const Clock& clock() const override { return clock_; }
  std::span<char> scratch() override { return scratch_; }

 private:
  void accept();
  void welcome(tcp::socket socket);
  void sweep(const std::function<bool()>& stop_asked);
  void begin_stop();
  std::vector<std::shared_ptr<HttpConnection>> connections() const;

  const HttpServerOptions options_;
  HttpService* service_ = nullptr;  // while run() runs
  SystemClock clock_;
  asio::io_context context_{1};
  tcp::acceptor acceptor_;
  asio::steady_timer sweep_;
  asio::steady_timer pause_;
  std::uint16_t port_ = 0;
  std::map<HttpClientId, std::shared_ptr<HttpConnection>> connections_;
  HttpClientId last_client_;
  std::ptrdiff_t held_bytes_ = 0;
  bool stopping_ = false;
  TimePoint stop_deadline_;
  std::array<char, kScratchBytes> scratch_{};
};

Status HttpServer::Impl::open() {
  WEFT_TRY_ASSIGN(const tcp::endpoint endpoint, address_of(context_, options_));
  asio::error_code error;
  const auto step = [&](const auto& body) {
    if (!error) body();
  };
  step([&] { acceptor_.open(endpoint.protocol(), error); });
  step([&] { acceptor_.set_option(tcp::acceptor::reuse_address(true), error); });
  step([&] { acceptor_.bind(endpoint, error); });
  step([&] { acceptor_.listen(kBacklog, error); });
  if (error) {
    return unavailable(fmt::format("listen on {}:{}: {}; choose another --port or --host",
                                   options_.host, options_.port, error.message()));
  }
  port_ = acceptor_.local_endpoint(error).port();
  allow_descriptors(options_.connections_max);
  return {};
}

void HttpServer::Impl::run(HttpService& service, const std::function<bool()>& stop_asked) {
  service_ = &service;
  accept();
  sweep(stop_asked);
  context_.run();
}

std::shared_ptr<HttpConnection> HttpServer::Impl::find(HttpClientId client) const {
  const auto found = connections_.find(client);
  return found == connections_.end() ? nullptr : found->second;
}

void HttpServer::Impl::accept() {
  acceptor_.async_accept([this](const asio::error_code& error, tcp::socket socket) {
    if (stopping_) return;
    if (!error) {
      welcome(std::move(socket));
      return accept();
    }
    // Such as no descriptors left: some end meanwhile.
    pause_.expires_after(kAcceptPause);
    pause_.async_wait([this](const asio::error_code& cancelled) {
      if (!cancelled && !stopping_) accept();
    });
  });
}

void HttpServer::Impl::welcome(tcp::socket socket) {
  asio::error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  socket.non_blocking(true, ignored);
  service_->on_connection();
  if (connections_.size() >= options_.connections_max + kRefusedMax) return;
  const bool room = connections_.size() < options_.connections_max;
  const HttpClientId id = last_client_ = last_client_.next();
  auto connection = std::make_shared<HttpConnection>(id, std::move(socket), options_, *this);
  connections_.emplace(id, connection);
  if (room) return connection->start();
  on_fault(503);
  connection->refuse(busy_response("connections: too many; try again later"));
}

void HttpServer::Impl::on_request(HttpConnection& connection, const HttpRequest& request) {
  service_->on_request(connection.id(), request);
}

void HttpServer::Impl::on_end(HttpConnection& connection) {
  service_->on_end(connection.id());
  connections_.erase(connection.id());
}

bool HttpServer::Impl::hold_bytes(std::ptrdiff_t change) {
  held_bytes_ += change;
  return held_bytes_ <= static_cast<std::ptrdiff_t>(options_.bodies_bytes_max);
}

std::vector<std::shared_ptr<HttpConnection>> HttpServer::Impl::connections() const {
  std::vector<std::shared_ptr<HttpConnection>> all;
  for (const auto& [id, connection] : connections_) all.push_back(connection);
  return all;
}

void HttpServer::Impl::sweep(const std::function<bool()>& stop_asked) {
  const TimePoint now = clock_.now();
  // A copy: whoever ends leaves the map.
  for (const auto& connection : connections()) connection->check(now);
  if (!stopping_ && stop_asked()) begin_stop();
  if (stopping_ && now >= stop_deadline_) {
    for (const auto& connection : connections()) connection->end();
  }
  if (stopping_ && connections_.empty()) return context_.stop();
  sweep_.expires_after(kSweepInterval);
  sweep_.async_wait([this, &stop_asked](const asio::error_code& /*error*/) { sweep(stop_asked); });
}

void HttpServer::Impl::begin_stop() {
  stopping_ = true;
  stop_deadline_ = clock_.now() + options_.stop_limit;
  asio::error_code ignored;
  acceptor_.close(ignored);
  for (const auto& connection : connections()) connection->stop_soon();
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;
std::uint16_t HttpServer::port() const { return impl_->port(); }
std::size_t HttpServer::connections() const { return impl_->count(); }
void HttpServer::run(HttpService& service, const std::function<bool()>& stop_asked) {
  impl_->run(service, stop_asked);
}
void HttpServer::post(std::function<void()> work) { impl_->post(std::move(work)); }

void HttpServer::respond(HttpClientId client, const HttpResponse& response) {
  if (const auto connection = impl_->find(client)) connection->respond(response);
}

void HttpServer::begin_stream(HttpClientId client, std::string_view content_type) {
  if (const auto connection = impl_->find(client)) connection->begin_stream(content_type);
}

void HttpServer::stream(HttpClientId client, std::string_view data) {
  if (const auto connection = impl_->find(client)) connection->stream(data);
}

void HttpServer::end_stream(HttpClientId client) {
  if (const auto connection = impl_->find(client)) connection->end_stream();
}

Result<std::unique_ptr<HttpServer>> HttpServer::listen(const HttpServerOptions& options) {
  auto impl = std::make_unique<Impl>(options);
  WEFT_TRY(impl->open());
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

}  // namespace weft
