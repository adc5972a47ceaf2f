#include "weft/serve/model_server.h"

#include <map>
#include <optional>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "weft/http/api_error.h"
#include "weft/serve/reply.h"
#include "weft/serve/router.h"
#include "weft/serve/serve_metrics.h"

namespace weft {
namespace {

std::vector<std::string> own_names(const ServeOptions& options) {
  std::vector<std::string> names = options.names;
  names.push_back(options.http.host);
  return names;
}

}  // namespace

class ModelServer::Impl final : public HttpService {
 public:
  Impl(ServedModel& model, const ServeOptions& options, std::unique_ptr<HttpServer> http)
      : options_(options),
        model_(model),
        router_(model, metrics_, options.tokens_max, clock_.unix_time_s(), own_names(options)),
        started_(clock_.now()),
        http_(std::move(http)) {}

  std::uint16_t port() const { return http_->port(); }
  void run(const std::function<bool()>& stop_asked);

  void on_request(HttpClientId client, const HttpRequest& request) override;
  void on_connection() override { metrics_.count_connection(); }
  void on_fault(int status) override { metrics_.count_request("other", status, 0); }
  void on_end(HttpClientId client) override;

 private:
  // A request that the model works on.
  struct Pending {
    HttpClientId client;
    std::string_view route;
    TimePoint begun;
    std::shared_ptr<Atomic<bool>> cancelled;
    Reply reply;
    bool stream_begun = false;
  };

  void submit(HttpClientId client, std::string_view route, JobWork work);
  void take_answers();
  void deliver(JobAnswer answer);
  void count_answer(const JobAnswer& answer);
  ServeGauges gauges() const;

  const ServeOptions options_;
  ServedModel& model_;  // its outputs belong to the worker
  SystemClock clock_;
  ServeMetrics metrics_;
  Router router_;
  const TimePoint started_;
  std::unique_ptr<HttpServer> http_;
  std::map<HttpClientId, JobId> jobs_;
  std::map<JobId, Pending> pending_;
  JobId last_job_;
  std::optional<ModelThread> worker_;  // last: its end comes before that of what it wakes
};

void ModelServer::Impl::run(const std::function<bool()>& stop_asked) {
  worker_.emplace(model_, options_.model, [this] { http_->post([this] { take_answers(); }); });
  http_->run(*this, stop_asked);
}

void ModelServer::Impl::on_request(HttpClientId client, const HttpRequest& request) {
  const TimePoint begun = clock_.now();
  Routed routed = router_.route(request, gauges());
  if (auto* work = std::get_if<JobWork>(&routed.result)) {
    return submit(client, routed.route, std::move(*work));
  }
  const auto& response = std::get<HttpResponse>(routed.result);
  metrics_.count_request(routed.route, response.status, to_seconds(clock_.now() - begun));
  http_->respond(client, response);
}

void ModelServer::Impl::submit(HttpClientId client, std::string_view route, JobWork work) {
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
    return http_->respond(client, busy_response("queue: too many requests wait; try again later"));
  }
  jobs_[client] = id;
  pending_.emplace(id, Pending{client, route, begun, cancelled, std::move(reply)});
}

void ModelServer::Impl::take_answers() {
  while (std::optional<JobAnswer> answer = worker_->take()) deliver(std::move(*answer));
}

void ModelServer::Impl::count_answer(const JobAnswer& answer) {
  if (answer.batch_rows > 0) metrics_.count_batch(answer.batch_rows);
  if (const auto* outputs = std::get_if<PredictOutputs>(&answer.result)) {
    metrics_.count_rows(outputs->rows);
  } else if (std::holds_alternative<NextToken>(answer.result)) {
    metrics_.count_token();
  }
}

void ModelServer::Impl::deliver(JobAnswer answer) {
  count_answer(answer);
  const auto found = pending_.find(answer.id);
  if (found == pending_.end()) return;  // its client is gone
  Pending& pending = found->second;
  const HttpClientId client = pending.client;
  const bool streams = pending.reply.streams();
  const Reply::Step step = pending.reply.take(std::move(answer));
  if (!step.ended && !streams) return;
  const auto* response = std::get_if<HttpResponse>(&step.out);
  if (streams && !std::exchange(pending.stream_begun, true)) {
    http_->begin_stream(client, "text/event-stream");
  }
  if (step.ended) {
    metrics_.count_request(pending.route, response != nullptr ? response->status : 200,
                           to_seconds(clock_.now() - pending.begun));
    jobs_.erase(client);
    pending_.erase(found);
  }
  if (response != nullptr) return http_->respond(client, *response);
  http_->stream(client, std::get<std::string>(step.out));
  if (step.ended) http_->end_stream(client);
}

void ModelServer::Impl::on_end(HttpClientId client) {
  const auto job = jobs_.find(client);
  if (job == jobs_.end()) return;
  const auto pending = pending_.find(job->second);
  pending->second.cancelled->store(true);
  pending_.erase(pending);
  jobs_.erase(job);
}

ServeGauges ModelServer::Impl::gauges() const {
  return {http_->connections(), worker_->waiting(), to_seconds(clock_.now() - started_)};
}

ModelServer::ModelServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ModelServer::~ModelServer() = default;
std::uint16_t ModelServer::port() const { return impl_->port(); }
void ModelServer::run(const std::function<bool()>& stop_asked) { impl_->run(stop_asked); }

Result<std::unique_ptr<ModelServer>> ModelServer::listen(ServedModel& model,
                                                         const ServeOptions& options) {
  WEFT_TRY_ASSIGN(auto http, HttpServer::listen(options.http));
  auto impl = std::make_unique<Impl>(model, options, std::move(http));
  return std::unique_ptr<ModelServer>(new ModelServer(std::move(impl)));
}

}  // namespace weft
