// Terminal: shows the events of a run: a block that redraws, plain lines, or JSON.
//
// kLive (a terminal): news above, the status block below, redrawn in place at most ten times a
// second. kPlain (a pipe or file): news, and at most one round a second with the first and the
// last, so that lines that a person needs later, such as the ticket, stay visible; no colour.
// kJson: every event, one object per line. A separate thread writes everything
// (base/background_writer.h), so that a reader that does not read delays nothing; lines that find
// no room are counted, and one line with their number replaces them. Failures of the run itself go
// to standard error as well. Threads: one at a time. Fails: never; app/terminal/standard_output.h
// keeps failures to write.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "weft/app/terminal/status_block.h"
#include "weft/base/background_writer.h"
#include "weft/base/time.h"

namespace weft {

// How long a process waits at its end for the reader of its output.
inline constexpr Duration kOutputLimit = std::chrono::seconds(2);

enum class OutputMode : unsigned char { kLive, kPlain, kJson };

// Writes the event to the log, for `weft -v`: all but rounds, and tickets, which are secrets.
void log_event(const Event& event);

// kJson if asked for, else kLive where standard output is a terminal that understands it.
OutputMode output_mode(bool json);

// Text from a model or from others' files: unchanged for a file or program, and without terminal
// control characters for a person (base/printable.h).
std::string for_standard_output(const std::string& text);

class Terminal {
 public:
  // False if there was no room for the text; then none of it is shown.
  using Write = std::function<bool(std::string_view)>;
  using Complain = std::function<void(std::string line)>;

  // Borrows `clock`. `width` in characters; `write` gets what would go to standard output,
  // `complain` what goes to standard error.
  Terminal(OutputMode mode, std::size_t width, const Clock& clock, Write write,
           Complain complain = {});
  // Writes to standard output with the terminal's width; colour unless NO_COLOR is set. At the end
  // it waits at most 2 s for a reader.
  static Terminal to_standard_output(OutputMode mode, const Clock& clock);

  void hear(const Event& event);
  // A line for people; nothing in kJson.
  void say(std::string_view line);
  // Leaves the last block standing; what follows is written below it.
  void finish();
  // Waits until everything is written, at most `limit`; whether it is. Nothing is shown after it.
  bool close(Duration limit);

  OutputMode mode() const { return mode_; }

 private:
  void hear_plain(const Event& event);
  bool is_repetition(const Event& event);
  void redraw(const std::string& news, bool forced);
  std::string erased() const;
  void complain_of(const Event& event) const;

  OutputMode mode_;
  std::size_t width_;
  const Clock& clock_;
  Write write_;
  Complain complain_;
  StatusBlock block_;
  std::shared_ptr<BackgroundWriter> background_;  // of to_standard_output()
  std::size_t lines_drawn_ = 0;
  bool told_interrupt_ = false;
  std::uint64_t lines_lost_ = 0;  // kLive: of news, since the last that was shown
  TimePoint drawn_at_ = TimePoint::min();
  // kPlain.
  TimePoint round_shown_at_ = TimePoint::min();
  std::optional<Event> round_left_out_;  // since the last round that was shown
  bool told_measuring_ = false;          // of the measurement that is under way
  std::optional<Event> refused_;         // the last that was
};

}  // namespace weft
