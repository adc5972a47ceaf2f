#include "weft/sim/machine/machine_trace.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include <fmt/format.h>

namespace weft::sim {
namespace {

constexpr double kTraceSecondsMost = 1e9;
constexpr double kTraceSpeedMost = 1e12;
constexpr double kChurnMost = 1000;

std::optional<double> number_of(std::string_view text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, fault] = std::from_chars(text.data(), end, value);
  if (fault != std::errc() || stop != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t comma = std::min(line.find(',', begin), line.size());
    fields.push_back(trimmed(line.substr(begin, comma - begin)));
    begin = comma + 1;
  }
  return fields;
}

// One file, line by line.
struct TraceFile {
  const std::string& name;
  std::size_t peers;
  std::size_t line = 0;

  Status refuse(const std::string& expected, std::string_view got) const {
    return invalid_argument(
        fmt::format("{}, line {}: expected {}, got '{}'", name, line, expected, got));
  }
  Result<std::size_t> peer_of(std::string_view text) const {
    const std::optional<double> value = number_of(text);
    if (!value || *value != std::floor(*value) || *value < 0 ||
        *value >= static_cast<double>(peers)) {
      return refuse(fmt::format("a peer from 0 to {}", peers - 1), text);
    }
    return static_cast<std::size_t>(*value);
  }
};

// Calls take(fields) for each line with `expected`'s number of fields.
Status read_lines(std::string_view text, TraceFile& file, std::string_view expected,
                  const std::function<Status(const std::vector<std::string_view>&)>& take) {
  const std::size_t wanted = fields_of(expected).size();
  bool any = false;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = trimmed(text.substr(begin, end - begin));
    begin = end + 1;
    ++file.line;
    if (line.empty() || line.front() == '#') continue;
    const std::vector<std::string_view> fields = fields_of(line);
    const bool names = !any && std::isalpha(static_cast<unsigned char>(line.front())) != 0;
    any = true;
    if (names) continue;
    if (fields.size() != wanted) return file.refuse(std::string(expected), line);
    WEFT_TRY(take(fields));
  }
  return {};
}

Result<double> rate_of(std::string_view text, std::string_view whole) {
  const std::optional<double> value = number_of(text);
  if (value && *value >= 0 && *value <= kChurnMost) return *value;
  return invalid_argument(fmt::format(
      "--churn: expected a rate from 0 to {} a second, got '{}' in '{}'", kChurnMost, text, whole));
}

}  // namespace

Result<Churn> parse_churn(std::string_view text) {
  Churn churn;
  std::set<std::string_view> seen;
  for (const std::string_view part : fields_of(text)) {
    const std::size_t equals = part.find('=');
    const std::string_view name = part.substr(0, equals);
    if (equals == std::string_view::npos || (name != "leave" && name != "join") ||
        !seen.insert(name).second) {
      return invalid_argument(
          fmt::format("--churn: expected leave=RATE,join=RATE or a file, got '{}'", text));
    }
    WEFT_TRY_ASSIGN((name == "leave" ? churn.leave : churn.join),
                    rate_of(part.substr(equals + 1), text));
  }
  return churn;
}

Result<std::vector<MachineEvent>> parse_failures(std::string_view text, const std::string& name,
                                                 std::size_t peers) {
  std::vector<MachineEvent> events;
  std::map<std::size_t, MachineEvent> latest;
  TraceFile file{name, peers};
  WEFT_TRY(read_lines(
      text, file, "PEER,SECONDS,leave or join",
      [&](const std::vector<std::string_view>& fields) -> Status {
        MachineEvent event;
        WEFT_TRY_ASSIGN(event.peer, file.peer_of(fields[0]));
        const std::optional<double> seconds = number_of(fields[1]);
        if (!seconds || *seconds < 0 || *seconds > kTraceSecondsMost) {
          return file.refuse(fmt::format("seconds from 0 to {}", kTraceSecondsMost), fields[1]);
        }
        event.seconds = *seconds;
        event.comes = fields[2] == "join";
        if (!event.comes && fields[2] != "leave") return file.refuse("leave or join", fields[2]);
        const auto before = latest.find(event.peer);
        const bool is_there = before == latest.end() || before->second.comes;
        if (is_there == event.comes) {
          return file.refuse(is_there ? "leave of a peer that is there" : "join of one that left",
                             fields[2]);
        }
        const double least = before == latest.end()
                                 ? 0
                                 : before->second.seconds + (event.comes ? kGoneSecondsLeast : 0);
        if (event.seconds < least) {
          return file.refuse(fmt::format("at least {} seconds for peer {}", least, event.peer),
                             fields[1]);
        }
        latest[event.peer] = event;
        events.push_back(event);
        return {};
      }));
  std::ranges::stable_sort(events, {}, &MachineEvent::seconds);
  return events;
}

Result<std::vector<MachineSpeed>> parse_speeds(std::string_view text, const std::string& name,
                                               std::size_t peers) {
  std::vector<MachineSpeed> speeds;
  std::set<std::size_t> seen;
  TraceFile file{name, peers};
  WEFT_TRY(read_lines(text, file, "PEER,SAMPLES_PER_SECOND",
                      [&](const std::vector<std::string_view>& fields) -> Status {
                        MachineSpeed speed;
                        WEFT_TRY_ASSIGN(speed.peer, file.peer_of(fields[0]));
                        if (!seen.insert(speed.peer).second) {
                          return file.refuse("each peer once", fields[0]);
                        }
                        const std::optional<double> value = number_of(fields[1]);
                        if (!value || *value <= 0 || *value > kTraceSpeedMost) {
                          return file.refuse("samples a second above 0", fields[1]);
                        }
                        speed.samples_per_second = *value;
                        speeds.push_back(speed);
                        return {};
                      }));
  return speeds;
}

std::optional<double> drawn_wait(const Churn& churn, bool is_there, Rng& draws) {
  const double rate = is_there ? churn.leave : churn.join;
  if (rate <= 0) return std::nullopt;
  const double wait = -std::log1p(-draws.uniform()) / rate;
  return is_there ? wait : kGoneSecondsLeast + wait;
}

}  // namespace weft::sim
