#include "weft/app/sim_replay.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "weft/base/file.h"
#include "weft/train/event/event.h"

namespace weft {
namespace {

constexpr std::size_t kReplayedBytesMax = std::size_t{1} << 30U;

double middle_of(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

// What one start of the run has said so far.
struct Heard {
  ReplayedMember member;
  std::vector<double> speeds;
  double steps = 0;

  void take(const Event& event) {
    if (event.kind == "started") *this = Heard{{member.out, event.unix_time_s}, {}, 0};
    member.last_event = event.unix_time_s;
    if (event.kind == "summary") member.ended = true;
    if (event.kind != "round") return;
    if (member.first_round == 0) member.first_round = event.integer("round");
    const double before = std::exchange(steps, event.number("step"));
    if (before == 0) return;  // a newcomer's first round is not all of the run's before it
    const double samples = event.number("share") * std::max(0.0, steps - before);
    const double seconds = event.number("compute_share") * event.number("round_seconds");
    if (samples > 0 && seconds > 0) speeds.push_back(samples / seconds);
  }
};

}  // namespace

Result<ReplayedMember> parse_replayed(const std::string& out, std::string_view text) {
  Heard heard;
  heard.member.out = out;
  std::size_t line = 0;
  for (std::size_t begin = 0, end = text.find('\n'); end != std::string_view::npos;
       begin = end + 1, end = text.find('\n', begin)) {
    ++line;
    const Result<Event> event = parse_event(text.substr(begin, end - begin));
    if (!event.ok()) {
      return corrupt(fmt::format("--replay: {}/events.jsonl: line {}: {}", out, line,
                                 event.status().message()));
    }
    heard.take(*event);
  }
  if (heard.speeds.empty()) {
    return invalid_argument(
        fmt::format("--replay: {}/events.jsonl: expected two rounds of a run at least, with the "
                    "member's share and "
                    "the time for which it computed; got none",
                    out));
  }
  heard.member.samples_per_second = middle_of(std::move(heard.speeds));
  return heard.member;
}

Replay replay_of(std::vector<ReplayedMember> members) {
  Replay replay;
  if (members.empty()) return replay;
  std::ranges::stable_sort(members, {}, &ReplayedMember::started);
  const double begun = members.front().started;
  const auto earliest = std::ranges::min_element(members, {}, &ReplayedMember::first_round);
  const std::int64_t first_round = earliest->first_round;
  // Members of the beginning have the first numbers.
  std::stable_partition(members.begin(), members.end(), [&](const ReplayedMember& member) {
    return member.first_round == first_round;
  });
  for (std::size_t i = 0; i < members.size(); ++i) {
    const ReplayedMember& member = members[i];
    replay.samples_per_second.push_back(member.samples_per_second);
    if (member.first_round > first_round) {
      replay.joins.push_back(member.started - begun);
    } else {
      ++replay.peers;
    }
    if (!member.ended) replay.crashes.push_back({i, member.last_event - begun});
  }
  return replay;
}

Result<Replay> read_replay(const std::vector<std::string>& outs) {
  std::vector<ReplayedMember> members;
  for (const std::string& out : outs) {
    const std::string path = out + "/events.jsonl";
    if (!is_file(path)) {
      return invalid_argument(
          fmt::format("--replay: {}: no such file; `weft run --out {}` writes it", path, out));
    }
    WEFT_TRY_ASSIGN(const Bytes bytes, read_file(path, kReplayedBytesMax));
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    WEFT_TRY_ASSIGN(ReplayedMember member, parse_replayed(out, text));
    members.push_back(std::move(member));
  }
  return replay_of(std::move(members));
}

}  // namespace weft
