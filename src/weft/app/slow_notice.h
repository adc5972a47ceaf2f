// SlowNotice: says on standard error what a command is busy with, where that takes long.
//
// On a terminal a line stands after half a second of silence, is redrawn with the seconds and what
// is done, and is gone at the end. Elsewhere one line is written after three seconds, and no more.
//
// Threads: one owner; a thread of its own looks at the clock. The destructor ends it at once.
// Fails: never; a terminal that was stopped (Ctrl-S) keeps nobody waiting.
#pragma once

#include <functional>
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
    Duration later;     // between one and the next; zero: it is said once
    std::size_t width;  // of a line that is redrawn, 20 or more; 0: lines follow one another
  };

  // `words`: "reading fashion-mnist".
  explicit SlowNotice(const std::string& words);
  SlowNotice(const std::string& words, Manner manner);
  ~SlowNotice();
  SlowNotice(const SlowNotice&) = delete;
  SlowNotice& operator=(const SlowNotice&) = delete;

  // How much is done; said with the words from then on. Any thread.
  void progress(double done, double all);

 private:
  struct State {
    bool ended = false;
    double part = -1;  // negative: not known
  };
  void run(const Manner& manner);

  const std::string words_;
  Guarded<State> state_;
  Thread thread_;
};

}  // namespace weft
