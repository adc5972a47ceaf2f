#include "weft/app/demo/demo_report.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/base/bytes.h"
#include "weft/train/event/swarm_events.h"

namespace weft {
namespace {

std::string field(const DemoPeer& peer, std::string_view name) {
  return peer.summary.has_value() ? peer.summary->text(name) : "";
}

double number(const DemoPeer& peer, std::string_view name) {
  return peer.summary.has_value() ? peer.summary->number(name) : 0.0;
}

// What was not measured is null in JSON, and an event has no field then.
std::string measured(const DemoPeer& peer, std::string_view name, std::string text) {
  return peer.summary->find(name) == nullptr ? "-" : std::move(text);
}

// The name that events and the status block give the peer of this id in hexadecimal digits.
std::string short_name(const std::string& peer_id) {
  const Result<Bytes> bytes = from_hex(peer_id);
  if (!bytes.ok() || bytes->empty()) return "?";
  return to_base32(*bytes).substr(0, 8);
}

std::string table_line(const DemoPeer& peer) {
  const std::string name = short_name(peer.peer_id);
  if (!peer.summary.has_value()) return fmt::format("  {:<8}  {}", name, peer.status);
  const std::string loss = measured(peer, "final_loss", loss_text(number(peer, "final_loss")));
  const std::string speed = measured(peer, "samples_per_second",
                                     fmt::format("{:.0f}", number(peer, "samples_per_second")));
  return fmt::format("  {:<8}  {:<8}  {:>5}  {:>6}  {}  {:>9}  {:>7.1f} s  {:>6}", name,
                     peer.status, peer.summary->integer("steps"), loss,
                     field(peer, "state_hash").substr(0, 16),
                     bytes_text(number(peer, "bytes_sent")), number(peer, "seconds_lost"), speed);
}

// The rest of the table says what was measured, and nothing else.
std::string accuracy_text(const DemoReport& report) {
  const double accuracy = report.test_accuracy();
  return std::isnan(accuracy) ? "" : fmt::format("test accuracy {:.2f} %, ", 100.0 * accuracy);
}

std::string time_text(const DemoReport& report) {
  const bool ended = std::any_of(report.peers.begin(), report.peers.end(),
                                 [](const DemoPeer& peer) { return peer.summary.has_value(); });
  return fmt::format("{:.1f} s in all", report.seconds) +
         (ended ? fmt::format(", {} sent by all peers",
                              bytes_text(static_cast<double>(report.bytes_sent())))
                : std::string());
}

std::string fault_text(const DemoReport& report) {
  std::string text;
  if (!report.killed_peer.empty()) {
    text = fmt::format("  losing peer {} cost {:.1f} s", short_name(report.killed_peer),
                       report.seconds_lost());
  }
  if (!report.joined_peer.empty()) {
    text += fmt::format("{}peer {} took over its share", text.empty() ? "  " : "; ",
                        short_name(report.joined_peer));
  }
  return text;
}

}  // namespace

bool DemoReport::ok() const {
  std::string hash;
  for (const DemoPeer& peer : peers) {
    if (peer.status == "killed") continue;
    if (peer.status != "finished" || field(peer, "state_hash").empty()) return false;
    if (hash.empty()) hash = field(peer, "state_hash");
    if (field(peer, "state_hash") != hash) return false;
  }
  return fault.empty() && !hash.empty() && !killed_peer.empty() && !joined_peer.empty();
}

double DemoReport::test_accuracy() const {
  for (const DemoPeer& peer : peers) {
    if (peer.summary.has_value() && peer.summary->find("test_accuracy") != nullptr) {
      return peer.summary->number("test_accuracy");
    }
  }
  return std::numeric_limits<double>::quiet_NaN();
}

double DemoReport::seconds_lost() const {
  double most = 0;
  for (const DemoPeer& peer : peers) most = std::max(most, number(peer, "seconds_lost"));
  return most;
}

std::int64_t DemoReport::bytes_sent() const {
  std::int64_t sum = 0;
  for (const DemoPeer& peer : peers) {
    if (peer.summary.has_value()) sum += peer.summary->integer("bytes_sent");
  }
  return sum;
}

std::string demo_json(const DemoReport& report) {
  nlohmann::ordered_json json;
  json["ok"] = report.ok();
  json["test_accuracy"] = report.test_accuracy();
  json["peers"] = nlohmann::ordered_json::array();
  for (const DemoPeer& peer : report.peers) {
    json["peers"].push_back({{"peer_id", peer.peer_id},
                             {"state_hash", field(peer, "state_hash")},
                             {"status", peer.status}});
  }
  json["killed_peer"] = report.killed_peer;
  json["joined_peer"] = report.joined_peer;
  json["seconds"] = report.seconds;
  json["seconds_lost"] = report.seconds_lost();
  json["bytes_sent"] = report.bytes_sent();
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::vector<std::string> demo_table(const DemoReport& report) {
  std::vector<std::string> lines = {
      "",
      "  peer      status    steps  loss    state hash        bytes sent  time lost  samples/s"};
  for (const DemoPeer& peer : report.peers) lines.push_back(table_line(peer));
  lines.emplace_back();
  lines.push_back("  " + accuracy_text(report) + time_text(report));
  if (!report.killed_peer.empty() || !report.joined_peer.empty())
    lines.push_back(fault_text(report));
  lines.push_back(report.ok() ? "  every peer left holds the same state, bit for bit"
                              : "  FAILED: " + (report.fault.empty()
                                                    ? "the peers did not end with one state"
                                                    : report.fault));
  return lines;
}

}  // namespace weft
