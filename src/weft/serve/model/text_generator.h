// TextGenerator: several texts that a language model continues concurrently, one token each at a
// time.
//
// New texts are read completely, one by one; then each step computes one token for all texts in one
// pass. A generated text depends exactly on its own prompt, settings, seed and number among the
// choices of its request, and not on other texts in the same pass (nn/language_model.h). Threads:
// the model's. Fails: a text whose logits are not finite ends with kInternal.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "weft/base/rng.h"
#include "weft/base/status.h"
#include "weft/data/tokenizer.h"
#include "weft/nn/language_model.h"
#include "weft/serve/model/serve_job.h"
#include "weft/serve/text/choice_text.h"

namespace weft {

class TextGenerator {
 public:
  using Sink = std::function<void(JobAnswer answer)>;

  // Borrows both. Without a tokenizer the result has only tokens. At most `texts_at_once` texts are
  // computed in one step; others wait for their turn.
  TextGenerator(CausalLanguageModel& model, const Tokenizer* tokenizer, std::size_t texts_at_once)
      : model_(model), tokenizer_(tokenizer), texts_at_once_(texts_at_once) {}

  // All choices of the request. REQUIRES: its prompts have a token and fit the model. Without a
  // seed the job's id is one.
  void add(JobId id, CompletionRequest request, const std::shared_ptr<Atomic<bool>>& cancelled);
  // Texts that go on or wait.
  std::size_t active() const { return texts_.size(); }
  // One token for each text; texts that ended or were cancelled are left out from then on. A
  // choice that fails ends the others of its job.
  void step(const Sink& sink);

 private:
  struct Text {
    JobId id;
    std::int64_t choice;
    std::shared_ptr<const CompletionRequest> request;
    std::shared_ptr<Atomic<bool>> cancelled;
    Rng rng;
    ChoiceText text;
    TextCache cache = {};
    std::int64_t tokens_done = 0;
    std::int32_t last_token = 0;
    bool ended = false;

    const CompletionPrompt& prompt() const {
      return request->prompts[static_cast<std::size_t>(choice / request->n)];
    }
  };

  void read_prompts(const Sink& sink);
  void continue_texts(const Sink& sink);
  // Draws from the logits of one row and passes the token to the sink.
  void draw(Text& text, std::span<const float> logits, const Sink& sink);
  static void end(Text& text, const Status& status, const Sink& sink);

  CausalLanguageModel& model_;
  const Tokenizer* tokenizer_;
  const std::size_t texts_at_once_;
  std::vector<std::unique_ptr<Text>> texts_;
};

}  // namespace weft
