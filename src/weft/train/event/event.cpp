#include "weft/train/event/event.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace weft {
namespace {

constexpr std::size_t kLineBytesMax = std::size_t{1} << 20;

nlohmann::ordered_json json_of(const EventValue& value) {
  if (const auto* number = std::get_if<double>(&value);
      number != nullptr && !std::isfinite(*number)) {
    return nullptr;
  }
  return std::visit([](const auto& plain) { return nlohmann::ordered_json(plain); }, value);
}

// Nothing for null and for what an event cannot hold.
bool read_value(const nlohmann::ordered_json& json, EventValue& out) {
  if (json.is_boolean()) {
    out = json.get<bool>();
  } else if (json.is_number_integer()) {
    out = json.get<std::int64_t>();
  } else if (json.is_number_float()) {
    out = json.get<double>();
  } else if (json.is_string()) {
    out = json.get<std::string>();
  } else if (json.is_array() && !json.empty() &&
             std::ranges::all_of(json, [](const auto& item) { return item.is_number(); })) {
    out = json.get<std::vector<double>>();
  } else if (json.is_array()) {
    std::vector<std::string> list;
    for (const auto& item : json) {
      if (item.is_string()) list.push_back(item.get<std::string>());
    }
    out = std::move(list);
  } else {
    return false;
  }
  return true;
}

std::string with_fields(nlohmann::ordered_json json, const Event& event) {
  for (const auto& [name, value] : event.fields) json[name] = json_of(value);
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string list_text(const Event& event, std::string_view name) {
  return fmt::format("{}", fmt::join(event.list(name), ", "));
}

// Events about members.
std::string describe_group(const Event& event) {
  const std::string peer = event.text("peer");
  const std::string reason = event.text("reason");
  const std::int64_t round = event.integer("round");
  if (event.kind == "joiner_syncing") {
    return fmt::format("peer {} asks to join: it takes the state while the others go on", peer);
  }
  if (event.kind == "peer_joined") {
    return fmt::format("peer {} joined: it works from round {}", peer, round);
  }
  if (event.kind == "peer_left") {
    return fmt::format("peer {} left ({}) in round {}; the others go on without it", peer, reason,
                       round);
  }
  if (event.kind == "round_rerun") {
    return fmt::format("round {} run again by {} ({}), {:.1f} s lost", round,
                       event.integer("members"), reason, event.number("seconds_lost"));
  }
  if (event.kind == "quorum_lost") {
    return fmt::format("quorum lost: {} out of reach ({}); {}", list_text(event, "missing"), reason,
                       event.text("action"));
  }
  if (event.kind == "quorum_back") return fmt::format("quorum is back ({}): going on", reason);
  if (event.kind == "join_refused") return fmt::format("refused {}: {}", peer, reason);
  if (event.kind == "link_up" && event.text("path") != "direct") {
    const std::string via = event.text("via");
    return fmt::format("peer {} is linked: {}{}{} ({})", peer, event.text("path"),
                       via.empty() ? "" : " by peer ", via, reason);
  }
  if (event.kind == "link_refused") {
    return fmt::format("closed the connection of {}: {}", peer, reason);
  }
  if (event.kind == "state_mismatch") {
    return fmt::format("state differs after round {}: tensor {} of peer {}", round,
                       event.text("tensor"), peer);
  }
  if (event.kind == "peer_killed") {
    return fmt::format("demo: killed peer {} (process {}) with SIGKILL in round {}", peer,
                       event.integer("process"), round);
  }
  if (event.kind == "peer_added") {
    return fmt::format("demo: started a new peer (process {}) in round {}",
                       event.integer("process"), round);
  }
  return "";
}

}  // namespace

Event& Event::add(std::string_view name, EventValue&& value) {
  fields.emplace_back(name, std::move(value));
  return *this;
}

const EventValue* Event::find(std::string_view name) const {
  for (const auto& [known, value] : fields) {
    if (known == name) return &value;
  }
  return nullptr;
}

std::string Event::text(std::string_view name) const {
  const EventValue* value = find(name);
  const auto* text = value == nullptr ? nullptr : std::get_if<std::string>(value);
  return text == nullptr ? "" : *text;
}

std::int64_t Event::integer(std::string_view name) const {
  const EventValue* value = find(name);
  const auto* whole = value == nullptr ? nullptr : std::get_if<std::int64_t>(value);
  return whole == nullptr ? 0 : *whole;
}

double Event::number(std::string_view name) const {
  const EventValue* value = find(name);
  const auto* real = value == nullptr ? nullptr : std::get_if<double>(value);
  return real == nullptr ? static_cast<double>(integer(name)) : *real;
}

bool Event::flag(std::string_view name) const {
  const EventValue* value = find(name);
  const auto* flag = value == nullptr ? nullptr : std::get_if<bool>(value);
  return flag != nullptr && *flag;
}

std::vector<std::string> Event::list(std::string_view name) const {
  const EventValue* value = find(name);
  const auto* list = value == nullptr ? nullptr : std::get_if<std::vector<std::string>>(value);
  return list == nullptr ? std::vector<std::string>() : *list;
}

std::vector<double> Event::numbers(std::string_view name) const {
  const EventValue* value = find(name);
  const auto* numbers = value == nullptr ? nullptr : std::get_if<std::vector<double>>(value);
  return numbers == nullptr ? std::vector<double>() : *numbers;
}

std::string to_json(const Event& event) {
  nlohmann::ordered_json json;
  json["t"] = std::round(event.unix_time_s * 1000.0) / 1000.0;
  json["kind"] = event.kind;
  return with_fields(std::move(json), event);
}

std::string fields_to_json(const Event& event) {
  return with_fields(nlohmann::ordered_json::object(), event);
}

Result<Event> parse_event(std::string_view line) {
  if (line.size() > kLineBytesMax) {
    return corrupt(
        fmt::format("event: expected at most {} bytes, got {}", kLineBytesMax, line.size()));
  }
  const auto json = nlohmann::ordered_json::parse(line, nullptr, false);
  if (!json.is_object() || !json.contains("kind") || !json["kind"].is_string()) {
    return corrupt("event: expected a JSON object with the text field kind");
  }
  Event event(json["kind"].get<std::string>());
  for (const auto& [name, value] : json.items()) {
    EventValue read;
    if (name == "t" && value.is_number()) {
      event.unix_time_s = value.get<double>();
    } else if (name != "kind" && name != "t" && read_value(value, read)) {
      event.with(name, std::move(read));
    }
  }
  return event;
}

std::string loss_text(double loss) {
  if (!std::isfinite(loss)) return "not a number";
  // Four digits after the point say nothing of these.
  const double size = std::abs(loss);
  if (size >= 1e5 || (size > 0 && size < 5e-5)) return fmt::format("{:.3e}", loss);
  return fmt::format("{:.4f}", loss);
}

std::string percent_text(double share) {
  if (!std::isfinite(share)) return "not a number";
  const double percent = 100.0 * share;
  // Two digits of these would be written with an exponent.
  return std::abs(percent) >= 99.5 ? fmt::format("{:.0f} %", percent)
                                   : fmt::format("{:.2g} %", percent);
}

std::string describe(const Event& event) {
  if (std::string text = event.text("text"); !text.empty() && event.kind != "process") {
    return text;
  }
  if (event.kind == "ticket") {
    std::string line =
        fmt::format("others join, on this or another machine, within {} h, with:\n  weft join {}",
                    event.integer("valid_h"), event.text("ticket"));
    const std::string code = event.text("code");
    if (code.empty()) return line;
    return line + "\nor, on the same network, with:\n  weft join " + code;
  }
  if (event.kind == "started") {
    return fmt::format("peer {} ({}): {} with {} parameters on {} ({} samples), {} steps of {}",
                       event.text("peer"), event.text("role"), event.text("model"),
                       event.integer("parameters"), event.text("data"),
                       event.integer("train_samples"), event.integer("steps"),
                       event.integer("global_batch"));
  }
  if (event.kind == "first_step") {
    return fmt::format("the first round begins, {:.1f} s after the start", event.number("seconds"));
  }
  if (event.kind == "state_loaded") {
    return fmt::format("took the state after round {} from the members: {:.1f} MB",
                       event.integer("round"), event.number("bytes") / 1e6);
  }
  if (event.kind == "checkpoint") {
    return fmt::format("checkpoint after step {}: {}", event.integer("step"), event.text("path"));
  }
  if (event.kind == "validation") {
    const double accuracy = event.number("accuracy");
    return fmt::format(
        "after step {}: test loss {}{}{}", event.integer("step"), loss_text(event.number("loss")),
        std::isnan(accuracy) ? "" : fmt::format(", accuracy {:.4f}", accuracy),
        event.flag("best")
            ? ", the best so far"
            : fmt::format("; the best was after step {}", event.integer("best_step")));
  }
  if (event.kind == "evaluation" && event.find("bits_per_character") != nullptr) {
    return fmt::format("test set: {:.4f} bits a character, loss {}, accuracy {:.4f}",
                       event.number("bits_per_character"), loss_text(event.number("loss")),
                       event.number("accuracy"));
  }
  if (event.kind == "evaluation" && event.find("r2") != nullptr &&
      !std::isnan(event.number("r2"))) {
    return fmt::format("test set: R2 {:.4f}, mean absolute error {:.4g}, loss {:.4f} on {} samples",
                       event.number("r2"), event.number("mae"), event.number("loss"),
                       event.integer("samples"));
  }
  if (event.kind == "evaluation" && std::isnan(event.number("accuracy"))) {
    return fmt::format("test set: loss {} on {} samples", loss_text(event.number("loss")),
                       event.integer("samples"));
  }
  if (event.kind == "evaluation") {
    return fmt::format("test set: accuracy {:.4f}, loss {} on {} samples", event.number("accuracy"),
                       loss_text(event.number("loss")), event.integer("samples"));
  }
  if (event.kind == "interrupted") return fmt::format("interrupted: {}", event.text("action"));
  if (event.kind == "failed") {
    return fmt::format("cannot go on: {}; {}", event.text("reason"), event.text("action"));
  }
  if (event.kind == "process") {
    return fmt::format("local process {} (pid {}): {}", event.integer("process"),
                       event.integer("pid"), event.text("text"));
  }
  return describe_group(event);
}

}  // namespace weft
