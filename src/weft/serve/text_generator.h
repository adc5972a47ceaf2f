// TextGenerator: several texts that a language model continues at once, a token each at a time.
//
// New texts are read whole, by themselves; then each step computes one token for all texts in one
// pass. What a text becomes depends on its own prompt, temperature and seed alone, to the bit, and
// not on what is generated beside it (nn/language_model.h).
// Threads: the model's. Fails: a text whose logits are no finite numbers ends with kInternal.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "weft/base/rng.h"
#include "weft/nn/language_model.h"
#include "weft/serve/serve_job.h"

namespace weft {

// The likeliest token for temperature 0, the first of equals; else one drawn from
// softmax(logits / temperature). Fails: kInternal unless each logit is a finite number.
Result<std::int32_t> draw_token(std::span<const float> logits, double temperature, Rng& rng);

class TextGenerator {
 public:
  using Sink = std::function<void(JobAnswer answer)>;

  // Borrows `model`.
  explicit TextGenerator(CausalLanguageModel& model) : model_(model) {}

  // REQUIRES: the prompt has a token and fits the model. Without a seed the job's id is one.
  void add(JobId id, const CompletionRequest& request, std::shared_ptr<Atomic<bool>> cancelled);
  std::size_t active() const { return texts_.size(); }
  // One token for each text; texts that ended or were cancelled are left out from then on.
  void step(const Sink& sink);

 private:
  struct Text {
    JobId id;
    CompletionRequest request;
    std::shared_ptr<Atomic<bool>> cancelled;
    Rng rng;
    TextCache cache;
    std::int64_t tokens_done = 0;
    std::int32_t last_token = 0;
    bool ended = false;
  };

  void read_prompts(const Sink& sink);
  void continue_texts(const Sink& sink);
  // Draws from the logits of one row and tells the sink.
  void draw(Text& text, std::span<const float> logits, const Sink& sink);
  static void end(Text& text, const Status& status, const Sink& sink);

  CausalLanguageModel& model_;
  std::vector<std::unique_ptr<Text>> texts_;
};

}  // namespace weft
