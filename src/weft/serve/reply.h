// Reply: the answer of one job as it grows; what JobAnswers become on the wire.
//
// Threads: one owner. Fails: a job that failed becomes an answer of status 500, or the last event
// of a stream whose head has gone out.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "weft/base/status.h"
#include "weft/http/http_response.h"
#include "weft/serve/json/completion_answer.h"
#include "weft/serve/model/serve_job.h"
#include "weft/serve/model/served_model.h"

namespace weft {

class Reply {
 public:
  // Borrows `model`; `head` has the model's name, and the id of a completion.
  Reply(const ServedModel& model, const JobWork& work, CompletionHead head);

  bool streams() const { return streams_; }
  // The next output: the whole answer, or data of a stream (which may still be empty).
  struct Step {
    std::variant<HttpResponse, std::string> out;
    bool ended = false;
  };
  Step take(JobAnswer answer);

 private:
  Step take_failure(const Status& status) const;
  Step take_token(NextToken next);
  Step take_streamed(NextToken next, bool ended);

  const ServedModel& model_;
  const CompletionHead head_;
  CompletionForm form_;
  bool streams_ = false;
  CompletionUsage usage_;
  std::vector<CompletionChoice> choices_;  // as far as they have come
  std::size_t open_ = 0;                   // choices that go on
};

}  // namespace weft
