// OnnxModel: the contents of an ONNX file, as far as Weft reads and writes them.
//
//   model := ModelProto of https://github.com/onnx/onnx/blob/main/onnx/onnx.proto, in protobuf's
//            wire format (protobuf_reader.h)
//
// Where it stands: onnx_import.h runs one, onnx_export.h makes one. Nodes are plain names, whose
// meaning is in the tables of onnx_operator.h and onnx_emitter.h. A file may come from anywhere.
// Counts, depth and names are bounded; the values of a tensor must all be present before memory for
// them is allocated. Not supported: text, 16-bit integers, unsigned 32- and 64-bit integers,
// complex numbers, sparse tensors, values in other files, sequences, maps, functions of the model's
// own. Threads: values. Fails: kCorrupt if the bytes are no such file, kInvalidArgument if they use
// something unsupported; either names the node or tensor and, if corrupt, the byte.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/array/array.h"
#include "weft/base/bytes.h"
#include "weft/base/status.h"

namespace weft {

inline constexpr std::size_t kOnnxBytesMax = std::size_t{2} << 30U;
// Bounds of nodes, attributes, names, tensors and sizes in total, and of nested graphs.
inline constexpr std::size_t kOnnxItemsMax = std::size_t{1} << 21U;
inline constexpr int kOnnxDepthMax = 8;
inline constexpr std::size_t kOnnxTextBytesMax = std::size_t{64} << 10U;
inline constexpr std::size_t kOnnxMetadataBytesMax = std::size_t{32} << 20U;  // a tokenizer
// The versions that are written: https://github.com/onnx/onnx/blob/main/docs/Versioning.md.
inline constexpr std::int64_t kOnnxIrVersion = 8;
inline constexpr std::int64_t kOnnxOpset = 17;

struct OnnxGraph;

struct OnnxTensor {
  std::string name;
  Array value;
};

enum class OnnxAttributeKind : std::uint8_t {
  kFloat = 1,
  kInteger = 2,
  kText = 3,
  kTensor = 4,
  kGraph = 5,
  kFloats = 6,
  kIntegers = 7,
  kTexts = 8,
};

// The member that `kind` names holds the value.
struct OnnxAttribute {
  std::string name;
  OnnxAttributeKind kind = OnnxAttributeKind::kInteger;
  float number = 0;
  std::int64_t integer = 0;
  std::string text;
  Array tensor;
  std::shared_ptr<OnnxGraph> graph;
  std::vector<float> numbers;
  std::vector<std::int64_t> integers;
  std::vector<std::string> texts;
};

struct OnnxNode {
  std::string name;
  std::string op;
  std::string domain;               // "": ONNX's own
  std::vector<std::string> inputs;  // "": left out
  std::vector<std::string> outputs;
  std::vector<OnnxAttribute> attributes;
  std::size_t offset = 0;  // in the file it was read from

  // nullptr if there is none of that name.
  const OnnxAttribute* find(std::string_view attribute) const;
};

// One axis: a size, or a name for one that a run decides, or neither.
struct OnnxSize {
  std::optional<std::int64_t> size;
  std::string name;
};

// An input or output of a graph.
struct OnnxValue {
  std::string name;
  std::optional<DType> dtype;  // none: not given, or one that Weft does not have
  std::optional<std::vector<OnnxSize>> shape;
};

struct OnnxGraph {
  std::string name;
  std::vector<OnnxNode> nodes;  // each after those whose outputs it takes
  std::vector<OnnxTensor> initializers;
  std::vector<OnnxValue> inputs;
  std::vector<OnnxValue> outputs;
};

struct OnnxModel {
  std::int64_t ir_version = kOnnxIrVersion;
  std::int64_t opset = kOnnxOpset;  // of ONNX's own domain
  std::string producer;
  std::map<std::string, std::string> metadata;
  OnnxGraph graph;
};

Result<OnnxModel> parse_onnx(ByteSpan bytes);
Result<OnnxModel> read_onnx(const std::string& path);
// Reads one TensorProto alone, the form of the files in ONNX's own tests.
Result<OnnxTensor> parse_onnx_tensor(ByteSpan bytes);

// The same model gives the same bytes.
Bytes onnx_bytes(const OnnxModel& model);
Status write_onnx(const std::string& path, const OnnxModel& model);

// The number of TensorProto.DataType for an element type, and back.
std::int64_t onnx_type(DType dtype);
std::optional<DType> dtype_of_onnx(std::int64_t type);

}  // namespace weft
