// Router: which answer a request gets, or which job it becomes; no socket, no thread.
//
//   GET  /                 a page to try the model (page.h)
//   GET  /healthz          {"status": "ok"}
//   GET  /v1/models        the model, as OpenAI's API lists models
//   GET  /v1/models/ID     the same by itself
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

#include "weft/http/http_request.h"
#include "weft/http/http_response.h"
#include "weft/http/http_router.h"
#include "weft/serve/model/serve_job.h"
#include "weft/serve/model/served_model.h"
#include "weft/serve/serve_metrics.h"

namespace weft {

// The id of a model in requests and answers: its name with "-" in place of blanks and of characters
// that have a meaning in an address, so that it needs no quotes anywhere; "model" if nothing else
// is left.
std::string model_id(std::string_view name);

struct Routed {
  std::string_view route;  // for the metrics
  // An immediate response, or the work for the model.
  std::variant<HttpResponse, JobWork> result;
};

class Router {
 public:
  // Borrows both. `tokens_max` of a completion; `started_s` is unix time; `hosts` as source_fault()
  // takes them.
  Router(const ServedModel& model, const ServeMetrics& metrics, std::int64_t tokens_max,
         std::int64_t started_s, std::vector<std::string> hosts);

  const std::string& id() const { return id_; }
  Routed route(const HttpRequest& request, const ServeGauges& gauges) const;

 private:
  using Handler = Routed (Router::*)(const HttpRequest&, const ServeGauges&) const;
  struct Route {
    HttpRoute http;
    Handler handler;
  };
  static const std::vector<Route>& routes();
  static std::vector<HttpRoute> paths();

  Routed page(const HttpRequest& request, const ServeGauges& gauges) const;
  Routed health(const HttpRequest& request, const ServeGauges& gauges) const;
  Routed models(const HttpRequest& request, const ServeGauges& gauges) const;
  Routed one_model(const HttpRequest& request, const ServeGauges& gauges) const;
  Routed metrics(const HttpRequest& request, const ServeGauges& gauges) const;
  Routed predict(const HttpRequest& request, const ServeGauges& gauges) const;
  Routed complete(const HttpRequest& request, const ServeGauges& gauges) const;
  Routed chat(const HttpRequest& request, const ServeGauges& gauges) const;

  bool is_served(const std::string& asked) const;
  std::string model_json() const;

  const ServedModel& model_;
  const ServeMetrics& metrics_;
  const std::string id_;
  RowRule row_rule_;
  TextRule text_rule_;
  std::int64_t started_s_;
  HttpRouter router_;
};

}  // namespace weft
