// SlowNotice: shows on standard error what a command is doing, if that takes long.
//
// On a terminal a line appears after half a second without output, is redrawn with the seconds and
// the progress, and is erased at the end. Elsewhere one line is written after three seconds, and no
// more.
//
// Threads: one owner; a separate thread reads the clock. The destructor ends it at once. Fails:
// never; a stopped terminal (Ctrl-S) does not delay the command.
#pragma once

#include <functional>
#include <limits>
#include <string>

#include "weft/base/thread.h"
#include "weft/base/time.h"

namespace weft {

class SlowNotice {
 public:
  using Say = std::function<void(const std::string& text)>;
  struct Manner {
    Say say;
    Duration first;     // of silence
    Duration later;     // between two lines; zero: only one
    std::size_t width;  // of a redrawn line, 20 or more; 0: separate lines
  };

  // `words`: "reading fashion-mnist".
  explicit SlowNotice(const std::string& words);
  SlowNotice(const std::string& words, Manner manner);
  ~SlowNotice();
  SlowNotice(const SlowNotice&) = delete;
  SlowNotice& operator=(const SlowNotice&) = delete;

  // Sets the progress, which is then shown with the words. Any thread.
  void progress(double done, double all);
  // The same with the seconds that are left of a longer work, of which this is a part; NaN: not
  // known. Any thread.
  void progress(double done, double all, double seconds_left);

 private:
  struct State {
    bool ended = false;
    double part = -1;  // negative: not known
    double seconds_left = std::numeric_limits<double>::quiet_NaN();
  };
  void run(const Manner& manner);

  const std::string words_;
  Guarded<State> state_;
  Thread thread_;
};

}  // namespace weft
