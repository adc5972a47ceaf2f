// TensorboardEvents: the numbers of a run's events as TensorBoard's scalars, as they happen.
//
//   round       train/loss, train/accuracy, train/bits_per_character, train/learning_rate,
//               speed/samples_per_second, speed/round_seconds, speed/compute_share, group/members
//   evaluation  test/loss, test/accuracy, test/bits_per_character
// over the optimizer's steps; values that an event lacks, or that are not finite, are left out.
//
// Where it stands: a listener of the EventLog, for `weft run --tensorboard`. A separate thread
// writes the file, so that nothing waits for its disk.
// Threads: one at a time. Fails: open() with kUnavailable; a later record that finds no room is
// left out completely: close() returns the reason of the first.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "weft/base/background_writer.h"
#include "weft/base/status.h"
#include "weft/base/thread.h"
#include "weft/io/tensorboard.h"
#include "weft/train/event/event.h"

namespace weft {

class TensorboardEvents {
 public:
  // A new event file in `folder`.
  static Result<std::unique_ptr<TensorboardEvents>> open(const std::string& folder,
                                                         std::int64_t unix_time_s);
  void hear(const Event& event);

  // Waits at most `limit` until the file has everything; returns what it lacks. Later events are
  // ignored.
  Status close(Duration limit);
  const std::string& path() const { return file_->writer->path(); }

 private:
  // The file as its thread sees it, which may outlive this.
  struct File {
    std::unique_ptr<TensorboardWriter> writer;
    Guarded<Status> first_failure;
  };
  explicit TensorboardEvents(std::unique_ptr<TensorboardWriter> writer);

  std::shared_ptr<File> file_ = std::make_shared<File>();
  std::unique_ptr<BackgroundWriter> background_;
  std::int64_t step_ = 0;  // of the latest round
};

}  // namespace weft
