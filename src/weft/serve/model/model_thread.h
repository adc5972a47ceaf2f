// ModelThread: the one thread that computes, between two bounded queues.
//
// Rows of several requests become one batch: the first that waits begins it, others join it in the
// order in which they came until it is full or `batch_wait` has passed; what came meanwhile is the
// next batch. A request of more rows than a batch holds is computed in several, by itself. Texts
// are continued side by side (text_generator.h).
// Threads: submit() and take() on the owner's; the model belongs to the thread inside until this is
// gone. One at a time in a process, whose number of compute threads it sets.
// Fails: submit() when the queue is full; answers carry what failed.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "weft/base/bounded_queue.h"
#include "weft/base/status.h"
#include "weft/base/thread.h"
#include "weft/base/time.h"
#include "weft/serve/model/serve_job.h"
#include "weft/serve/model/served_model.h"

namespace weft {

struct ModelThreadOptions {
  int threads = 1;              // compute threads
  std::int64_t batch_max = 32;  // rows, or texts, at once
  Duration batch_wait = {};
  std::size_t queue_max = 1024;  // jobs that wait
};

class ModelThread {
 public:
  // Borrows `model`. `wake` is called on the model's thread when answers wait and none did before.
  ModelThread(ServedModel& model, const ModelThreadOptions& options, std::function<void()> wake);
  // Ends once all submitted jobs are answered or cancelled.
  ~ModelThread();
  ModelThread(const ModelThread&) = delete;
  ModelThread& operator=(const ModelThread&) = delete;

  // False when the queue is full: the job is lost.
  bool submit(Job job) { return jobs_.try_push(std::move(job)); }
  // The next answer, if there is one. Take until there is none after each wake.
  std::optional<JobAnswer> take();
  std::size_t waiting() const { return jobs_.size(); }

 private:
  void run();
  void run_rows();
  void run_texts();
  std::vector<Job> gather_rows(Job first);
  void compute_rows(const std::vector<Job>& batch);
  void answer(JobAnswer answer);
  Result<PredictOutputs> predict_in_parts(const Array& rows);

  ServedModel& model_;
  const ModelThreadOptions options_;
  const std::function<void()> wake_;
  const SystemClock clock_;
  BoundedQueue<Job> jobs_;
  BoundedQueue<JobAnswer> answers_;
  Atomic<bool> woken_ = false;
  Atomic<bool> over_ = false;  // nobody takes answers any more
  std::optional<Job> held_;    // did not fit into the batch before
  Thread thread_;
};

}  // namespace weft
