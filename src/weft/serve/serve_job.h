// What the thread of the connections asks of the thread of the model, and what comes back.
//
// Threads: values; the arrays of a job belong to whoever got it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>

#include "weft/array/array.h"
#include "weft/base/strong.h"
#include "weft/base/thread.h"
#include "weft/serve/completion_json.h"
#include "weft/serve/predict_json.h"

namespace weft {

using JobId = Strong<struct JobIdTag, std::uint64_t>;

// Prepared rows f32 [rows, ...], or a text to go on with.
using JobWork = std::variant<Array, CompletionRequest>;

struct Job {
  JobId id;
  JobWork work;
  // Set when nobody waits any more.
  std::shared_ptr<Atomic<bool>> cancelled = std::make_shared<Atomic<bool>>(false);
};

// The next token of a text.
struct NextToken {
  std::int32_t token = 0;
  bool last = false;
};

struct JobAnswer {
  JobId id;
  // A failure ends the job, as outputs and a last token do.
  std::variant<PredictOutputs, NextToken, Status> result;
  // Where this job was the first of a batch: rows that were computed together.
  std::int64_t batch_rows = 0;
};

}  // namespace weft
