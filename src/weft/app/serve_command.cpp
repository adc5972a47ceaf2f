#include "weft/app/serve_command.h"

#include <optional>

#include <fmt/format.h>

#include "weft/app/member/peer_command.h"
#include "weft/app/terminal/environment.h"
#include "weft/app/terminal/interrupt.h"
#include "weft/app/terminal/slow_notice.h"
#include "weft/app/terminal/standard_output.h"
#include "weft/http/request_source.h"
#include "weft/serve/model_server.h"
#include "weft/train/event/event.h"

namespace weft {
namespace {

ServeOptions options_of(const ServeRequest& request) {
  ServeOptions options;
  options.http.host = request.host;
  options.http.port = request.port;
  for (const std::string& name : request.allowed_hosts) options.names.push_back(host_of(name));
  options.model.threads = request.threads;
  options.model.batch_max = request.batch_max;
  options.model.batch_wait = from_seconds(request.batch_wait_ms / 1000.0);
  options.http.limits.body_bytes_max = request.body_max;
  options.http.connections_max = request.connections_max;
  options.tokens_max = request.tokens_max;
  return options;
}

Status serve(const ServeRequest& request) {
  std::optional<SlowNotice> notice("loading the model of " + request.checkpoint);
  WEFT_TRY_ASSIGN(const auto model, ServedModel::load(request.checkpoint, data_places(request.data),
                                                      request.weights));
  notice.reset();
  WEFT_TRY_ASSIGN(const auto server, ModelServer::listen(*model, options_of(request)));
  const bool v6 = request.host.find(':') != std::string::npos;
  const std::string url =
      fmt::format("http://{}:{}", v6 ? "[" + request.host + "]" : request.host, server->port());
  const std::string line =
      request.json ? fields_to_json(Event("serving")
                                        .with("url", url)
                                        .with("host", request.host)
                                        .with("port", server->port())
                                        .with("model", model->architecture())
                                        .with("parameters", model->parameters())
                                        .with("step", model->step())) +
                         "\n"
                   : fmt::format("listening on {} ({}, {} parameters, step {}; Ctrl-C ends)\n", url,
                                 model->architecture(), model->parameters(), model->step());
  end_politely_if_interrupted(
      "the server finishes the current requests, within 30 s (once more: at once)");
  go_on_without_output("the server goes on at " + url);
  print_text(line);
  server->run(interrupted);
  return {};
}

}  // namespace

ExitCode serve_command(const ServeRequest& request) {
  const Status served = serve(request);
  return served.ok() ? ExitCode::kOk : report(served);
}

}  // namespace weft
