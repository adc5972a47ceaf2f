#include "weft/serve/router.h"

#include <algorithm>

#include <fmt/format.h>

#include "weft/serve/json_text.h"
#include "weft/serve/request_source.h"

namespace weft {
namespace {

Routed at_once(std::string_view route, HttpResponse response) {
  return {route, std::move(response)};
}

Status check_model_name(const std::string& asked, const std::string& name) {
  if (asked.empty() || asked == name) return {};
  return unavailable(fmt::format("model: expected \"{}\", which is served here, got \"{}\"", name,
                                 asked.substr(0, 64)));
}

}  // namespace

HttpResponse error_response(int status, std::string_view message) {
  return {.status = status, .body = error_json(status, message)};
}

Router::Router(const ServedModel& model, const ServeMetrics& metrics, std::int64_t tokens_max,
               std::int64_t started_s, std::vector<std::string> hosts)
    : model_(model), metrics_(metrics), started_s_(started_s), hosts_(std::move(hosts)) {
  if (model.is_text()) {
    text_rule_ = model.text_rule();
    text_rule_.tokens_max = tokens_max;
  } else {
    row_rule_ = model.row_rule();
  }
}

const std::vector<Router::Route>& Router::routes() {
  static const std::vector<Route> all = {{"/healthz", "GET", &Router::health},
                                         {"/v1/models", "GET", &Router::models},
                                         {"/metrics", "GET", &Router::metrics},
                                         {"/v1/predict", "POST", &Router::predict},
                                         {"/v1/completions", "POST", &Router::complete}};
  return all;
}

Routed Router::route(const HttpRequest& request, const ServeGauges& gauges) const {
  if (const auto fault = source_fault(request, hosts_)) {
    return at_once("other", error_response(fault->status, fault->reason));
  }
  const auto found = std::find_if(routes().begin(), routes().end(),
                                  [&](const Route& route) { return route.path == request.path; });
  if (found == routes().end()) {
    return at_once("other", error_response(404,
                                           "path: expected /healthz, /v1/models, /metrics, "
                                           "/v1/predict or /v1/completions"));
  }
  const bool reads = found->method == "GET";
  if (request.method != found->method && !(reads && request.method == "HEAD")) {
    HttpResponse refused =
        error_response(405, fmt::format("method: expected {} for {}", found->method, found->path));
    refused.headers.emplace_back("Allow", reads ? "GET, HEAD" : "POST");
    return at_once(found->path, std::move(refused));
  }
  if (!reads && !request.has_length) {
    return at_once(found->path,
                   error_response(411, "length: expected Content-Length or chunks of a body"));
  }
  if (const auto fault = reads ? std::nullopt : content_fault(request)) {
    return at_once(found->path, error_response(fault->status, fault->reason));
  }
  return (this->*found->handler)(request, gauges);
}

Routed Router::health(const HttpRequest& /*request*/, const ServeGauges& /*gauges*/) const {
  return at_once("/healthz", {.body = "{\"status\":\"ok\"}\n"});
}

Routed Router::models(const HttpRequest& /*request*/, const ServeGauges& /*gauges*/) const {
  std::string facts;
  if (model_.is_text()) {
    facts = fmt::format("\"kind\":\"text\",\"vocabulary\":{},\"context\":{}", text_rule_.vocabulary,
                        text_rule_.context);
  } else {
    facts = fmt::format("\"kind\":\"{}\",\"input\":[{}]", row_rule_.pixels ? "images" : "rows",
                        fmt::join(model_.input_sizes(), ","));
  }
  return at_once("/v1/models",
                 {.body = fmt::format(
                      "{{\"object\":\"list\",\"data\":[{{\"id\":{},\"object\":\"model\","
                      "\"created\":{},\"owned_by\":\"weft\",\"architecture\":{},"
                      "\"parameters\":{},\"step\":{},{}}}]}}\n",
                      json_quoted(model_.name()), started_s_, json_quoted(model_.architecture()),
                      model_.parameters(), model_.step(), facts)});
}

Routed Router::metrics(const HttpRequest& /*request*/, const ServeGauges& gauges) const {
  return at_once("/metrics", {.body = metrics_.text(gauges),
                              .content_type = "text/plain; version=0.0.4; charset=utf-8"});
}

Routed Router::predict(const HttpRequest& request, const ServeGauges& /*gauges*/) const {
  constexpr std::string_view kRoute = "/v1/predict";
  if (model_.is_text()) {
    return at_once(kRoute, error_response(404,
                                          "path: this model continues text; ask "
                                          "/v1/completions"));
  }
  const Result<PredictRows> rows = parse_predict(request.body, row_rule_);
  if (!rows.ok()) return at_once(kRoute, error_response(400, rows.status().message()));
  if (const Status named = check_model_name(rows->model, model_.name()); !named.ok()) {
    return at_once(kRoute, error_response(404, named.message()));
  }
  const Result<Array> inputs = model_.prepare(*rows);
  if (!inputs.ok()) return at_once(kRoute, error_response(400, inputs.status().message()));
  return {kRoute, JobWork(*inputs)};
}

Routed Router::complete(const HttpRequest& request, const ServeGauges& /*gauges*/) const {
  constexpr std::string_view kRoute = "/v1/completions";
  if (!model_.is_text()) {
    return at_once(kRoute, error_response(404, "path: this model takes rows; ask /v1/predict"));
  }
  Result<CompletionRequest> wanted = parse_completion(request.body, text_rule_);
  if (!wanted.ok()) return at_once(kRoute, error_response(400, wanted.status().message()));
  if (const Status named = check_model_name(wanted->model, model_.name()); !named.ok()) {
    return at_once(kRoute, error_response(404, named.message()));
  }
  return {kRoute, JobWork(std::move(*wanted))};
}

Reply::Reply(const ServedModel& model, const JobWork& work, std::string id,
             std::int64_t unix_time_s)
    : model_(model), id_(std::move(id)), created_(unix_time_s) {
  if (const auto* completion = std::get_if<CompletionRequest>(&work)) {
    streams_ = completion->stream;
    prompt_tokens_ = static_cast<std::int64_t>(completion->prompt.size());
  }
}

Reply::Step Reply::take(const JobAnswer& answer) {
  if (const auto* status = std::get_if<Status>(&answer.result)) return take_failure(*status);
  if (const auto* next = std::get_if<NextToken>(&answer.result)) return take_token(*next);
  const auto& outputs = std::get<PredictOutputs>(answer.result);
  return {HttpResponse{.body = predict_answer(model_.name(), outputs, model_.has_classes(),
                                              model_.class_names()) +
                               "\n"},
          true};
}

// The head of a stream has gone out: what failed is its last event.
Reply::Step Reply::take_failure(const Status& status) {
  if (!streams_) return {error_response(500, status.message()), true};
  std::string json = error_json(500, status.message());
  json.pop_back();  // the line's end
  return {server_sent_event(json), true};
}

Reply::Step Reply::take_token(NextToken next) {
  tokens_.push_back(next.token);
  std::string text;
  if (const Tokenizer* tokenizer = model_.tokenizer()) {
    const Result<std::string> bytes = tokenizer->decode(std::span(&next.token, 1));
    if (!bytes.ok()) return take_failure(internal_error(bytes.status().message()));
    text = assembler_.add(*bytes);
    if (next.last) text += assembler_.finish();
  }
  if (!streams_) {
    text_ += text;
    if (!next.last) return {std::string(), false};
    return {HttpResponse{.body = piece_json(text_, tokens_, true) + "\n"}, true};
  }
  // Tokens that end within a character go with the one that completes it.
  const std::span<const std::int32_t> untold = std::span(tokens_).subspan(tokens_told_);
  if (text.empty() && model_.tokenizer() != nullptr && !next.last) return {std::string(), false};
  std::string events = server_sent_event(piece_json(text, untold, next.last));
  tokens_told_ = tokens_.size();
  if (next.last) events += server_sent_event("[DONE]");
  return {std::move(events), next.last};
}

std::string Reply::piece_json(const std::string& text, std::span<const std::int32_t> tokens,
                              bool last) const {
  CompletionPiece piece;
  piece.id = id_;
  piece.created = created_;
  piece.model = model_.name();
  piece.text = text;
  piece.tokens = tokens;
  if (last) piece.finish_reason = "length";
  piece.with_usage = last;
  piece.prompt_tokens = prompt_tokens_;
  piece.completion_tokens = static_cast<std::int64_t>(tokens_.size());
  return completion_json(piece);
}

}  // namespace weft
