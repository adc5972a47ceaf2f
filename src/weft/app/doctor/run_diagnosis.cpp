#include "weft/app/doctor/run_diagnosis.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "weft/base/printable.h"
#include "weft/train/event/swarm_events.h"

namespace weft {
namespace {

using Positions = std::map<std::string, int>;

// The event's members by position; nothing where it has others.
std::vector<int> positions_in(const Event& event, const char* field, const Positions& members) {
  std::vector<int> found;
  for (const std::string& name : event.list(field)) {
    const auto known = members.find(name);
    if (known != members.end()) found.push_back(known->second);
  }
  return found;
}

// The numbers of a field, `count` of them; empty where it is missing.
Result<std::vector<double>> numbers_in(const Event& event, const char* field, std::size_t count) {
  std::vector<double> numbers = event.numbers(field);
  if (!numbers.empty() && numbers.size() != count) {
    return corrupt(fmt::format("{}: expected {} numbers, got {}", field, count, numbers.size()));
  }
  for (const double number : numbers) {
    if (!std::isfinite(number)) return corrupt(fmt::format("{}: expected finite numbers", field));
  }
  return numbers;
}

// One event "timings" as the records of its author and, of what all members know, of the others.
class TimingsReader {
 public:
  // `place`: by the event's order, the positions of its members.
  TimingsReader(const Event& event, std::vector<int> place)
      : event_(event), place_(std::move(place)) {}

  Result<std::vector<RoundRecord>> read(const std::set<int>& with_log, int author) const {
    const std::size_t size = place_.size();
    WEFT_TRY_ASSIGN(const std::vector<double> computed,
                    numbers_in(event_, "compute_seconds", size));
    WEFT_TRY_ASSIGN(const std::vector<double> entered, numbers_in(event_, "entry_seconds", size));
    WEFT_TRY_ASSIGN(const std::vector<double> sending, numbers_in(event_, "send_rates", size));
    WEFT_TRY_ASSIGN(const std::vector<double> links, numbers_in(event_, "link_rates", size * size));
    std::vector<RoundRecord> records;
    for (std::size_t i = 0; i < size; ++i) {
      // Its own log says it better.
      if (place_[i] != author && with_log.contains(place_[i])) continue;
      RoundRecord& record = records.emplace_back();
      record.member = place_[i];
      record.sequence = static_cast<std::uint64_t>(std::max<std::int64_t>(0, round()));
      record.compute_seconds = computed.empty() ? -1 : computed[i];
      for (std::size_t j = 0; j < size && !links.empty(); ++j) {
        if (i != j) add_link(record, j, i, links[i * size + j]);
      }
      if (place_[i] != author) continue;
      if (!entered.empty()) {
        record.entry_seconds.resize(size);
        for (std::size_t j = 0; j < size; ++j) {
          record.entry_seconds[static_cast<std::size_t>(place_[j])] = entered[j];
        }
      }
      for (std::size_t j = 0; j < size && !sending.empty(); ++j) {
        if (i != j) add_link(record, i, j, sending[j]);
      }
    }
    return records;
  }

 private:
  std::int64_t round() const { return event_.integer("round"); }
  void add_link(RoundRecord& record, std::size_t from, std::size_t to, double rate) const {
    const double bytes = event_.number("round_bytes");
    if (rate <= 0 || !(bytes > 0)) return;
    record.links.push_back({place_[from], place_[to], bytes, bytes / rate});
  }

  const Event& event_;
  const std::vector<int> place_;
};

Result<Positions> positions_of(const std::vector<std::string>& members) {
  Positions positions;
  for (std::size_t i = 0; i < members.size(); ++i) {
    positions.emplace(members[i], static_cast<int>(i));
  }
  const bool fits = !members.empty() && members.size() <= kDiagnosisMembersMax;
  if (!fits || positions.size() != members.size()) {
    return corrupt(fmt::format("peers: expected 1 to {} names that differ, got {}",
                               kDiagnosisMembersMax, members.size()));
  }
  return positions;
}

// The event's members by position; empty where the group was another one.
std::vector<int> places_of(const Event& event, const Positions& members) {
  const std::vector<std::string> names = event.list("peers");
  std::vector<int> places = positions_in(event, "peers", members);
  const std::set<int> distinct(places.begin(), places.end());
  const bool same = names.size() == members.size() && distinct.size() == members.size();
  return same ? places : std::vector<int>();
}

int author_of(const RunLog& log, const Positions& members) {
  if (log.timings.empty()) return -1;
  const auto found = members.find(log.timings.back().text("peer"));
  return found == members.end() ? -1 : found->second;
}

// An event names members that are not in the group any more: they do not count.
Status add_wait(Diagnosis& to, const Event& wait, int author, const Positions& members) {
  OpenRecord open;
  open.member = author;
  open.sequence = static_cast<std::uint64_t>(std::max<std::int64_t>(0, wait.integer("round")));
  open.quiet_seconds = wait.number("seconds");
  open.absent = positions_in(wait, "absent", members);
  open.unsent = positions_in(wait, "unsent", members);
  for (const int member : positions_in(wait, "peers", members)) {
    const bool absent = std::ranges::find(open.absent, member) != open.absent.end();
    if (!absent) open.owing.push_back(member);
  }
  return to.add(std::move(open));
}

Status at_log(const RunLog& log, const Event& event, const Status& why) {
  return corrupt(fmt::format("{}: the event {} of round {}: {}", log.path, event.kind,
                             event.integer("round"), why.message()));
}

Status add_log(Diagnosis& to, const RunLog& log, const Positions& members,
               const std::set<int>& with_log) {
  const int author = author_of(log, members);
  for (const Event& event : log.timings) {
    std::vector<int> places = places_of(event, members);
    if (places.empty()) continue;
    Result<std::vector<RoundRecord>> records =
        TimingsReader(event, std::move(places)).read(with_log, author);
    if (!records.ok()) return at_log(log, event, records.status());
    for (RoundRecord& record : *records) {
      const Status added = to.add(std::move(record));
      if (!added.ok()) return at_log(log, event, added);
    }
  }
  if (!log.wait || log.ended) return {};
  const Status added = add_wait(to, *log.wait, author, members);
  return added.ok() ? added : at_log(log, *log.wait, added);
}

std::string rate_text(double seconds_per_byte) {
  return bytes_text(1 / std::max(seconds_per_byte, 1e-18)) + "/s";
}

// "2.1 s", "35 ms".
std::string seconds_text(double seconds) {
  return seconds >= 1 ? fmt::format("{:.1f} s", seconds) : fmt::format("{:.0f} ms", seconds * 1e3);
}

}  // namespace

Result<RunDiagnosis> diagnose_run(std::span<const RunLog> logs) {
  const auto newest = std::ranges::max_element(logs, {}, [](const RunLog& log) {
    return log.timings.empty() ? -1 : log.timings.back().integer("round");
  });
  if (newest->timings.empty()) {
    return unavailable(
        fmt::format("{}: has no event timings since the run's newest start; a run of "
                    "several peers by rounds writes the first after two seconds",
                    newest->path));
  }
  RunDiagnosis run;
  run.members = newest->timings.back().list("peers");
  const Result<Positions> members = positions_of(run.members);
  if (!members.ok()) return at_log(*newest, newest->timings.back(), members.status());
  // By author; of two logs of one peer the first counts.
  std::map<int, const RunLog*> own;
  std::set<int> with_log;
  for (const RunLog& log : logs) {
    const int author = author_of(log, *members);
    const bool counts = author >= 0 && own.emplace(author, &log).second;
    if (counts) with_log.insert(author);
    ++(counts ? run.logs : run.other_logs);
  }
  if (own.empty()) {
    return corrupt(newest->path + ": the events timings are of a peer that is no member");
  }
  Diagnosis diagnosis(static_cast<int>(run.members.size()));
  for (const auto& [author, log] : own) {
    WEFT_TRY(add_log(diagnosis, *log, *members, with_log));
    run.round = std::max(run.round, log->newest_round);
  }
  run.verdicts = diagnosis.verdicts();
  run.round_seconds = newest->timings.back().number("round_seconds");
  std::vector<double> computed = newest->timings.back().numbers("compute_seconds");
  if (!computed.empty()) run.compute_seconds = lower_median(std::move(computed));
  return run;
}

std::string verdict_text(const RunDiagnosis& run, const Verdict& verdict) {
  const auto name = [&](int member) {
    return fmt::format("peer {} (rank {})",
                       printable(run.members[static_cast<std::size_t>(member)]), member);
  };
  const std::string one = name(verdict.member);
  const std::string other = verdict.other < 0 ? std::string() : name(verdict.other);
  switch (verdict.fault) {
    case FaultClass::kComputeHang:
      return fmt::format(
          "round {} waits for {}: others have entered it, {} has not; nothing has "
          "moved for {}",
          verdict.sequence, one, one, seconds_text(verdict.measured));
    case FaultClass::kExchangeHang:
      if (other.empty()) {
        return fmt::format(
            "round {} hangs at {}: all have entered it, data from or to that peer does not arrive, "
            "and it has recorded no wait of its own; nothing has moved for {}",
            verdict.sequence, one, seconds_text(verdict.measured));
      }
      return fmt::format(
          "round {} hangs between {} and {}: all have entered it, and data from the "
          "first does not arrive at the second; nothing has moved for {}",
          verdict.sequence, one, other, seconds_text(verdict.measured));
    case FaultClass::kSlowCompute:
      return fmt::format(
          "{} is the one that the others wait for: its input to a round is complete "
          "after {}, the median is {}",
          one, seconds_text(verdict.measured), seconds_text(verdict.usual));
    case FaultClass::kSlowSource:
      return fmt::format("{} sends slowly to the others: {}, the median link carries {}", one,
                         rate_text(verdict.measured), rate_text(verdict.usual));
    case FaultClass::kSlowDestination:
      return fmt::format("{} receives slowly from the others: {}, the median link carries {}", one,
                         rate_text(verdict.measured), rate_text(verdict.usual));
    case FaultClass::kSlowLink:
      return fmt::format("the link from {} to {} is slow: {}, the median link carries {}", one,
                         other, rate_text(verdict.measured), rate_text(verdict.usual));
    case FaultClass::kContradiction:
      if (other.empty()) {
        return fmt::format(
            "{} contradicts the others: it claims that it computes a round in {}, "
            "they have its input after {}",
            one, seconds_text(verdict.usual), seconds_text(verdict.measured));
      }
      return fmt::format(
          "{} and {} contradict each other: their link carries {} by the one that "
          "sends, {} by the one that receives",
          one, other, rate_text(verdict.measured), rate_text(verdict.usual));
  }
  return "";
}

std::string verdict_remedy(const RunDiagnosis& /*run*/, const Verdict& verdict) {
  switch (verdict.fault) {
    case FaultClass::kComputeHang:
      return "look at its machine: the process is stopped, or computes for very long; the others "
             "go "
             "on without it after a time, or after `weft expel`";
    case FaultClass::kExchangeHang:
      return "look at the process and the network between them; the others go on without a member "
             "that does not answer";
    case FaultClass::kSlowCompute:
      return "look at what else its machine does, or give it a smaller share: group.shares = "
             "\"speed\", or group.wait = \"deadline\"";
    case FaultClass::kSlowSource:
    case FaultClass::kSlowDestination:
    case FaultClass::kSlowLink:
      return "look at that network connection, or send fewer bytes: group.wire, local.steps";
    case FaultClass::kContradiction:
      return "pass the logs of more members with --run to see which of them is alone";
  }
  return "";
}

std::string diagnosis_summary(const RunDiagnosis& run) {
  const auto members = static_cast<std::int64_t>(run.members.size());
  const std::string where = fmt::format("{}, round {}, {}", counted(members, "member"), run.round,
                                        counted(run.logs, "log"));
  if (!run.verdicts.empty()) {
    return fmt::format("{}: {}", where,
                       counted(static_cast<std::int64_t>(run.verdicts.size()), "finding"));
  }
  return fmt::format(
      "{}: healthy, no member or link stands out; the median member computes {} of a "
      "round, which takes {}",
      where, seconds_text(run.compute_seconds), seconds_text(run.round_seconds));
}

}  // namespace weft
