#include "weft/app/terminal/terminal.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "weft/app/terminal/environment.h"
#include "weft/app/terminal/interrupt.h"
#include "weft/app/terminal/standard_output.h"
#include "weft/base/log.h"
#include "weft/base/printable.h"

namespace weft {
namespace {

constexpr Duration kRedrawInterval = std::chrono::milliseconds(100);
constexpr Duration kRoundInterval = std::chrono::seconds(1);
constexpr Duration kLongMeasurement = std::chrono::seconds(3);
// Few redrawn blocks need to wait, since only the last one counts.
constexpr std::size_t kLiveBytesMax = std::size_t{64} << 10;

std::size_t terminal_width() {
  struct winsize size = {};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20) return size.ws_col - 1U;
  return 100;
}

bool is_trouble(const Event& event) {
  return event.kind == "peer_left" || event.kind == "quorum_lost" || event.kind == "failed" ||
         event.kind == "state_mismatch" || event.kind == "peer_killed" || event.kind == "overdue" ||
         event.kind == "awaited" || event.kind == "not_finite";
}

// What a person has to know who looks at standard error alone.
bool is_error(const Event& event) {
  return event.kind == "not_finite" || event.kind == "checkpoint_failed" ||
         event.kind == "quorum_lost";
}

std::string gap_text(OutputMode mode, std::uint64_t lines) {
  const std::string text = fmt::format("{} lines were not shown: nobody read them", lines);
  if (mode != OutputMode::kJson) return text + "\n";
  Event event("lost_lines");
  event.unix_time_s = static_cast<double>(SystemClock().unix_time_s());
  return to_json(event.with("lines", lines).with("text", text)) + "\n";
}

}  // namespace

void log_event(const Event& event) {
  const bool shown = event.kind == "round" || event.kind == "peers" || event.kind == "ticket" ||
                     event.kind == "measuring";
  if (!shown) log(LogLevel::kInfo, "{} {}", event.kind, fields_to_json(event));
}

std::string for_standard_output(const std::string& text) {
  return ::isatty(STDOUT_FILENO) == 1 ? printable_lines(text) : text;
}

OutputMode output_mode(bool json) {
  if (json) return OutputMode::kJson;
  const std::string kind = environment_variable("TERM");
  const bool able = !kind.empty() && kind != "dumb";
  return ::isatty(STDOUT_FILENO) == 1 && able ? OutputMode::kLive : OutputMode::kPlain;
}

Terminal::Terminal(OutputMode mode, std::size_t width, const Clock& clock, Write write,
                   Complain complain)
    : mode_(mode),
      width_(width),
      clock_(clock),
      write_(std::move(write)),
      complain_(std::move(complain)) {}

Terminal Terminal::to_standard_output(OutputMode mode, const Clock& clock) {
  BackgroundWriter::Options options;
  if (mode == OutputMode::kLive) {
    options.bytes_max = kLiveBytesMax;
  } else {
    options.gap = [mode](std::uint64_t lines) { return gap_text(mode, lines); };
  }
  const auto background = std::make_shared<BackgroundWriter>(
      [](std::string_view text) { print_text(text); }, std::move(options));
  Terminal terminal(
      mode, mode == OutputMode::kLive ? terminal_width() : 100, clock,
      [background](std::string_view text) { return background->push(std::string(text)); },
      [](std::string line) { write_error(std::move(line)); });
  terminal.background_ = background;
  return terminal;
}

bool Terminal::close(Duration limit) { return !background_ || background_->close(limit); }

// A live block and standard error are usually one screen, where the block shows it as news.
void Terminal::complain_of(const Event& event) const {
  const bool one_screen = mode_ == OutputMode::kLive && ::isatty(STDERR_FILENO) == 1;
  if (complain_ && is_error(event) && !one_screen) {
    complain_(fmt::format("weft: {}\n", printable_lines(describe(event))));
  }
}

void Terminal::hear(const Event& event) {
  block_.hear(event);
  complain_of(event);
  if (mode_ == OutputMode::kJson) {
    write_(to_json(event) + "\n");
    return;
  }
  if (is_repetition(event)) return;
  if (mode_ == OutputMode::kPlain) {
    hear_plain(event);
    return;
  }
  std::string news = printable_lines(describe(event));
  if (!news.empty() && is_trouble(event) && environment_variable("NO_COLOR").empty()) {
    news = "\x1b[33m" + news + "\x1b[0m";
  }
  redraw(news.empty() ? "" : news + "\n", false);
}

void Terminal::hear_plain(const Event& event) {
  if (event.kind == "round") {
    const TimePoint now = clock_.now();
    const bool first = round_shown_at_ == TimePoint::min();
    const bool last = event.integer("round") == event.integer("rounds");
    if (!first && !last && now - round_shown_at_ < kRoundInterval) {
      round_left_out_ = event;
      return;
    }
    round_shown_at_ = now;
    round_left_out_.reset();
    write_(round_line(event) + "\n");
    return;
  }
  if (event.kind == "measuring") {
    const bool is_long = from_seconds(event.number("seconds")) >= kLongMeasurement;
    if (is_long && !std::exchange(told_measuring_, true)) write_(measuring_line(event) + "\n");
    return;
  }
  if (event.kind == "evaluation" || event.kind == "validation") told_measuring_ = false;
  const std::string news = printable_lines(describe(event));
  if (!news.empty()) write_(news + "\n");
}

// Who is refused for a proof that nobody made has broken the rules by that: a person is told once.
bool Terminal::is_repetition(const Event& event) {
  if (event.kind == "join_refused") refused_ = event;
  if (event.kind != "misconduct" || !refused_) return false;
  const std::string said = event.text("text");
  return said.starts_with(fmt::format("peer {}: ", refused_->text("peer"))) &&
         said.find(refused_->text("reason")) != std::string::npos;
}

void Terminal::say(std::string_view line) {
  if (mode_ == OutputMode::kJson) return;
  const std::string text = printable_lines(line) + "\n";
  if (mode_ == OutputMode::kPlain) {
    write_(text);
  } else {
    redraw(text, true);
  }
}

void Terminal::finish() {
  if (mode_ == OutputMode::kPlain && round_left_out_) {
    write_(round_line(*round_left_out_) + "\n");
    round_left_out_.reset();
  }
  if (mode_ != OutputMode::kLive) return;
  redraw("", true);
  lines_drawn_ = 0;
  block_ = StatusBlock();
}

// To the first line of the block, and everything below it cleared.
std::string Terminal::erased() const {
  return lines_drawn_ == 0 ? "" : fmt::format("\x1b[{}F\x1b[J", lines_drawn_);
}

void Terminal::redraw(const std::string& news, bool forced) {
  const TimePoint now = clock_.now();
  const bool due = drawn_at_ == TimePoint::min() || now - drawn_at_ >= kRedrawInterval;
  if (news.empty() && !due && !forced) return;
  // The words of the signal's handler stand below the block: it is drawn anew below them.
  if (!told_interrupt_ && interrupted() && ::isatty(STDERR_FILENO) == 1) {
    told_interrupt_ = true;
    lines_drawn_ = 0;
  }
  std::string text = erased();
  if (lines_lost_ > 0)
    text += fmt::format("{} lines were not shown: nobody read them\n", lines_lost_);
  text += news;
  const std::vector<std::string> lines = block_.lines(width_);
  for (const std::string& line : lines) text += printable(line) + "\n";
  drawn_at_ = now;
  if (!write_(text)) {
    // The block of before still stands there.
    lines_lost_ += static_cast<std::uint64_t>(std::count(news.begin(), news.end(), '\n'));
    return;
  }
  lines_lost_ = 0;
  lines_drawn_ = lines.size();
}

}  // namespace weft
