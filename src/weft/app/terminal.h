// Terminal: shows the events of a run: a block that redraws, plain lines, or JSON.
//
// kLive (a terminal): news above, the status block below, redrawn in place at most ten times a
// second. kPlain (a pipe or file): one line a round, no colour. kJson: every event, one object a
// line. Everything is written at once and flushed, so lines of several processes do not mix.
// Threads: one owner. Fails: never; a closed pipe is ignored.
#pragma once

#include <cstddef>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

#include "weft/app/status_block.h"
#include "weft/base/time.h"

namespace weft {

enum class OutputMode : unsigned char { kLive, kPlain, kJson };

// kJson if asked for, else kLive where standard output is a terminal that understands it.
OutputMode output_mode(bool json);

// Writes `text` to standard output at once.
void print_text(std::string_view text);

class Terminal {
 public:
  using Write = std::function<void(std::string_view)>;

  // Borrows `clock`. `width` in characters; `write` gets what would go to standard output.
  Terminal(OutputMode mode, std::size_t width, const Clock& clock, Write write);
  // Writes to standard output with the terminal's width; colour unless NO_COLOR is set.
  static Terminal to_standard_output(OutputMode mode, const Clock& clock);

  void hear(const Event& event);
  // A line for people; nothing in kJson.
  void say(std::string_view line);
  // Leaves the last block standing; what follows is written below it.
  void finish();

  OutputMode mode() const { return mode_; }

 private:
  void redraw(const std::string& news, bool forced);
  std::string erased();

  OutputMode mode_;
  std::size_t width_;
  const Clock& clock_;
  Write write_;
  StatusBlock block_;
  std::size_t lines_drawn_ = 0;
  TimePoint drawn_at_ = TimePoint::min();
};

}  // namespace weft
