// Writing ONNX; the numbers of the fields are those that onnx_parse.cpp reads.
#include "weft/base/file.h"
#include "weft/io/onnx_model.h"
#include "weft/io/protobuf_writer.h"

namespace weft {
namespace {

ProtobufWriter graph_message(const OnnxGraph& graph);

ProtobufWriter tensor_message(const std::string& name, const Array& value) {
  ProtobufWriter out;
  const Array dense = value.contiguous();
  for (const std::int64_t size : dense.shape()) out.integer(1, size);
  out.integer(2, onnx_type(dense.dtype()));
  if (!name.empty()) out.text(8, name);
  out.bytes(9, {static_cast<const std::uint8_t*>(dense.raw_data()), dense.size_bytes()});
  return out;
}

ProtobufWriter attribute_message(const OnnxAttribute& attribute) {
  ProtobufWriter out;
  out.text(1, attribute.name);
  switch (attribute.kind) {
    case OnnxAttributeKind::kFloat:
      out.float32(2, attribute.number);
      break;
    case OnnxAttributeKind::kInteger:
      out.integer(3, attribute.integer);
      break;
    case OnnxAttributeKind::kText:
      out.text(4, attribute.text);
      break;
    case OnnxAttributeKind::kTensor:
      out.message(5, tensor_message("", attribute.tensor));
      break;
    case OnnxAttributeKind::kGraph:
      out.message(6, graph_message(*attribute.graph));
      break;
    case OnnxAttributeKind::kFloats:
      for (const float number : attribute.numbers) out.float32(7, number);
      break;
    case OnnxAttributeKind::kIntegers:
      for (const std::int64_t integer : attribute.integers) out.integer(8, integer);
      break;
    case OnnxAttributeKind::kTexts:
      for (const std::string& text : attribute.texts) out.text(9, text);
      break;
  }
  out.integer(20, static_cast<std::int64_t>(attribute.kind));
  return out;
}

ProtobufWriter node_message(const OnnxNode& node) {
  ProtobufWriter out;
  for (const std::string& input : node.inputs) out.text(1, input);
  for (const std::string& output : node.outputs) out.text(2, output);
  if (!node.name.empty()) out.text(3, node.name);
  out.text(4, node.op);
  for (const OnnxAttribute& attribute : node.attributes) {
    out.message(5, attribute_message(attribute));
  }
  if (!node.domain.empty()) out.text(7, node.domain);
  return out;
}

ProtobufWriter value_message(const OnnxValue& value) {
  ProtobufWriter tensor_type;
  if (value.dtype) tensor_type.integer(1, onnx_type(*value.dtype));
  if (value.shape) {
    ProtobufWriter shape;
    for (const OnnxSize& size : *value.shape) {
      ProtobufWriter axis;
      if (size.size) {
        axis.integer(1, *size.size);
      } else if (!size.name.empty()) {
        axis.text(2, size.name);
      }
      shape.message(1, axis);
    }
    tensor_type.message(2, shape);
  }
  ProtobufWriter type;
  type.message(1, tensor_type);
  ProtobufWriter out;
  out.text(1, value.name);
  out.message(2, type);
  return out;
}

ProtobufWriter graph_message(const OnnxGraph& graph) {
  ProtobufWriter out;
  for (const OnnxNode& node : graph.nodes) out.message(1, node_message(node));
  out.text(2, graph.name);
  for (const OnnxTensor& tensor : graph.initializers) {
    out.message(5, tensor_message(tensor.name, tensor.value));
  }
  for (const OnnxValue& value : graph.inputs) out.message(11, value_message(value));
  for (const OnnxValue& value : graph.outputs) out.message(12, value_message(value));
  return out;
}

}  // namespace

Bytes onnx_bytes(const OnnxModel& model) {
  ProtobufWriter out;
  out.integer(1, model.ir_version);
  if (!model.producer.empty()) out.text(2, model.producer);
  out.message(7, graph_message(model.graph));
  ProtobufWriter opset;
  opset.text(1, "");
  opset.integer(2, model.opset);
  out.message(8, opset);
  for (const auto& [key, value] : model.metadata) {
    ProtobufWriter entry;
    entry.text(1, key);
    entry.text(2, value);
    out.message(14, entry);
  }
  return out.take();
}

Status write_onnx(const std::string& path, const OnnxModel& model) {
  return write_output_file(path, onnx_bytes(model));
}

}  // namespace weft
