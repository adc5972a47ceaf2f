// SlowNotice: says on standard error what a command is busy with, where that takes longer than a
// second, and says it again from time to time.
//
// Threads: one owner; a thread of its own looks at the clock. The destructor ends it at once.
// Fails: never.
#pragma once

#include <functional>
#include <string>

#include "weft/base/thread.h"
#include "weft/base/time.h"

namespace weft {

class SlowNotice {
 public:
  using Say = std::function<void(std::string line)>;

  // `words`: "reading fashion-mnist". `say` gets the lines; by default they go to standard error.
  explicit SlowNotice(std::string words, Say say = {}, Duration first = std::chrono::seconds(1),
                      Duration later = std::chrono::seconds(10));
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
  void run(const Say& say, Duration first, Duration later);

  const std::string words_;
  Guarded<State> state_;
  Thread thread_;
};

}  // namespace weft
