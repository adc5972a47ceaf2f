#include "weft/serve/reply.h"

#include <iterator>
#include <utility>

#include "weft/http/api_error.h"

namespace weft {
namespace {

std::string_view finish_reason(NextToken::End end) {
  if (end == NextToken::End::kNone) return "";
  return end == NextToken::End::kStop ? "stop" : "length";
}

}  // namespace

Reply::Reply(const ServedModel& model, const JobWork& work, CompletionHead head)
    : model_(model), head_(std::move(head)) {
  const auto* const completion = std::get_if<CompletionRequest>(&work);
  if (completion == nullptr) return;
  streams_ = completion->stream;
  form_ = {model.tokenizer(), completion->logprobs.has_value(), completion->include_usage};
  for (const CompletionPrompt& prompt : completion->prompts) {
    usage_.prompt_tokens += static_cast<std::int64_t>(prompt.tokens.size());
  }
  open_ = static_cast<std::size_t>(completion->choices());
  choices_.resize(open_);
  for (std::size_t i = 0; i < open_; ++i) choices_[i].index = static_cast<std::int64_t>(i);
}

Reply::Step Reply::take(JobAnswer answer) {
  if (const auto* status = std::get_if<Status>(&answer.result)) return take_failure(*status);
  if (auto* next = std::get_if<NextToken>(&answer.result)) return take_token(std::move(*next));
  const auto& outputs = std::get<PredictOutputs>(answer.result);
  return {HttpResponse{.body = predict_answer(head_.model, outputs, model_.has_classes(),
                                              model_.class_names()) +
                               "\n"},
          true};
}

Reply::Step Reply::take_failure(const Status& status) const {
  const ApiError error{.status = 500, .message = status.message()};
  if (!streams_) return {error_response(error), true};
  return {server_sent_event(error_json(error)), true};
}

Reply::Step Reply::take_token(NextToken next) {
  ++usage_.completion_tokens;
  if (next.end != NextToken::End::kNone) --open_;
  const bool ended = open_ == 0;
  if (streams_) return take_streamed(std::move(next), ended);
  CompletionChoice& choice = choices_[static_cast<std::size_t>(next.choice)];
  choice.piece.text += next.piece.text;
  std::move(next.piece.tokens.begin(), next.piece.tokens.end(),
            std::back_inserter(choice.piece.tokens));
  choice.finish_reason = finish_reason(next.end);
  if (!ended) return {std::string(), false};
  CompletionForm form = form_;
  form.stream_usage = false;
  return {HttpResponse{.body = completion_json(head_, choices_, usage_, form) + "\n"}, true};
}

Reply::Step Reply::take_streamed(NextToken next, bool ended) {
  const CompletionChoice piece{next.choice, std::move(next.piece), finish_reason(next.end)};
  std::string events;
  // A text that is held back may yet become a stop text, or a character of several tokens.
  if (!piece.piece.tokens.empty() || !piece.piece.text.empty() || !piece.finish_reason.empty()) {
    events += server_sent_event(completion_json(head_, std::span(&piece, 1), {}, form_));
  }
  if (ended && form_.stream_usage) {
    events += server_sent_event(completion_json(head_, {}, usage_, form_));
  }
  if (ended) events += server_sent_event("[DONE]");
  return {std::move(events), ended};
}

}  // namespace weft
