// TensorboardEvents: the numbers of a run's events as TensorBoard's scalars, as they happen.
//
//   round       train/loss, train/accuracy, train/bits_per_character, train/learning_rate,
//               speed/samples_per_second, speed/round_seconds, speed/compute_share, group/members
//   evaluation  test/loss, test/accuracy, test/bits_per_character
// over the optimizer's steps; what an event leaves out, or is no finite number, is left out.
//
// Where it stands: a listener of the EventLog, asked for by `weft run --tensorboard`.
// Threads: the training thread. Fails: open() with kUnavailable; a write that fails later costs the
// file, not the run: status() has the first.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "weft/io/tensorboard.h"
#include "weft/train/event.h"

namespace weft {

class TensorboardEvents {
 public:
  // A new event file in `folder`.
  static Result<std::unique_ptr<TensorboardEvents>> open(const std::string& folder,
                                                         std::int64_t unix_time_s);
  void hear(const Event& event);

  const Status& status() const { return status_; }
  const std::string& path() const { return writer_->path(); }

 private:
  explicit TensorboardEvents(std::unique_ptr<TensorboardWriter> writer)
      : writer_(std::move(writer)) {}

  std::unique_ptr<TensorboardWriter> writer_;
  Status status_;
  std::int64_t step_ = 0;  // of the latest round
};

}  // namespace weft
