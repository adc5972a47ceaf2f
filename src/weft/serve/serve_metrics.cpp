#include "weft/serve/serve_metrics.h"

#include <fmt/format.h>

namespace weft {
namespace {

std::string metric_head(std::string_view name, std::string_view help, std::string_view type) {
  return fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
}

template <class Value>
std::string single(std::string_view name, std::string_view help, std::string_view type,
                   Value value) {
  return metric_head(name, help, type) + fmt::format("{} {}\n", name, value);
}

template <std::size_t Bounds>
std::string histogram(std::string_view name, std::string_view help,
                      const Histogram<Bounds>& values) {
  std::string text = metric_head(name, help, "histogram");
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < Bounds; ++i) {
    below += values.counts[i];
    text += fmt::format("{}_bucket{{le=\"{}\"}} {}\n", name, values.bounds[i], below);
  }
  return text + fmt::format("{0}_bucket{{le=\"+Inf\"}} {1}\n{0}_sum {2}\n{0}_count {1}\n", name,
                            values.count, values.sum);
}

}  // namespace

void ServeMetrics::count_request(std::string_view route, int status, double seconds) {
  ++requests_[{std::string(route), status}];
  seconds_.add(seconds);
}

std::string ServeMetrics::text(const ServeGauges& gauges) const {
  std::string text =
      metric_head("weft_serve_requests_total", "Answered requests by route and status.", "counter");
  for (const auto& [key, count] : requests_) {
    text += fmt::format("weft_serve_requests_total{{route=\"{}\",status=\"{}\"}} {}\n", key.first,
                        key.second, count);
  }
  text += histogram("weft_serve_request_seconds",
                    "From the whole request to the end of its answer.", seconds_);
  text += histogram("weft_serve_batch_rows", "Rows that were computed together.", batch_rows_);
  text += single("weft_serve_rows_total", "Rows that were answered.", "counter", rows_);
  text += single("weft_serve_tokens_total", "Tokens that were generated.", "counter", tokens_);
  text += single("weft_serve_connections_total", "Connections that were accepted.", "counter",
                 connections_);
  text +=
      single("weft_serve_connections", "Connections that are open.", "gauge", gauges.connections);
  text += single("weft_serve_jobs_waiting", "Requests that wait for the model.", "gauge",
                 gauges.jobs_waiting);
  text += single("weft_serve_uptime_seconds", "Since the server began.", "gauge", gauges.uptime_s);
  return text;
}

}  // namespace weft
