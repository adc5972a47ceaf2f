// export_checkpoint(): a checkpoint's model as a file for other programs. What `weft export` does.
//
// Where it stands: CheckpointModel -> io/onnx_export.h, io/weights_file.h. A model in ONNX's format
// takes what Weft's takes: pixels already normalised; the normalisation and the names of the
// classes are in the file's metadata (docs/files.md). It is run once before it is written.
// Threads: one. Fails: as open_checkpoint_model(), kInvalidArgument if the format cannot express
// the model, kUnavailable if the file cannot be written.
#pragma once

#include <string>

#include "weft/base/status.h"
#include "weft/data/catalog.h"

namespace weft {

struct ExportRequest {
  std::string checkpoint;
  std::string onnx;         // path of the file to write; empty: none
  std::string safetensors;  // likewise
  // For the safetensors file; also writes config.json beside it.
  bool hugging_face_names = false;
};

// A text about the written files, one line per file.
Result<std::string> export_checkpoint(const ExportRequest& request, const DataPlaces& places);

}  // namespace weft
