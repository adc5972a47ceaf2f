// Names of parameters in Hugging Face's files, for the models of the zoo that have a counterpart.
//
//   llama      LlamaForCausalLM: the same names and values; rotary pairs are (i, i + D / 2) in both
//   char_gpt   GPT2LMHeadModel: the same names, but c_attn, c_proj and c_fc hold [inputs, outputs];
//              GELU by erf ("activation_function": "gelu") and a head of its own
//
// Where it stands: weights_file.h reads and writes files by it, `weft export` asks for it.
// Files of others also hold what carries no parameter (masks, frequencies), and base models leave
// the outer "model." or "transformer." away; both are understood.
// Threads: pure. Fails: kInvalidArgument for a model without a counterpart (lists those with one).
#pragma once

#include <string>
#include <string_view>

#include "weft/array/arena/layout.h"
#include "weft/base/status.h"
#include "weft/nn/zoo.h"

namespace weft {

struct ForeignName {
  std::string name;
  bool transposed = false;  // the two axes change places
  bool ignored = false;     // a value that Weft has no place for and needs none
};

// Ok if `model` has a counterpart.
Status check_hugging_face_model(std::string_view model);
// What Hugging Face calls the parameter `name` of `model`, and the other way round. REQUIRES:
// check_hugging_face_model(model) is ok.
ForeignName to_hugging_face(std::string_view model, std::string_view name);
ForeignName from_hugging_face(std::string_view model, std::string_view name);

// The text of config.json, which transformers' from_pretrained() wants beside the weights of a
// model made with `options`, whose layout is `layout`.
Result<std::string> hugging_face_config(std::string_view model, const ModelOptions& options,
                                        const Layout& layout);

}  // namespace weft
