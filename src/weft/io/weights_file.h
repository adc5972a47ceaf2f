// Parameters of a module alone, as a safetensors file that other frameworks read, and back.
//
//   WEFT_TRY(load_weights(bytes, *model, {WeightNames::kHuggingFace, "llama"}));
//
// Where it stands: `weft export --safetensors` writes one; a checkpoint (checkpoint.h) holds the
// same tensors and the optimizer's state. PyTorch reads Weft's own names where its modules have the
// same ones (docs/files.md).
// Threads: the thread that owns the module. Fails: kCorrupt where the bytes are no safetensors
// file, kInvalidArgument where names or shapes are not the module's, naming the first.
#pragma once

#include <string>

#include "weft/base/bytes.h"
#include "weft/base/status.h"
#include "weft/nn/module.h"

namespace weft {

enum class WeightNames : std::uint8_t {
  kWeft,         // as Module::values() has them
  kHuggingFace,  // hugging_face_names.h
};

struct WeightsFormat {
  WeightNames names = WeightNames::kWeft;
  std::string model = {};  // of the zoo; kHuggingFace alone needs it
};

// Writes values in the order of Module::values(), f32. The same module gives the same bytes.
Result<Bytes> weights_bytes(const Module& module, const WeightsFormat& format = {});

// Copies the values of a file, of any floating type, into the module: all of them or, on failure,
// none. A Hugging Face file without "lm_head.weight" ties it to the embedding; the module gets a
// copy. Entries "optimizer/..." of a checkpoint are skipped.
Status load_weights(ByteSpan bytes, Module& module, const WeightsFormat& format = {});

}  // namespace weft
