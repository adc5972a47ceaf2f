// The jobs that the thread of the connections gives the thread of the model, and their answers.
//
// Threads: values; the arrays of a job belong to the thread that received it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>

#include "weft/array/array.h"
#include "weft/base/status.h"
#include "weft/base/strong.h"
#include "weft/base/thread.h"
#include "weft/serve/json/completion_json.h"
#include "weft/serve/json/predict_json.h"
#include "weft/serve/text/choice_text.h"

namespace weft {

using JobId = Strong<struct JobIdTag, std::uint64_t>;

// Prepared rows f32 [rows, ...], or texts to go on with.
using JobWork = std::variant<Array, CompletionRequest>;

struct Job {
  JobId id;
  JobWork work;
  // Set when nobody waits for the answer any more.
  std::shared_ptr<Atomic<bool>> cancelled = std::make_shared<Atomic<bool>>(false);
};

// The text that one more token of one of a job's texts has completed; empty while it may be the
// beginning of a stop text.
struct NextToken {
  enum class End { kNone, kStop, kLength };
  std::int64_t choice = 0;  // prompt * n + which continuation of it
  TextPiece piece;
  End end = End::kNone;  // of this choice
};

struct JobAnswer {
  JobId id;
  // Outputs end the job, and a failure, and the end of its last choice.
  std::variant<PredictOutputs, NextToken, Status> result;
  // If this job was the first of a batch: rows that were computed together.
  std::int64_t batch_rows = 0;
};

}  // namespace weft
