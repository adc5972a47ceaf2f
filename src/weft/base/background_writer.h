// BackgroundWriter: hands texts to a thread of its own, which writes them, so that whoever has
// something to say never waits for a reader that does not read or a disk that does not answer.
//
//   push() -> queue of bounded bytes -> sink, on the writer's thread
//
// What is taken is written in the order of push(), each text once. A text that finds no room is
// dropped and counted, and so are those after it until half of the queue is written; the text that
// `gap` makes of their number then stands in their place.
//
// Threads: push(), drain() and dropped() from any; close() and the destructor from the owner.
// Fails: never; what becomes of a text that the sink cannot write is the sink's business.
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
  // Called on the writer's thread, for one text after another; may block for any time. It may live
  // longer than the BackgroundWriter (see close()), so it owns what it uses.
  using Sink = std::function<void(std::string_view text)>;
  // What is said in the place of so many texts; on the writer's thread. Empty: nothing is.
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
  // Takes nothing more and waits as drain() does. A sink that still blocks then is left to itself
  // with its thread, until the process ends. The second call does nothing and says the same.
  bool close(Duration limit);
  // Texts dropped so far.
  std::uint64_t dropped() const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
  struct Runner;
  std::unique_ptr<Runner> runner_;
};

// Writes all of `text` to `descriptor`, however long its reader takes. 0, or where nobody reads any
// more or the system refuses, its errno; then the rest is lost.
int write_fully(int descriptor, std::string_view text);

}  // namespace weft
