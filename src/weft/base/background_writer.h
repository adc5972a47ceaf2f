// BackgroundWriter: passes texts to a separate thread, which writes them, so that callers never
// wait for a reader that does not read or a disk that does not answer.
//
//   push() -> queue of bounded bytes -> sink, on the writer's thread
//
// Accepted texts are written in the order of push(), each once. A text that finds no room is
// dropped and counted, and so are those after it until half of the queue is written; then the text
// that `gap` makes from their number is written in their place.
//
// Threads: push(), drain() and dropped() from any; close() and the destructor from the owner.
// Fails: never; the sink handles texts that it cannot write.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "weft/base/time.h"

namespace weft {

class BackgroundWriter {
 public:
  // Called on the writer's thread, for one text after another; may block for any time. It may
  // outlive the BackgroundWriter (see close()), so it owns what it uses.
  using Sink = std::function<void(std::string_view text)>;
  // Makes the text that replaces this many dropped texts; called on the writer's thread. Empty:
  // none.
  using Gap = std::function<std::string(std::uint64_t texts)>;
  struct Options {
    // So many bytes of text may wait; a single text that is larger is taken if none waits.
    std::size_t bytes_max = std::size_t{4} << 20;
    Gap gap;
    // How long the destructor waits.
    Duration close_limit = std::chrono::seconds(2);
  };

  BackgroundWriter(Sink sink, Options options);
  ~BackgroundWriter();
  BackgroundWriter(const BackgroundWriter&) = delete;
  BackgroundWriter& operator=(const BackgroundWriter&) = delete;

  // Never waits for the sink. False if `text` was dropped.
  bool push(std::string text);
  // Waits until all that was taken is written, at most `limit`; whether it is.
  bool drain(Duration limit);
  // Accepts no more texts and waits like drain(). A sink that still blocks then is left with its
  // thread until the process ends. A second call does nothing and returns the same.
  bool close(Duration limit);
  // Texts dropped so far.
  std::uint64_t dropped() const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
  struct Runner;
  std::unique_ptr<Runner> runner_;
};

// Writes all of `text` to `descriptor`, and waits as long as its reader needs. Returns 0, or the
// errno if nobody reads any more or the system refuses; then the rest is lost.
int write_fully(int descriptor, std::string_view text);

}  // namespace weft
