#include "weft/serve/http_server.h"

#include <array>
#include <chrono>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <fmt/format.h>
#include <sys/resource.h>

#include "weft/serve/api_error.h"
#include "weft/serve/http_connection.h"
#include "weft/serve/reply.h"
#include "weft/serve/router.h"
#include "weft/serve/serve_metrics.h"

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

std::vector<std::string> own_names(const ServeOptions& options) {
  std::vector<std::string> names = options.names;
  names.push_back(options.host);
  return names;
}

Result<tcp::endpoint> address_of(asio::io_context& context, const ServeOptions& options) {
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
  Impl(ServedModel& model, const ServeOptions& options)
      : options_(options),
        model_(model),
        router_(model, metrics_, options.tokens_max, clock_.unix_time_s(), own_names(options)),
        started_(clock_.now()),
        acceptor_(context_),
        sweep_(context_),
        pause_(context_) {}

  Status open();
  std::uint16_t port() const { return port_; }
  void run(const std::function<bool()>& stop_asked);

  void on_request(HttpConnection& connection, const HttpRequest& request) override;
  void on_fault(int status) override { metrics_.count_request("other", status, 0); }
  void on_end(HttpConnection& connection) override;
  bool hold_bytes(std::ptrdiff_t change) override;
  bool stopping() const override { return stopping_; }
  const Clock& clock() const override { return clock_; }
  std::span<char> scratch() override { return scratch_; }

 private:
  // A request that the model works on.
  struct Pending {
    std::uint64_t connection;
    std::string_view route;
    TimePoint begun;
    std::shared_ptr<Atomic<bool>> cancelled;
    Reply reply;
    bool stream_begun = false;
  };

  void accept();
  void welcome(tcp::socket socket);
  void submit(HttpConnection& connection, std::string_view route, JobWork work);
  void take_answers();
  void deliver(JobAnswer answer);
  void count_answer(const JobAnswer& answer);
  void sweep(const std::function<bool()>& stop_asked);
  void begin_stop();
  std::vector<std::shared_ptr<HttpConnection>> connections() const;
  ServeGauges gauges() const;

  const ServeOptions options_;
  ServedModel& model_;  // its outputs belong to the worker
  SystemClock clock_;
  ServeMetrics metrics_;
  Router router_;
  const TimePoint started_;
  asio::io_context context_{1};
  tcp::acceptor acceptor_;
  asio::steady_timer sweep_;
  asio::steady_timer pause_;
  std::uint16_t port_ = 0;
  std::map<std::uint64_t, std::shared_ptr<HttpConnection>> connections_;
  std::map<std::uint64_t, JobId> jobs_;  // by connection
  std::map<JobId, Pending> pending_;
  std::uint64_t last_connection_ = 0;
  JobId last_job_;
  std::ptrdiff_t held_bytes_ = 0;
  bool stopping_ = false;
  TimePoint stop_deadline_;
  std::array<char, kScratchBytes> scratch_{};
  std::optional<ModelThread> worker_;  // last: its end comes before that of what it wakes
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

void HttpServer::Impl::run(const std::function<bool()>& stop_asked) {
  worker_.emplace(model_, options_.model,
                  [this] { asio::post(context_, [this] { take_answers(); }); });
  accept();
  sweep(stop_asked);
  context_.run();
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
  metrics_.count_connection();
  if (connections_.size() >= options_.connections_max + kRefusedMax) return;
  const bool room = connections_.size() < options_.connections_max;
  const std::uint64_t id = ++last_connection_;
  auto connection = std::make_shared<HttpConnection>(id, std::move(socket), options_, *this);
  connections_.emplace(id, connection);
  if (room) return connection->start();
  on_fault(503);
  HttpResponse busy =
      error_response({.status = 503, .message = "connections: too many; try again later"});
  busy.headers.emplace_back("Retry-After", "1");
  connection->refuse(busy);
}

void HttpServer::Impl::on_request(HttpConnection& connection, const HttpRequest& request) {
  const TimePoint begun = clock_.now();
  Routed routed = router_.route(request, gauges());
  if (auto* work = std::get_if<JobWork>(&routed.result)) {
    return submit(connection, routed.route, std::move(*work));
  }
  const auto& response = std::get<HttpResponse>(routed.result);
  metrics_.count_request(routed.route, response.status, to_seconds(clock_.now() - begun));
  connection.respond(response);
}

void HttpServer::Impl::submit(HttpConnection& connection, std::string_view route, JobWork work) {
  const TimePoint begun = clock_.now();
  const JobId id = last_job_ = last_job_.next();
  if (auto* text = std::get_if<CompletionRequest>(&work); text != nullptr && !text->seed) {
    text->seed = unix_time_us() + id.value();
  }
  Reply reply(model_, work,
              {fmt::format("cmpl-{:016x}", unix_time_us() + id.value()), clock_.unix_time_s(),
               router_.id()});
  Job job{id, std::move(work)};
  const auto cancelled = job.cancelled;
  if (!worker_->submit(std::move(job))) {
    metrics_.count_request(route, 503, 0);
    HttpResponse busy = error_response(
        {.status = 503, .message = "queue: too many requests wait; try again later"});
    busy.headers.emplace_back("Retry-After", "1");
    return connection.respond(busy);
  }
  jobs_[connection.id()] = id;
  pending_.emplace(id, Pending{connection.id(), route, begun, cancelled, std::move(reply)});
}

void HttpServer::Impl::take_answers() {
  while (std::optional<JobAnswer> answer = worker_->take()) deliver(std::move(*answer));
}

void HttpServer::Impl::count_answer(const JobAnswer& answer) {
  if (answer.batch_rows > 0) metrics_.count_batch(answer.batch_rows);
  if (const auto* outputs = std::get_if<PredictOutputs>(&answer.result)) {
    metrics_.count_rows(outputs->rows);
  } else if (std::holds_alternative<NextToken>(answer.result)) {
    metrics_.count_token();
  }
}

void HttpServer::Impl::deliver(JobAnswer answer) {
  count_answer(answer);
  const auto found = pending_.find(answer.id);
  if (found == pending_.end()) return;  // its client is gone
  Pending& pending = found->second;
  const std::shared_ptr<HttpConnection> connection = connections_.at(pending.connection);
  const bool streams = pending.reply.streams();
  const Reply::Step step = pending.reply.take(std::move(answer));
  if (!step.ended && !streams) return;
  const auto* response = std::get_if<HttpResponse>(&step.out);
  if (streams && !std::exchange(pending.stream_begun, true)) {
    connection->begin_stream("text/event-stream");
  }
  if (step.ended) {
    metrics_.count_request(pending.route, response != nullptr ? response->status : 200,
                           to_seconds(clock_.now() - pending.begun));
    jobs_.erase(pending.connection);
    pending_.erase(found);
  }
  if (response != nullptr) return connection->respond(*response);
  connection->stream(std::get<std::string>(step.out));
  if (step.ended) connection->end_stream();
}

void HttpServer::Impl::on_end(HttpConnection& connection) {
  if (const auto job = jobs_.find(connection.id()); job != jobs_.end()) {
    const auto pending = pending_.find(job->second);
    pending->second.cancelled->store(true);
    pending_.erase(pending);
    jobs_.erase(job);
  }
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

ServeGauges HttpServer::Impl::gauges() const {
  return {connections_.size(), worker_->waiting(), to_seconds(clock_.now() - started_)};
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
void HttpServer::run(const std::function<bool()>& stop_asked) { impl_->run(stop_asked); }

Result<std::unique_ptr<HttpServer>> HttpServer::listen(ServedModel& model,
                                                       const ServeOptions& options) {
  auto impl = std::make_unique<Impl>(model, options);
  WEFT_TRY(impl->open());
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

}  // namespace weft
