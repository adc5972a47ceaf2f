#include "weft/app/terminal/status_block.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace weft {
namespace {

constexpr std::int64_t kBarCells = 30;

std::string bar(std::int64_t done, std::int64_t all) {
  const std::int64_t cells =
      all > 0 ? std::clamp<std::int64_t>(done * kBarCells / all, 0, kBarCells) : 0;
  return "[" + std::string(static_cast<std::size_t>(cells), '#') +
         std::string(static_cast<std::size_t>(kBarCells - cells), '.') + "]";
}

// With gossip also what became of the round: 200 peers, mixed with 3 of 4 neighbours, 0.12 % apart.
std::string peers_text(const Event& round) {
  const std::int64_t members = round.integer("members");
  std::string text = members == 1 ? "1 peer" : fmt::format("{} peers", members);
  if (round.find("neighbours") == nullptr || members == 1) return text;
  const std::int64_t all = round.integer("neighbours");
  // A round that needed no other member's part, as one of a star that drew others.
  if (all == 0) return text;
  const std::int64_t mixed = round.integer("mixed");
  text += fmt::format(", mixed with {}{} neighbour{}",
                      mixed == all ? "" : fmt::format("{} of ", mixed), all, all == 1 ? "" : "s");
  if (mixed > 0) text += fmt::format(", {} apart", percent_text(round.number("distance")));
  return text;
}

// What a person wants to know of how well it learns: texts are measured in bits a character.
std::string learned_text(const Event& round) {
  std::string loss = "loss " + loss_text(round.number("loss"));
  if (round.find("bits_per_character") != nullptr) {
    return fmt::format("{}  {:.3f} bits/character", loss, round.number("bits_per_character"));
  }
  if (std::isnan(round.number("accuracy"))) return loss;
  return fmt::format("{}  accuracy {:.1f} %", loss, 100.0 * round.number("accuracy"));
}

}  // namespace

std::string duration_text(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0 || seconds > 1e9) return "-";
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string clipped(const std::string& line, std::size_t width) {
  if (line.size() <= width) return line;
  std::size_t end = width;
  while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xC0U) == 0x80U) --end;
  return line.substr(0, end);
}

std::string round_line(const Event& round) {
  return fmt::format("round {}/{}  {}  {}  {:.0f} samples/s  ETA {}", round.integer("round"),
                     round.integer("rounds"), learned_text(round), peers_text(round),
                     round.number("samples_per_second"), duration_text(round.number("eta_s")));
}

std::string measuring_line(const Event& measuring) {
  return fmt::format("measuring the test set: {} of {} samples, {:.0f} s",
                     measuring.integer("samples"), measuring.integer("of"),
                     measuring.number("seconds"));
}

void StatusBlock::hear(const Event& event) {
  if (event.kind == "measuring") {
    measuring_ = measuring_line(event);
  } else if (event.kind != "peers" && event.kind != "note") {
    measuring_.clear();
  }
  if (event.kind == "round") {
    round_ = event;
    waiting_.clear();
  } else if (event.kind == "waiting" || event.kind == "overdue" || event.kind == "awaited") {
    waiting_ = event.text("text");
  } else if (event.kind == "waiting_over" || event.kind == "view_changed") {
    waiting_.clear();
  } else if (event.kind == "peers") {
    peers_ = event.list("peers");
    details_ = event.list("details");
  }
}

std::vector<std::string> StatusBlock::lines(std::size_t width) const {
  std::vector<std::string> lines;
  if (!waiting_.empty()) lines.push_back(clipped(waiting_, width));
  if (!measuring_.empty()) lines.push_back(clipped(measuring_, width));
  if (round_.kind.empty()) return lines;
  lines.push_back(
      fmt::format("round {}/{} {}  {}", round_.integer("round"), round_.integer("rounds"),
                  bar(round_.integer("round"), round_.integer("rounds")), learned_text(round_)));
  lines.push_back(
      fmt::format("{}  {:.0f} samples/s  ETA {}  compute {:.0f} %, wait {:.0f} %, send {:.0f} %",
                  peers_text(round_), round_.number("samples_per_second"),
                  duration_text(round_.number("eta_s")), 100.0 * round_.number("compute_share"),
                  100.0 * round_.number("wait_share"), 100.0 * round_.number("send_share")));
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    lines.push_back(fmt::format("  {}  {}", peers_[i], i < details_.size() ? details_[i] : ""));
  }
  for (std::string& line : lines) line = clipped(line, width);
  return lines;
}

}  // namespace weft
