// Names of parameters in Hugging Face's files, for the models of the zoo that have a counterpart.
//
//   llama      LlamaForCausalLM: the same names and values; rotary pairs are (i, i + D / 2) in both
//   char_gpt   GPT2LMHeadModel: the same names, but c_attn, c_proj and c_fc hold [inputs, outputs];
//              GELU by erf ("activation_function": "gelu") and a head of its own
//
// Where it stands: weights_file.h reads and writes files with it, and `weft export` uses it. Files
// from elsewhere also hold values that are no parameters (masks, frequencies), and base models omit
// the outer "model." or "transformer."; both are handled. Threads: pure. Fails: kInvalidArgument
// for a model without a counterpart (lists those with one).
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
// Translates the name of a parameter of `model` to Hugging Face's, and back. REQUIRES:
// check_hugging_face_model(model) is ok.
ForeignName to_hugging_face(std::string_view model, std::string_view name);
ForeignName from_hugging_face(std::string_view model, std::string_view name);

// Returns the text of config.json, which transformers' from_pretrained() needs beside the weights
// of a model made with `options`, whose layout is `layout`.
Result<std::string> hugging_face_config(std::string_view model, const ModelOptions& options,
                                        const Layout& layout);

}  // namespace weft
