#include "weft/nn/text_model.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "weft/autograd/function/checkpoint.h"
#include "weft/nn/layer/sizes.h"

namespace weft {

TextModelShape text_model_shape(const char* model, const ModelOptions& options) {
  const auto value_or = [](std::int64_t value, std::int64_t other) {
    return value == 0 ? other : value;
  };
  TextModelShape shape{};
  shape.vocabulary = options.vocabulary;
  shape.context = options.context;
  shape.layers = value_or(options.layers, 4);
  shape.width = value_or(options.embedding_width, 128);
  shape.heads = value_or(options.heads, 4);
  shape.kv_heads = value_or(options.kv_heads, shape.heads);
  require_positive(model, {{"vocabulary", shape.vocabulary},
                           {"context", shape.context},
                           {"layers", shape.layers},
                           {"width", shape.width},
                           {"heads", shape.heads},
                           {"kv_heads", shape.kv_heads}});
  return shape;
}

void check_tokens(const char* model, const Tensor& tokens, std::int64_t cached,
                  std::int64_t context) {
  if (tokens.ndim() == 2 && tokens.dim(1) + cached <= context) return;
  throw std::invalid_argument(
      fmt::format("[{}] expected tokens [N, T] with T at most {}, got {} behind {} cached", model,
                  context, to_string(tokens.shape()), cached));
}

void check_tokens(const char* model, const Tensor& tokens, TextCaches caches,
                  std::int64_t context) {
  const auto count = static_cast<std::int64_t>(caches.size());
  if (count != 1 && (tokens.ndim() != 2 || tokens.dim(0) != count)) {
    throw std::invalid_argument(
        fmt::format("[{}] expected one cache or one for each row of tokens, got {} for {}", model,
                    count, to_string(tokens.shape())));
  }
  for (const TextCache* const cache : caches) {
    check_tokens(model, tokens, cache->tokens, context);
  }
}

void BlockList::add(std::unique_ptr<TransformerBlock> block) {
  blocks_.push_back(block.get());
  register_part(std::to_string(blocks_.size() - 1), std::move(block));
}

namespace {

// The block's parameters are `tensors` while this lives.
class OtherParameters {
 public:
  OtherParameters(Module& block, std::span<const Tensor> tensors)
      : block_(block), own_(block.parameters()) {
    block.replace_parameters({tensors.begin(), tensors.end()});
  }
  ~OtherParameters() { block_.replace_parameters(own_); }
  OtherParameters(const OtherParameters&) = delete;
  OtherParameters& operator=(const OtherParameters&) = delete;

 private:
  Module& block_;
  std::vector<Tensor> own_;
};

// A checkpoint takes what has a history as an input: parameters that are casts to another
// precision are given to it, and found in the block when it is computed again.
Tensor forward_recomputed(TransformerBlock& block, const Tensor& x) {
  std::vector<Tensor> inputs = {x};
  const std::vector<Tensor> parameters = block.parameters();
  const bool leaves = std::all_of(parameters.begin(), parameters.end(),
                                  [](const Tensor& parameter) { return parameter.is_leaf(); });
  if (!leaves) inputs.insert(inputs.end(), parameters.begin(), parameters.end());
  return checkpoint(
      [&block, leaves](std::span<const Tensor> in) {
        if (leaves) return block.forward(in[0]);
        const OtherParameters given(block, in.subspan(1));
        return block.forward(in[0]);
      },
      inputs);
}

}  // namespace

Tensor BlockList::forward(const Tensor& x) {
  Tensor value = x;
  for (TransformerBlock* const block : blocks_) {
    if (recompute_ && grad_enabled()) {
      value = forward_recomputed(*block, value);
    } else {
      value = block->forward(value);
    }
  }
  return value;
}

Tensor BlockList::forward_cached(const Tensor& x, TextCaches caches) {
  for (TextCache* const cache : caches) cache->blocks.resize(blocks_.size());
  Tensor value = x;
  std::vector<KeyValueCache*> of_block(caches.size());
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    for (std::size_t row = 0; row < caches.size(); ++row) of_block[row] = &caches[row]->blocks[i];
    value = blocks_[i]->forward_cached(value, of_block);
  }
  for (TextCache* const cache : caches) cache->tokens += x.dim(1);
  return value;
}

}  // namespace weft
