// Reading ONNX: one function a message, each with the numbers of its fields.
#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

#include "weft/base/file.h"
#include "weft/io/onnx_model.h"
#include "weft/io/protobuf_reader.h"

namespace weft {
namespace {

struct TypeNumber {
  DType dtype;
  std::int64_t number;
};
constexpr TypeNumber kOnnxTypes[] = {
    {DType::kF32, 1},  {DType::kU8, 2},   {DType::kI8, 3},   {DType::kI32, 6},   {DType::kI64, 7},
    {DType::kBool, 9}, {DType::kF16, 10}, {DType::kF64, 11}, {DType::kBF16, 16},
};
// All of TensorProto.DataType, for messages.
constexpr std::array<const char*, 17> kOnnxTypeNames = {
    "undefined", "float",  "uint8",     "int8",       "uint16",  "int16",
    "int32",     "int64",  "string",    "bool",       "float16", "double",
    "uint32",    "uint64", "complex64", "complex128", "bfloat16"};

std::string type_name(std::int64_t type) {
  if (type < 0 || type >= static_cast<std::int64_t>(kOnnxTypeNames.size())) {
    return fmt::format("number {}", type);
  }
  return kOnnxTypeNames[static_cast<std::size_t>(type)];
}

// The fields of a TensorProto as they stand there.
struct RawTensor {
  std::string name;
  std::vector<std::int64_t> dims;
  std::int64_t type = 0;
  std::vector<float> floats;
  std::vector<double> doubles;
  std::vector<std::int64_t> integers;
  std::optional<ByteSpan> raw;
  bool is_elsewhere = false;
};

class Parser {
 public:
  Status model(ProtobufReader reader, OnnxModel& model);
  Status tensor(ProtobufReader reader, OnnxTensor& tensor);

 private:
  Status opset(ProtobufReader reader, OnnxModel& model);
  Status metadata(ProtobufReader reader, OnnxModel& model);
  Status graph(ProtobufReader reader, OnnxGraph& graph, int depth);
  Status node(ProtobufReader reader, OnnxNode& node, int depth);
  Status node_fields(ProtobufReader reader, OnnxNode& node, int depth);
  Status attribute(ProtobufReader reader, OnnxAttribute& attribute, int depth);
  Status value(ProtobufReader reader, OnnxValue& value);
  Status value_type(ProtobufReader reader, OnnxValue& value);
  Status shape(ProtobufReader reader, std::vector<OnnxSize>& shape);
  Status raw_tensor(ProtobufReader reader, RawTensor& raw);
  Status integers(const ProtobufField& field, std::vector<std::int64_t>& values);

  Result<ProtobufReader> inner(const ProtobufField& field);
  Result<std::string> text(const ProtobufField& field);
  Status count(std::size_t items);

  std::size_t items_ = 0;
};

Status Parser::count(std::size_t items) {
  items_ += items;
  if (items_ <= kOnnxItemsMax) return {};
  return corrupt(fmt::format("onnx: expected at most {} parts, got more", kOnnxItemsMax));
}

Result<ProtobufReader> Parser::inner(const ProtobufField& field) {
  WEFT_TRY(count(1));
  WEFT_TRY_ASSIGN(const ByteSpan bytes, field.span());
  return ProtobufReader(bytes, field.offset);
}

Result<std::string> Parser::text(const ProtobufField& field) {
  WEFT_TRY(count(1));
  return field.text(kOnnxTextBytesMax);
}

// Small lists: sizes and attributes.
Status Parser::integers(const ProtobufField& field, std::vector<std::int64_t>& values) {
  WEFT_TRY(count(1 + field.bytes.size() / 8));
  return field.append_integers(values);
}

Status Parser::opset(ProtobufReader reader, OnnxModel& model) {
  std::string domain;
  std::int64_t version = 0;
  while (!reader.done()) {
    WEFT_TRY_ASSIGN(const ProtobufField field, reader.next());
    if (field.number == 1) {
      WEFT_TRY_ASSIGN(domain, text(field));
    } else if (field.number == 2) {
      WEFT_TRY_ASSIGN(version, field.integer());
    }
  }
  if (domain.empty() || domain == "ai.onnx") model.opset = version;
  return {};
}

Status Parser::metadata(ProtobufReader reader, OnnxModel& model) {
  std::string key;
  std::string value;
  while (!reader.done()) {
    WEFT_TRY_ASSIGN(const ProtobufField field, reader.next());
    if (field.number == 1) {
      WEFT_TRY_ASSIGN(key, text(field));
    } else if (field.number == 2) {
      WEFT_TRY(count(1));
      WEFT_TRY_ASSIGN(value, field.text(kOnnxMetadataBytesMax));
    }
  }
  model.metadata[key] = value;
  return {};
}

Status Parser::model(ProtobufReader reader, OnnxModel& model) {
  bool has_graph = false;
  model.opset = 0;
  while (!reader.done()) {
    WEFT_TRY_ASSIGN(const ProtobufField field, reader.next());
    if (field.number == 1) {
      WEFT_TRY_ASSIGN(model.ir_version, field.integer());
    } else if (field.number == 2) {
      WEFT_TRY_ASSIGN(model.producer, text(field));
    } else if (field.number == 7) {
      if (has_graph) return corrupt("onnx: expected one graph, got several");
      has_graph = true;
      WEFT_TRY_ASSIGN(const ProtobufReader part, inner(field));
      WEFT_TRY(graph(part, model.graph, 0));
    } else if (field.number == 8) {
      WEFT_TRY_ASSIGN(const ProtobufReader part, inner(field));
      WEFT_TRY(opset(part, model));
    } else if (field.number == 14) {
      WEFT_TRY_ASSIGN(const ProtobufReader part, inner(field));
      WEFT_TRY(metadata(part, model));
    } else if (field.number == 25) {
      return invalid_argument(
          "onnx: the model brings functions of its own, which Weft does not "
          "read; inline them (onnx.inliner) first");
    }
  }
  if (!has_graph) return corrupt("onnx: expected a graph, got a model without one");
  return {};
}

Status Parser::graph(ProtobufReader reader, OnnxGraph& graph, int depth) {
  if (depth > kOnnxDepthMax) {
    return corrupt(fmt::format("onnx: expected graphs at most {} deep, got more", kOnnxDepthMax));
  }
  while (!reader.done()) {
    WEFT_TRY_ASSIGN(const ProtobufField field, reader.next());
    if (field.number == 1) {
      WEFT_TRY_ASSIGN(const ProtobufReader part, inner(field));
      graph.nodes.emplace_back();
      graph.nodes.back().offset = field.offset;
      const std::size_t place = graph.nodes.size() - 1;
      const Status status = node(part, graph.nodes.back(), depth);
      if (!status.ok()) return status.with_context(fmt::format("onnx: node {}", place));
    } else if (field.number == 2) {
      WEFT_TRY_ASSIGN(graph.name, text(field));
    } else if (field.number == 5) {
      WEFT_TRY_ASSIGN(const ProtobufReader part, inner(field));
      WEFT_TRY(tensor(part, graph.initializers.emplace_back()));
    } else if (field.number == 11 || field.number == 12) {
      WEFT_TRY_ASSIGN(const ProtobufReader part, inner(field));
      WEFT_TRY(value(part, (field.number == 11 ? graph.inputs : graph.outputs).emplace_back()));
    } else if (field.number == 15) {
      return invalid_argument("onnx: the graph has sparse initializers, which Weft does not read");
    }
  }
  return {};
}

Status Parser::node(ProtobufReader reader, OnnxNode& node, int depth) {
  Status status = node_fields(reader, node, depth);
  if (status.ok() || (node.op.empty() && node.name.empty())) return status;
  return status.with_context(fmt::format("{} \"{}\"", node.op, node.name));
}

Status Parser::node_fields(ProtobufReader reader, OnnxNode& node, int depth) {
  while (!reader.done()) {
    WEFT_TRY_ASSIGN(const ProtobufField field, reader.next());
    if (field.number == 1 || field.number == 2) {
      WEFT_TRY_ASSIGN(std::string name, text(field));
      (field.number == 1 ? node.inputs : node.outputs).push_back(std::move(name));
    } else if (field.number == 3) {
      WEFT_TRY_ASSIGN(node.name, text(field));
    } else if (field.number == 4) {
      WEFT_TRY_ASSIGN(node.op, text(field));
    } else if (field.number == 5) {
      WEFT_TRY_ASSIGN(const ProtobufReader part, inner(field));
      WEFT_TRY(attribute(part, node.attributes.emplace_back(), depth));
    } else if (field.number == 7) {
      WEFT_TRY_ASSIGN(node.domain, text(field));
      if (node.domain == "ai.onnx") node.domain.clear();
    }
  }
  return {};
}

Status Parser::attribute(ProtobufReader reader, OnnxAttribute& attribute, int depth) {
  std::int64_t kind = 0;
  while (!reader.done()) {
    WEFT_TRY_ASSIGN(const ProtobufField field, reader.next());
    if (field.number == 1) {
      WEFT_TRY_ASSIGN(attribute.name, text(field));
    } else if (field.number == 2) {
      WEFT_TRY_ASSIGN(attribute.number, field.float32());
    } else if (field.number == 3) {
      WEFT_TRY_ASSIGN(attribute.integer, field.integer());
    } else if (field.number == 4) {
      WEFT_TRY_ASSIGN(attribute.text, text(field));
    } else if (field.number == 5) {
      WEFT_TRY_ASSIGN(const ProtobufReader part, inner(field));
      OnnxTensor constant;
      WEFT_TRY(tensor(part, constant));
      attribute.tensor = constant.value;
    } else if (field.number == 6) {
      WEFT_TRY_ASSIGN(const ProtobufReader part, inner(field));
      attribute.graph = std::make_shared<OnnxGraph>();
      WEFT_TRY(graph(part, *attribute.graph, depth + 1));
    } else if (field.number == 7) {
      WEFT_TRY(count(1 + field.bytes.size() / 8));
      WEFT_TRY(field.append_floats(attribute.numbers));
    } else if (field.number == 8) {
      WEFT_TRY(integers(field, attribute.integers));
    } else if (field.number == 9) {
      WEFT_TRY_ASSIGN(std::string value, text(field));
      attribute.texts.push_back(std::move(value));
    } else if (field.number == 20) {
      WEFT_TRY_ASSIGN(kind, field.integer());
    }
  }
  if (kind < 1 || kind > 8) {
    return invalid_argument(fmt::format(
        "onnx: attribute \"{}\": expected a kind of 1 to 8 (a number, text, tensor, graph or list "
        "of them), got {}",
        attribute.name, kind));
  }
  attribute.kind = static_cast<OnnxAttributeKind>(kind);
  const bool is_missing =
      (kind == 4 && !attribute.tensor.defined()) || (kind == 5 && attribute.graph == nullptr);
  if (is_missing) {
    return corrupt(
        fmt::format("onnx: attribute \"{}\": expected a value, got none", attribute.name));
  }
  return {};
}

Status Parser::value(ProtobufReader reader, OnnxValue& value) {
  while (!reader.done()) {
    WEFT_TRY_ASSIGN(const ProtobufField field, reader.next());
    if (field.number == 1) {
      WEFT_TRY_ASSIGN(value.name, text(field));
    } else if (field.number == 2) {
      WEFT_TRY_ASSIGN(ProtobufReader part, inner(field));
      while (!part.done()) {
        WEFT_TRY_ASSIGN(const ProtobufField type, part.next());
        if (type.number == 6) continue;  // a comment
        if (type.number != 1) {
          return invalid_argument(
              fmt::format("onnx: value \"{}\": expected a tensor, got a sequence, map or the like",
                          value.name));
        }
        WEFT_TRY_ASSIGN(const ProtobufReader tensor_type, inner(type));
        WEFT_TRY(value_type(tensor_type, value));
      }
    }
  }
  return {};
}

Status Parser::value_type(ProtobufReader reader, OnnxValue& value) {
  while (!reader.done()) {
    WEFT_TRY_ASSIGN(const ProtobufField field, reader.next());
    if (field.number == 1) {
      WEFT_TRY_ASSIGN(const std::int64_t type, field.integer());
      value.dtype = dtype_of_onnx(type);
    } else if (field.number == 2) {
      WEFT_TRY_ASSIGN(const ProtobufReader part, inner(field));
      value.shape.emplace();
      WEFT_TRY(shape(part, *value.shape));
    }
  }
  return {};
}

Status Parser::shape(ProtobufReader reader, std::vector<OnnxSize>& shape) {
  while (!reader.done()) {
    WEFT_TRY_ASSIGN(const ProtobufField field, reader.next());
    if (field.number != 1) continue;
    WEFT_TRY_ASSIGN(ProtobufReader part, inner(field));
    OnnxSize& size = shape.emplace_back();
    while (!part.done()) {
      WEFT_TRY_ASSIGN(const ProtobufField entry, part.next());
      if (entry.number == 1) {
        WEFT_TRY_ASSIGN(size.size, entry.integer());
      }
      if (entry.number == 2) {
        WEFT_TRY_ASSIGN(size.name, text(entry));
      }
    }
  }
  return {};
}

Status Parser::raw_tensor(ProtobufReader reader, RawTensor& raw) {
  while (!reader.done()) {
    WEFT_TRY_ASSIGN(const ProtobufField field, reader.next());
    if (field.number == 1) {
      WEFT_TRY(integers(field, raw.dims));
    } else if (field.number == 2) {
      WEFT_TRY_ASSIGN(raw.type, field.integer());
    } else if (field.number == 4) {
      WEFT_TRY(field.append_floats(raw.floats));
    } else if (field.number == 5 || field.number == 7) {
      WEFT_TRY(field.append_integers(raw.integers));
    } else if (field.number == 8) {
      WEFT_TRY_ASSIGN(raw.name, text(field));
    } else if (field.number == 9) {
      WEFT_TRY_ASSIGN(raw.raw, field.span());
    } else if (field.number == 10) {
      WEFT_TRY(field.append_doubles(raw.doubles));
    } else if (field.number == 13 || field.number == 14) {
      raw.is_elsewhere = raw.is_elsewhere || field.number == 13 || field.value == 1;
    }
  }
  return {};
}

// The values as the type says where they stand; `array` has the shape and type.
Status fill(Array& array, const RawTensor& raw) {
  const auto wrong = [&](std::size_t got) {
    return corrupt(fmt::format("onnx: tensor \"{}\": expected {} values of {} for {}, got {}",
                               raw.name, array.size(), type_name(raw.type),
                               to_string(array.shape()), got));
  };
  const auto count = static_cast<std::size_t>(array.size());
  if (raw.raw) {
    if (raw.raw->size() != array.size_bytes())
      return wrong(raw.raw->size() / size_of(array.dtype()));
    if (array.size() > 0) std::memcpy(array.raw_data(), raw.raw->data(), raw.raw->size());
    if (array.dtype() != DType::kBool) return {};
    auto* bytes = static_cast<std::uint8_t*>(array.raw_data());
    std::transform(bytes, bytes + count, bytes,
                   [](std::uint8_t byte) { return byte != 0 ? 1 : 0; });
    return {};
  }
  const DType dtype = array.dtype();
  if (dtype == DType::kF32 || dtype == DType::kF64) {
    const std::size_t got = dtype == DType::kF32 ? raw.floats.size() : raw.doubles.size();
    if (got != count) return wrong(got);
    if (count == 0) return {};
    const void* from = dtype == DType::kF32 ? static_cast<const void*>(raw.floats.data())
                                            : static_cast<const void*>(raw.doubles.data());
    std::memcpy(array.raw_data(), from, array.size_bytes());
    return {};
  }
  if (raw.integers.size() != count) return wrong(raw.integers.size());
  auto* to = static_cast<std::uint8_t*>(array.raw_data());
  const std::size_t size = size_of(dtype);
  for (std::size_t i = 0; i < count; ++i) {  // little-endian: the low bytes come first
    const std::int64_t value = dtype == DType::kBool ? raw.integers[i] != 0 : raw.integers[i];
    std::memcpy(to + i * size, &value, size);
  }
  return {};
}

// How many values there can be; so much memory is backed by bytes that were read.
std::size_t values_there(const RawTensor& raw, DType dtype) {
  if (raw.raw) return raw.raw->size() / size_of(dtype);
  return std::max({raw.floats.size(), raw.doubles.size(), raw.integers.size()});
}

Status Parser::tensor(ProtobufReader reader, OnnxTensor& tensor) {
  RawTensor raw;
  WEFT_TRY(raw_tensor(reader, raw));
  tensor.name = raw.name;
  const auto refuse = [&](const std::string& why) {
    return invalid_argument(fmt::format("onnx: tensor \"{}\": {}", raw.name, why));
  };
  const std::optional<DType> dtype = dtype_of_onnx(raw.type);
  if (!dtype) return refuse("expected a type that Weft has, got " + type_name(raw.type));
  if (raw.is_elsewhere) {
    return refuse(
        "its values lie in another file, which Weft does not read; save the model as one "
        "file (onnx.save without external data)");
  }
  if (raw.dims.size() > Dims::kDimsMax) {
    return refuse(fmt::format("expected at most {} axes, got {}", Dims::kDimsMax, raw.dims.size()));
  }
  const std::size_t most = values_there(raw, *dtype);
  std::uint64_t product = 1;  // of the axes that are not empty: the strides must fit too
  bool is_empty = false;
  for (const std::int64_t size : raw.dims) {
    is_empty = is_empty || size == 0;
    const std::uint64_t limit = std::uint64_t{1} << 40U;
    if (size < 0 || (size > 0 && product > limit / static_cast<std::uint64_t>(size))) {
      return corrupt(
          fmt::format("onnx: tensor \"{}\": expected a shape of at most 2^40 values, got "
                      "[{}]",
                      raw.name, fmt::join(raw.dims, ", ")));
    }
    if (size > 0) product *= static_cast<std::uint64_t>(size);
  }
  if (!is_empty && product != most) {
    return corrupt(fmt::format("onnx: tensor \"{}\": expected {} values for [{}], got {}", raw.name,
                               product, fmt::join(raw.dims, ", "), most));
  }
  tensor.value = Array::empty(Shape(std::span<const std::int64_t>(raw.dims)), *dtype);
  return fill(tensor.value, raw);
}

}  // namespace

const OnnxAttribute* OnnxNode::find(std::string_view attribute) const {
  const auto found = std::find_if(attributes.begin(), attributes.end(),
                                  [&](const OnnxAttribute& own) { return own.name == attribute; });
  return found == attributes.end() ? nullptr : &*found;
}

std::int64_t onnx_type(DType dtype) {
  return std::find_if(std::begin(kOnnxTypes), std::end(kOnnxTypes),
                      [&](const TypeNumber& type) { return type.dtype == dtype; })
      ->number;
}

std::optional<DType> dtype_of_onnx(std::int64_t type) {
  const auto* found = std::find_if(std::begin(kOnnxTypes), std::end(kOnnxTypes),
                                   [&](const TypeNumber& known) { return known.number == type; });
  if (found == std::end(kOnnxTypes)) return std::nullopt;
  return found->dtype;
}

Result<OnnxModel> parse_onnx(ByteSpan bytes) {
  OnnxModel model;
  Parser parser;
  WEFT_TRY(parser.model(ProtobufReader(bytes), model));
  return model;
}

Result<OnnxModel> read_onnx(const std::string& path) {
  WEFT_TRY_ASSIGN(const Bytes bytes, read_file(path, kOnnxBytesMax));
  Result<OnnxModel> model = parse_onnx(bytes);
  if (!model.ok()) return model.status().with_context(path);
  return model;
}

Result<OnnxTensor> parse_onnx_tensor(ByteSpan bytes) {
  OnnxTensor tensor;
  Parser parser;
  WEFT_TRY(parser.tensor(ProtobufReader(bytes), tensor));
  return tensor;
}

}  // namespace weft
