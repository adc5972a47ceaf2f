// ModelServer: answers HTTP/1.1 requests with a model; the server of `weft serve`.
//
// Where it stands: HttpServer -> Router -> ModelThread, and back by Reply.
// Threads: run() on the caller's, with all connections; the model computes on a separate thread.
// Fails: listen() as HttpServer's does.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weft/base/status.h"
#include "weft/http/http_server.h"
#include "weft/serve/model/model_thread.h"
#include "weft/serve/model/served_model.h"

namespace weft {

struct ServeOptions {
  HttpServerOptions http = {};
  // Names of this server, in lower case, besides localhost and the host that it listens on;
  // requests for other names, as in DNS rebinding, are refused.
  std::vector<std::string> names = {};
  ModelThreadOptions model = {};
  std::int64_t tokens_max = 1024;  // of one completion
};

class ModelServer {
 public:
  // Borrows `model`, which nothing else may use until this is destroyed.
  static Result<std::unique_ptr<ModelServer>> listen(ServedModel& model,
                                                     const ServeOptions& options);
  ~ModelServer();
  ModelServer(const ModelServer&) = delete;
  ModelServer& operator=(const ModelServer&) = delete;

  std::uint16_t port() const;
  // As HttpServer::run().
  void run(const std::function<bool()>& stop_asked);

 private:
  class Impl;
  explicit ModelServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
