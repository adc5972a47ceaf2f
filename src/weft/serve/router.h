// Router: which answer a request gets, or which job it becomes; no socket, no thread.
//
//   GET  /healthz          {"status": "ok"}
//   GET  /v1/models        the model, as OpenAI's API lists models
//   GET  /metrics          for Prometheus
//   POST /v1/predict       predict_json.h; where the model takes images or rows
//   POST /v1/completions   completion_json.h; where the model takes text
//
// Threads: one owner. Fails: by an answer 400, 403, 404, 405, 411 or 415.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "weft/serve/http_request.h"
#include "weft/serve/http_response.h"
#include "weft/serve/serve_job.h"
#include "weft/serve/serve_metrics.h"
#include "weft/serve/served_model.h"

namespace weft {

// {"error": ...} with this status.
HttpResponse error_response(int status, std::string_view message);

struct Routed {
  std::string_view route;  // for the metrics
  // At once, or what the model is asked for.
  std::variant<HttpResponse, JobWork> result;
};

class Router {
 public:
  // Borrows both. `tokens_max` of a completion; `started_s` is unix time; `hosts` as source_fault()
  // takes them.
  Router(const ServedModel& model, const ServeMetrics& metrics, std::int64_t tokens_max,
         std::int64_t started_s, std::vector<std::string> hosts);

  Routed route(const HttpRequest& request, const ServeGauges& gauges) const;

 private:
  using Handler = Routed (Router::*)(const HttpRequest&, const ServeGauges&) const;
  struct Route {
    std::string_view path;
    std::string_view method;
    Handler handler;
  };
  static const std::vector<Route>& routes();

  Routed health(const HttpRequest& request, const ServeGauges& gauges) const;
  Routed models(const HttpRequest& request, const ServeGauges& gauges) const;
  Routed metrics(const HttpRequest& request, const ServeGauges& gauges) const;
  Routed predict(const HttpRequest& request, const ServeGauges& gauges) const;
  Routed complete(const HttpRequest& request, const ServeGauges& gauges) const;

  const ServedModel& model_;
  const ServeMetrics& metrics_;
  RowRule row_rule_;
  TextRule text_rule_;
  std::int64_t started_s_;
  std::vector<std::string> hosts_;
};

// The answer of one job as it grows: what JobAnswers become on the wire.
class Reply {
 public:
  // Borrows `model`. `id` names a completion.
  Reply(const ServedModel& model, const JobWork& work, std::string id, std::int64_t unix_time_s);

  bool streams() const { return streams_; }
  // What is to be sent: the whole answer, or data of a stream (which may be none yet).
  struct Step {
    std::variant<HttpResponse, std::string> out;
    bool ended = false;
  };
  Step take(const JobAnswer& answer);

 private:
  Step take_failure(const Status& status);
  Step take_token(NextToken next);
  std::string piece_json(const std::string& text, std::span<const std::int32_t> tokens,
                         bool last) const;

  const ServedModel& model_;
  const std::string id_;
  const std::int64_t created_;
  bool streams_ = false;
  std::int64_t prompt_tokens_ = 0;
  TextAssembler assembler_;
  std::string text_;
  std::vector<std::int32_t> tokens_;
  std::size_t tokens_told_ = 0;
};

}  // namespace weft
