// A loaded model as ONNX whose inputs are the values of files and whose outputs are those of
// training: the arithmetic before and after the model is in the graph, the rest of the description
// in the metadata.
//
//   images   "input" f32 [batch, C, H, W], pixels from 0 to 255 -> "logits"
//   tables   "input" f32 [batch, columns], as files say them; of a word its number in the column's
//            words, of a missing value NaN -> "logits", or "values" in the units of the targets
//   tokens   "tokens" i64 [batch, T] -> "logits"
//
// The metadata: weft.model, weft.step, weft.data (description.h), weft.classes (one line each) and,
// for text models, weft.tokenizer (tokenizer.h). Transforms of images are not in the graph: its
// input size is the one after them. Threads: the thread that owns the model. Fails: like
// export_onnx().
#pragma once

#include "weft/base/status.h"
#include "weft/io/model_file.h"
#include "weft/io/onnx_model.h"

namespace weft {

Result<OnnxModel> export_loaded(const LoadedModel& loaded);

// The largest difference between the outputs of `loaded` and `onnx` for inputs drawn from `seed`,
// relative to the largest output (at least 1).
Result<double> onnx_difference(const LoadedModel& loaded, const OnnxModel& onnx,
                               std::uint64_t seed);

}  // namespace weft
