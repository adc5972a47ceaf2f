// EventLog: appends events to OUT/events.jsonl and passes them to a listener such as the terminal.
//
// Append-only: nothing written is ever changed, and lines are complete, also if the disk is full or
// the process is killed. A separate thread writes the file (base/background_writer.h), so that a
// disk that does not answer loses lines and does not delay training. Lines that find no room, in
// memory or on the disk, are counted; the event `lost_lines` replaces them once there is room, and
// the listener gets a note at once, which the file does not have.
//
// Where it stands: run loop -> EventLog -> file and listener.
// Threads: append() from any; close() and the destructor from the owner, when no other appends.
// Fails: open() with kUnavailable; later failures affect the file and not the run.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/train/event/event.h"

namespace weft {

class EventLog {
 public:
  // Called for one event after another, on the appending thread; must not wait and not append.
  using Listener = std::function<void(const Event&)>;

  // Appends to the file at `path`, creating it if needed; an empty path keeps no file. A last line
  // that a crash cut short is ended first. Borrows `clock`, which must outlive this. `listener` may
  // be empty.
  static Result<std::unique_ptr<EventLog>> open(const std::string& path, const Clock& clock,
                                                Listener listener);
  // As close() with 2 s.
  ~EventLog();
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  // Sets the time, passes the line to the file's thread, calls the listener. Events of several
  // threads have one order everywhere. REQUIRES: is_documented(event).
  void append(Event event);

  // Waits at most `limit` until the file has everything. kUnavailable, with a text for people, if
  // it is incomplete, or lines were lost before. Nothing is appended after it.
  Status close(Duration limit);

 private:
  struct Impl;
  explicit EventLog(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
