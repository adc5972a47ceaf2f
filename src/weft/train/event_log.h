// EventLog: appends events to OUT/events.jsonl and hands them to the terminal or whoever listens.
//
// Append-only: nothing written is ever changed; each line is one write, so that a killed process
// leaves whole lines. A full disk costs the file, not the run: the first failed write is reported
// by write_status() and the listener still hears everything.
//
// Where it stands: run loop -> EventLog -> file and listener. Threads: one owner.
// Fails: open() with kUnavailable.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/train/event.h"

namespace weft {

class EventLog {
 public:
  using Listener = std::function<void(const Event&)>;

  // Appends to the file at `path`, made if need be; an empty path keeps no file. Borrows `clock`,
  // which must outlive this. `listener` may be empty.
  static Result<std::unique_ptr<EventLog>> open(const std::string& path, const Clock& clock,
                                                Listener listener);
  ~EventLog();
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  // Stamps the time, writes, tells the listener. REQUIRES: is_documented(event).
  void append(Event event);

  const Status& write_status() const { return write_status_; }

 private:
  EventLog(int file, const Clock& clock, Listener listener);
  void write_line(const std::string& line);

  const int file_;  // -1: none
  const Clock& clock_;
  const TimePoint started_;
  const double started_unix_s_;
  Listener listener_;
  Status write_status_;
};

}  // namespace weft
