// EventLog: appends events to OUT/events.jsonl and hands them to the terminal or whoever listens.
//
// Append-only: nothing written is ever changed, and lines are whole, also where the disk is full or
// the process is killed. The file is written by a thread of its own (base/background_writer.h), so
// that a disk that does not answer costs lines and no training. Lines that found no room, in memory
// or on the disk, are counted; the event `lost_lines` stands in their place once there is room, and
// the listener is told at once by a note, which the file does not have.
//
// Where it stands: run loop -> EventLog -> file and listener.
// Threads: append() from any; close() and the destructor from the owner, when no other appends.
// Fails: open() with kUnavailable; everything later costs the file and not the run.
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
  // Called for one event after another, by whoever appends it; must not wait and not append.
  using Listener = std::function<void(const Event&)>;

  // Appends to the file at `path`, made if need be; an empty path keeps no file. A last line that a
  // crash has torn is ended first. Borrows `clock`, which must outlive this. `listener` may be
  // empty.
  static Result<std::unique_ptr<EventLog>> open(const std::string& path, const Clock& clock,
                                                Listener listener);
  // As close() with 2 s.
  ~EventLog();
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  // Stamps the time, hands the line to the file's thread, tells the listener. Events of several
  // threads have one order everywhere. REQUIRES: is_documented(event).
  void append(Event event);

  // Waits until the file has everything, at most `limit`. kUnavailable, in words for people, if it
  // has not, or lines were lost before. Nothing is appended after it.
  Status close(Duration limit);

 private:
  struct Impl;
  explicit EventLog(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
