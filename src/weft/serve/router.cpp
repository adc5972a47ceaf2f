#include "weft/serve/router.h"

#include <charconv>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/http/api_error.h"
#include "weft/http/json_text.h"
#include "weft/serve/page.h"

namespace weft {
namespace {

constexpr std::string_view kModelPrefix = "/v1/models/";
constexpr std::size_t kColumnsToldMax = 1000;
constexpr std::size_t kWordsToldMax = 1000;  // of a column
constexpr std::size_t kShownNameMax = 64;

Routed at_once(std::string_view route, HttpResponse response) {
  return {route, std::move(response)};
}

Routed refused(std::string_view route, const ApiError& error) {
  return {route, error_response(error)};
}

ApiError unknown_model(const std::string& asked, const std::string& id) {
  return {.status = 404,
          .message = fmt::format("model: expected \"{}\", which is served here, got \"{}\"", id,
                                 asked.substr(0, kShownNameMax)),
          .param = "model",
          .code = "model_not_found"};
}

// "a%20b" is "a b"; a "%" without two digits stands for itself.
std::string percent_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    const std::string_view digits = text.substr(i + 1, 2);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    const bool coded = text[i] == '%' && error == std::errc() && end == digits.data() + 2;
    decoded += coded ? static_cast<char>(value) : text[i];
    if (coded) i += 2;
  }
  return decoded;
}

// What a message about a row's request begins with is the field, unless it is the whole body.
ApiError wrong_rows(const Status& status) {
  const std::string& message = status.message();
  for (const char* const field : {"inputs", "model"}) {
    if (message.starts_with(field)) return {.message = message, .param = field};
  }
  return {.message = message};
}

}  // namespace

std::string model_id(std::string_view name) {
  std::string id;
  for (const char letter : name) {
    const auto byte = static_cast<unsigned char>(letter);
    const bool plain = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                       (letter >= '0' && letter <= '9') || byte >= 0x80 ||
                       std::string_view("._:-").find(letter) != std::string_view::npos;
    if (plain) {
      id += letter;
    } else if (!id.empty() && !id.ends_with('-')) {
      id += '-';
    }
  }
  while (id.ends_with('-')) id.pop_back();
  return id.empty() ? "model" : id;
}

Router::Router(const ServedModel& model, const ServeMetrics& metrics, std::int64_t tokens_max,
               std::int64_t started_s, std::vector<std::string> hosts)
    : model_(model),
      metrics_(metrics),
      id_(model_id(model.name())),
      started_s_(started_s),
      router_(paths(), "/, /healthz, /v1/models, /metrics, /v1/predict or /v1/completions",
              std::move(hosts)) {
  if (model.is_text()) {
    text_rule_ = model.text_rule();
    text_rule_.tokens_max = tokens_max;
  } else {
    row_rule_ = model.row_rule();
  }
}

const std::vector<Router::Route>& Router::routes() {
  static const std::vector<Route> all = {{{"/", "GET"}, &Router::page},
                                         {{"/page.js", "GET"}, &Router::page},
                                         {{"/page.css", "GET"}, &Router::page},
                                         {{"/healthz", "GET"}, &Router::health},
                                         {{"/v1/models", "GET"}, &Router::models},
                                         {{kModelPrefix, "GET"}, &Router::one_model},
                                         {{"/metrics", "GET"}, &Router::metrics},
                                         {{"/v1/predict", "POST"}, &Router::predict},
                                         {{"/v1/completions", "POST"}, &Router::complete},
                                         {{"/v1/chat/completions", "POST"}, &Router::chat}};
  return all;
}

std::vector<HttpRoute> Router::paths() {
  std::vector<HttpRoute> all;
  for (const Route& route : routes()) all.push_back(route.http);
  return all;
}

Routed Router::route(const HttpRequest& request, const ServeGauges& gauges) const {
  HttpMatch match = router_.find(request);
  const Route* const found = match.route.has_value() ? &routes()[*match.route] : nullptr;
  const std::string_view name = found == nullptr ? "other" : found->http.path;
  if (match.refusal.has_value()) return at_once(name, std::move(*match.refusal));
  Routed routed = (this->*found->handler)(request, gauges);
  routed.route = name;
  return routed;
}

Routed Router::page(const HttpRequest& request, const ServeGauges& /*gauges*/) const {
  return at_once("", page_response(request.path));
}

Routed Router::health(const HttpRequest& /*request*/, const ServeGauges& /*gauges*/) const {
  nlohmann::json answer;
  answer["status"] = "ok";
  return at_once("", {.body = answer.dump() + "\n"});
}

// What a row is made of, for a page with a field for each column; nothing for tables beyond any
// page.
static void add_columns(nlohmann::ordered_json& model, const DataDescription& data) {
  if (data.columns.size() > kColumnsToldMax) return;
  auto columns = nlohmann::ordered_json::array();
  for (const ColumnDescription& column : data.columns) {
    const bool numbers = column.words.empty();
    nlohmann::ordered_json each = {{"name", column.name}, {"kind", numbers ? "numbers" : "words"}};
    if (!numbers && column.words.size() <= kWordsToldMax) each["words"] = column.words;
    columns.push_back(std::move(each));
  }
  auto targets = nlohmann::ordered_json::array();
  for (const TargetDescription& target : data.target_columns) targets.push_back(target.name);
  model["columns"] = std::move(columns);
  model["targets"] = std::move(targets);
}

std::string Router::model_json() const {
  nlohmann::ordered_json model = {{"id", id_},
                                  {"object", "model"},
                                  {"created", started_s_},
                                  {"owned_by", "weft"},
                                  {"name", model_.name()},
                                  {"architecture", model_.architecture()},
                                  {"parameters", model_.parameters()},
                                  {"step", model_.step()}};
  if (model_.is_text()) {
    model["kind"] = "text";
    model["vocabulary"] = text_rule_.vocabulary;
    model["context"] = text_rule_.context;
    model["tokenizer"] = text_rule_.tokenizer != nullptr;
  } else {
    model["kind"] = row_rule_.pixels ? "images" : "rows";
    model["input"] = model_.input_sizes();
    if (!row_rule_.pixels) add_columns(model, model_.data());
    if (model_.has_classes() && !model_.class_names().empty()) {
      model["classes"] = model_.class_names();
    }
  }
  return model.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

Routed Router::models(const HttpRequest& /*request*/, const ServeGauges& /*gauges*/) const {
  nlohmann::ordered_json answer;
  answer["object"] = "list";
  answer["data"].push_back(nlohmann::ordered_json::parse(model_json()));
  return at_once("", {.body = answer.dump() + "\n"});
}

Routed Router::one_model(const HttpRequest& request, const ServeGauges& /*gauges*/) const {
  const std::string asked =
      percent_decoded(std::string_view(request.path).substr(kModelPrefix.size()));
  if (!is_served(asked)) return refused("", unknown_model(asked, id_));
  return at_once("", {.body = model_json() + "\n"});
}

Routed Router::metrics(const HttpRequest& /*request*/, const ServeGauges& gauges) const {
  return at_once("", {.body = metrics_.text(gauges),
                      .content_type = "text/plain; version=0.0.4; charset=utf-8"});
}

// Its name is taken too, since that is what people have in their recipes.
bool Router::is_served(const std::string& asked) const {
  return asked == id_ || asked == model_.name();
}

Routed Router::predict(const HttpRequest& request, const ServeGauges& /*gauges*/) const {
  if (model_.is_text()) {
    return refused(
        "", {.status = 404, .message = "path: this model continues text; ask /v1/completions"});
  }
  const Result<PredictRows> rows = parse_predict(request.body, row_rule_);
  if (!rows.ok()) return refused("", wrong_rows(rows.status()));
  if (!rows->model.empty() && !is_served(rows->model)) {
    return refused("", unknown_model(rows->model, id_));
  }
  const Result<Array> inputs = model_.prepare(*rows);
  if (!inputs.ok()) return refused("", wrong_rows(inputs.status()));
  return {"", JobWork(*inputs)};
}

Routed Router::complete(const HttpRequest& request, const ServeGauges& /*gauges*/) const {
  if (!model_.is_text()) {
    return refused("", {.status = 404, .message = "path: this model takes rows; ask /v1/predict"});
  }
  auto parsed = parse_completion(request.body, text_rule_);
  if (const auto* error = std::get_if<ApiError>(&parsed)) return refused("", *error);
  auto& wanted = std::get<CompletionRequest>(parsed);
  if (!wanted.model.empty() && !is_served(wanted.model)) {
    return refused("", unknown_model(wanted.model, id_));
  }
  return {"", JobWork(std::move(wanted))};
}

// How messages become a text is part of how a chat model was trained, and no model here says it.
Routed Router::chat(const HttpRequest& /*request*/, const ServeGauges& /*gauges*/) const {
  const char* const instead =
      model_.is_text() ? "path: this model has no chat template, by which messages would become a "
                         "text; ask /v1/completions with a prompt (client.completions.create)"
                       : "path: this model takes rows; ask /v1/predict";
  return refused("", {.status = 404, .message = instead, .code = "no_chat_template"});
}

}  // namespace weft
