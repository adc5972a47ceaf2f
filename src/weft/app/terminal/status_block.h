// StatusBlock: a short view of a run for a person, made from its events alone.
//
// Where it stands: events -> StatusBlock -> Terminal. Threads: a value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "weft/train/event/event.h"

namespace weft {

class StatusBlock {
 public:
  void hear(const Event& event);
  // Before the first round there is only the line with the peers that it waits for. Each line has
  // at most `width` characters.
  std::vector<std::string> lines(std::size_t width) const;

 private:
  Event round_;
  std::vector<std::string> peers_;
  std::vector<std::string> details_;
  std::string waiting_;    // who waits for whom; empty: nobody
  std::string measuring_;  // empty: no measurement, or a quick one
};

// "measuring the test set: 1280 of 5000 samples, 3 s".
std::string measuring_line(const Event& measuring);
// "round 12/400  loss 1.2034  accuracy 61.3 %  4 peers  3210 samples/s  ETA 1:03": for output that
// is no terminal.
std::string round_line(const Event& round);
// 75 -> "1:15", 4000 -> "1:06:40".
std::string duration_text(double seconds);
// At most `width` characters of `line`; UTF-8 is not split. All text here is ASCII but for names.
std::string clipped(const std::string& line, std::size_t width);

}  // namespace weft
