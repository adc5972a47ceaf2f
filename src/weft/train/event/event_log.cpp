#include "weft/train/event/event_log.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "weft/base/append_file.h"
#include "weft/base/background_writer.h"
#include "weft/base/check.h"
#include "weft/base/thread.h"

namespace weft {
namespace {

// About ten thousand rounds.
constexpr std::size_t kWaitingBytesMax = std::size_t{8} << 20;

Event log_note(std::string text) {
  Event event("note");
  event.with("text", std::move(text));
  return event;
}

Event lost_lines(std::uint64_t lines, const std::string& why, double unix_time_s) {
  Event event("lost_lines");
  event.with("lines", lines).with("text", fmt::format("{} lines are missing here: {}", lines, why));
  event.unix_time_s = unix_time_s;
  return event;
}

}  // namespace

// The file as its thread sees it. It outlives the log where the disk never answers.
class LogFile {
 public:
  LogFile(std::unique_ptr<AppendFile> file, const Clock& clock)
      : file_(std::move(file)), unix_time_s_(static_cast<double>(clock.unix_time_s())) {}

  // --- The file's thread.
  void write(std::string_view line) {
    if (missing_ > 0) {
      const Event gap = lost_lines(missing_, why_, unix_time_s_ + since_start());
      if (!keep(to_json(gap) + "\n")) {
        ++missing_;
        ++lost_;
        return;
      }
      missing_ = 0;
    }
    if (keep(line)) return;
    ++missing_;
    ++lost_;
  }
  std::string gap(std::uint64_t lines) {
    lost_ += lines;
    return to_json(lost_lines(lines, "the disk did not take them in time",
                              unix_time_s_ + since_start())) +
           "\n";
  }

  // --- Any thread.
  // What has changed since the last call, for people.
  std::optional<std::string> take_news() {
    return news_.with([](auto& news) { return std::exchange(news, std::nullopt); });
  }
  std::uint64_t lost() const { return lost_; }

 private:
  bool keep(std::string_view line) {
    const Status kept = file_->append(line);
    if (kept.ok() == was_ok_) return kept.ok();
    was_ok_ = kept.ok();
    why_ = kept.message();
    std::string text =
        kept.ok() ? fmt::format("events.jsonl is written again; {} lines were lost", missing_)
                  : fmt::format("events.jsonl: {}: events are left out until there is room",
                                kept.message());
    news_.with([&](auto& news) { news = std::move(text); });
    return kept.ok();
  }
  double since_start() const { return to_seconds(clock_.now() - started_); }

  const std::unique_ptr<AppendFile> file_;
  const SystemClock clock_;
  const TimePoint started_ = SystemClock().now();
  const double unix_time_s_;
  std::uint64_t missing_ = 0;  // lines since the last that was written
  std::string why_;
  bool was_ok_ = true;
  Atomic<std::uint64_t> lost_ = 0;
  Guarded<std::optional<std::string>> news_;
};

struct EventLog::Impl {
  Impl(const Clock& given_clock, Listener given_listener)
      : clock(given_clock),
        started(given_clock.now()),
        started_unix_s(static_cast<double>(given_clock.unix_time_s())),
        listener(std::move(given_listener)) {}

  void tell(const Event& event) const {
    if (listener) listener(event);
  }

  const Clock& clock;
  const TimePoint started;
  const double started_unix_s;
  const Listener listener;
  std::shared_ptr<LogFile> file;  // null: none is kept
  std::unique_ptr<BackgroundWriter> writer;
  // One order of the events. The value: lines find no room at present.
  Guarded<bool> order{false};
};

EventLog::EventLog(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

EventLog::~EventLog() { (void)close(std::chrono::seconds(2)); }

Result<std::unique_ptr<EventLog>> EventLog::open(const std::string& path, const Clock& clock,
                                                 Listener listener) {
  auto impl = std::make_unique<Impl>(clock, std::move(listener));
  if (!path.empty()) {
    // Its tickets let others in, so nobody else may read it.
    Result<std::unique_ptr<AppendFile>> file =
        AppendFile::open(path, {.mode = 0600, .separator = "\n"});
    if (!file.ok()) {
      return unavailable(fmt::format("{}: cannot be written ({}); choose another --out", path,
                                     file.status().message()));
    }
    impl->file = std::make_shared<LogFile>(std::move(file).value(), clock);
    BackgroundWriter::Options options;
    options.bytes_max = kWaitingBytesMax;
    options.gap = [file = impl->file](std::uint64_t lines) { return file->gap(lines); };
    impl->writer = std::make_unique<BackgroundWriter>(
        [file = impl->file](std::string_view line) { file->write(line); }, std::move(options));
  }
  std::unique_ptr<EventLog> log;
  log.reset(new EventLog(std::move(impl)));  // tidy: allow new: private constructor
  return log;
}

void EventLog::append(Event event) {
  WEFT_CHECK(is_documented(event));
  impl_->order.with([&](bool& blocked) {
    // Wall time of the start plus monotonic time since: a clock that is set back reorders nothing.
    const double now = impl_->started_unix_s + to_seconds(impl_->clock.now() - impl_->started);
    event.unix_time_s = now;
    std::optional<std::string> news;
    if (impl_->writer) {
      const bool taken = impl_->writer->push(to_json(event) + "\n");
      news = impl_->file->take_news();
      if (taken == blocked) {
        blocked = !taken;
        news = taken ? "events.jsonl is written again; some lines were lost"
                     : "events.jsonl: the disk does not answer: events are left out until it does";
      }
    }
    impl_->tell(event);
    if (!news) return;
    Event note = log_note(*std::move(news));
    note.unix_time_s = now;
    impl_->tell(note);
  });
}

Status EventLog::close(Duration limit) {
  if (!impl_->writer) return {};
  const bool complete = impl_->writer->close(limit);
  const std::uint64_t lost = impl_->file->lost();
  if (!complete) {
    return unavailable("events.jsonl: the disk does not answer; the last events are not in it");
  }
  if (lost == 0) return {};
  return unavailable(fmt::format("events.jsonl: {} lines are missing: there was no room", lost));
}

}  // namespace weft
