// What single operators compute is checked by ONNX's own tests (tests/onnx); here is the rest: the
// file, the runner, and models that are wrong.
#include "weft/io/onnx_import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/io/onnx/onnx_emitter.h"
#include "weft/io/onnx/onnx_operator.h"
#include "weft/io/protobuf_writer.h"

namespace weft::onnx_import_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// onnx.helper of ONNX 1.12 makes these bytes of leaky_relu(x w, 0.5) with w = [[1 2 3] [4 5 6]].
constexpr std::string_view kSmall =
    "08081204776566743aa6010a180a01780a01771201611a05666972737422064d61744d756c0a2a0a016112017"
    "91a067365636f6e6422094c65616b7952656c752a0f0a05616c706861150000003fa001011205736d616c6c2a"
    "230802080310014201774a180000803f0000004000004040000080400000a0400000c0405a180a017812130a1"
    "10801120d0a07120562617463680a02080262180a017912130a110801120d0a07120562617463680a02080342"
    "040a001011";

Bytes small_bytes() { return from_hex(kSmall).value(); }

std::string message_of(const Result<OnnxProgram>& program) { return program.status().message(); }

OnnxNode make_node(std::string op, std::vector<std::string> inputs,
                   std::vector<std::string> outputs, std::vector<OnnxAttribute> attributes = {}) {
  OnnxNode node;
  node.op = std::move(op);
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  node.attributes = std::move(attributes);
  return node;
}

OnnxValue make_value(std::string name, DType dtype = DType::kF32) {
  OnnxValue value;
  value.name = std::move(name);
  value.dtype = dtype;
  return value;
}

OnnxAttribute graph_attribute(std::string name, OnnxGraph graph) {
  OnnxAttribute attribute;
  attribute.name = std::move(name);
  attribute.kind = OnnxAttributeKind::kGraph;
  attribute.graph = std::make_shared<OnnxGraph>(std::move(graph));
  return attribute;
}

// x to y by `nodes`.
OnnxModel make_onnx(std::vector<OnnxNode> nodes) {
  OnnxModel model;
  model.graph.nodes = std::move(nodes);
  model.graph.inputs = {make_value("x")};
  model.graph.outputs = {make_value("y")};
  return model;
}

Result<std::vector<Array>> run(const OnnxModel& model, const Array& x) {
  WEFT_TRY_ASSIGN(const OnnxModel parsed, parse_onnx(onnx_bytes(model)));
  WEFT_TRY_ASSIGN(const OnnxProgram program, OnnxProgram::make(parsed));
  return program.run({x});
}

std::string failure(std::vector<OnnxNode> nodes, const Array& x) {
  const Result<std::vector<Array>> result = run(make_onnx(std::move(nodes)), x);
  EXPECT_EQ(result.ok() ? Code::kOk : result.status().code(), Code::kInvalidArgument);
  return result.status().message();
}

TEST(OnnxModel, HasTheBytesOfOnnxItself) {
  const OnnxModel model = parse_onnx(small_bytes()).value();
  EXPECT_EQ(model.producer, "weft");
  EXPECT_EQ(model.opset, 17);
  EXPECT_EQ(model.ir_version, 8);
  ASSERT_EQ(model.graph.nodes.size(), 2U);
  EXPECT_EQ(model.graph.nodes[1].op, "LeakyRelu");
  EXPECT_EQ(model.graph.nodes[1].find("alpha")->number, 0.5F);
  EXPECT_EQ((*model.graph.inputs[0].shape)[0].name, "batch");
  EXPECT_EQ((*model.graph.inputs[0].shape)[1].size, 2);
  EXPECT_EQ(to_hex(onnx_bytes(model)), kSmall);
}

TEST(OnnxProgram, RunsAModel) {
  const OnnxProgram program = OnnxProgram::make(parse_onnx(small_bytes()).value()).value();
  EXPECT_EQ(program.inputs().size(), 1U);
  const Array x = Array::from(std::vector<float>{1, 1, -1, 0}, {2, 2});
  const std::vector<Array> y = program.run({x}).value();
  EXPECT_THAT(y[0].to_vector<float>(), ElementsAre(5, 7, 9, -0.5, -1, -1.5));
  EXPECT_THAT(program.run({x.reshape({4, 1})}).status().message(),
              HasSubstr("input \"x\": expected f32 [batch, 2], got f32 [4, 1]"));
  EXPECT_THAT(program.run({x.to(DType::kF64)}).status().message(), HasSubstr("got f64"));
  EXPECT_THAT(program.run({}).status().message(), HasSubstr("expected 1 inputs, got 0"));
}

TEST(OnnxProgram, RunsBranchesAndLoopsWithValuesFromAround) {
  OnnxGraph add;
  add.nodes = {make_node("Add", {"x", "x"}, {"sum"})};
  add.outputs = {make_value("sum")};
  OnnxGraph square;
  square.nodes = {make_node("Mul", {"x", "x"}, {"product"})};
  square.outputs = {make_value("product")};
  OnnxModel branch = make_onnx(
      {make_node("ReduceSum", {"x"}, {"total"}, {onnx_attribute("keepdims", std::int64_t{0})}),
       make_node("Greater", {"total", "zero"}, {"up"}),
       make_node("If", {"up"}, {"y"},
                 {graph_attribute("then_branch", add), graph_attribute("else_branch", square)})});
  branch.graph.initializers = {{"zero", Array::zeros({})}};
  EXPECT_THAT(run(branch, Array::full({1}, 3.0)).value()[0].to_vector<float>(), ElementsAre(6));
  EXPECT_THAT(run(branch, Array::full({1}, -3.0)).value()[0].to_vector<float>(), ElementsAre(9));

  OnnxGraph body;
  body.inputs = {make_value("i", DType::kI64), make_value("go", DType::kBool), make_value("v")};
  body.nodes = {make_node("Add", {"v", "x"}, {"next"}), make_node("Identity", {"go"}, {"on"}),
                make_node("Identity", {"next"}, {"each"})};
  body.outputs = {make_value("on", DType::kBool), make_value("next"), make_value("each")};
  OnnxModel loop = make_onnx(
      {make_node("Loop", {"three", "", "x"}, {"last", "y"}, {graph_attribute("body", body)})});
  loop.graph.initializers = {{"three", Array::from(std::vector<std::int64_t>{3}, {})}};
  EXPECT_THAT(run(loop, Array::full({1}, 2.0)).value()[0].to_vector<float>(), ElementsAre(4, 6, 8));
  loop.graph.initializers[0].value = Array::from(std::vector<std::int64_t>{1 << 30}, {});
  EXPECT_THAT(run(loop, Array::full({1}, 2.0)).status().message(), HasSubstr("steps of loops"));
}

TEST(OnnxProgram, AnInputThatAnInitializerFillsIsNotAskedFor) {
  OnnxModel model = make_onnx({make_node("Add", {"x", "b"}, {"y"})});
  model.graph.inputs.push_back(make_value("b"));
  model.graph.initializers = {{"b", Array::full({1}, 10.0)}};
  EXPECT_THAT(run(model, Array::full({1}, 2.0)).value()[0].to_vector<float>(), ElementsAre(12));
}

TEST(OnnxProgram, NamesEveryOperatorThatIsMissing) {
  OnnxModel model = make_onnx({make_node("Nothing", {"x"}, {"a"}), make_node("Relu", {"a"}, {"b"}),
                               make_node("FFT", {"b"}, {"y"})});
  model.graph.nodes[2].domain = "com.example";
  EXPECT_THAT(message_of(OnnxProgram::make(model)), HasSubstr("got Nothing, com.example.FFT"));
  model = make_onnx({});
  model.opset = 30;
  EXPECT_THAT(message_of(OnnxProgram::make(model)), HasSubstr("of version 1 to 18, got 30"));
}

TEST(OnnxProgram, SaysWhichNodeFailsAndWhy) {
  const Array x = Array::full({2, 3}, 1.0);
  EXPECT_THAT(failure({make_node("Relu", {"z"}, {"y"})}, x),
              HasSubstr("onnx: node 0 Relu \"\" (byte "));
  EXPECT_THAT(failure({make_node("Relu", {"z"}, {"y"})}, x),
              HasSubstr("expected the value \"z\", got none so far"));
  EXPECT_THAT(failure({make_node("Relu", {""}, {"y"})}, x), HasSubstr("[Relu] expected input 0"));
  EXPECT_THAT(failure({make_node("Relu", {"x"}, {"y", "z"})}, x), HasSubstr("at most 1 outputs"));
  EXPECT_THAT(failure({make_node("MatMul", {"x", "x"}, {"y"})}, x), HasSubstr("[matmul]"));
  EXPECT_THAT(failure({make_node("Relu", {"x"}, {"other"})}, x),
              HasSubstr("output \"y\": expected a value, got none"));
  EXPECT_THAT(failure({make_node("Concat", {"x"}, {"y"})}, x), HasSubstr("attribute axis"));
  EXPECT_THAT(failure({make_node("Concat", {"x"}, {"y"}, {onnx_attribute("axis", 1.0)})}, x),
              HasSubstr("attribute axis of kind 2, got kind 1"));
  EXPECT_THAT(
      failure({make_node("Concat", {"x"}, {"y"}, {onnx_attribute("axis", std::int64_t{9})})}, x),
      HasSubstr("an axis in [-2, 2), got 9"));
}

TEST(OnnxProgram, RefusesResultsThatAreTooLarge) {
  const std::vector<std::int64_t> huge = {std::int64_t{1} << 31U, std::int64_t{1} << 31U};
  const auto with_shape = [&](OnnxNode node) {
    OnnxModel model = make_onnx({std::move(node)});
    model.graph.initializers = {{"shape", Array::from(huge, {2})}};
    return run(model, Array::full({1, 1}, 1.0)).status().message();
  };
  EXPECT_THAT(with_shape(make_node("ConstantOfShape", {"shape"}, {"y"})), HasSubstr("at most"));
  EXPECT_THAT(with_shape(make_node("Expand", {"x", "shape"}, {"y"})), HasSubstr("at most"));
  EXPECT_THAT(with_shape(make_node("Tile", {"x", "shape"}, {"y"})), HasSubstr("at most"));
}

// Within the limit of one result, and far beyond what the file and the input are worth.
TEST(OnnxProgram, RefusesMemoryThatNeitherFileNorInputIsWorth) {
  const auto with_size = [&](std::vector<OnnxNode> nodes, std::int64_t size, const Array& x) {
    OnnxModel model = make_onnx(std::move(nodes));
    model.graph.initializers = {{"size", Array::from(std::vector<std::int64_t>{size}, {1})},
                                {"depth", Array::from(std::vector<std::int64_t>{size}, {})},
                                {"zero", Array::from(std::vector<std::int64_t>{0}, {})},
                                {"one", Array::from(std::vector<std::int64_t>{1}, {})},
                                {"values", Array::from(std::vector<float>{0, 1}, {2})}};
    return run(model, x).status().message();
  };
  const Array x = Array::full({1}, 1.0);
  constexpr std::int64_t kMany = (std::int64_t{1} << 32U) - 8;
  const auto too_much = HasSubstr("[memory] expected at most 1073741824 bytes at once");
  EXPECT_THAT(with_size({make_node("ConstantOfShape", {"size"}, {"y"})}, kMany, x), too_much);
  EXPECT_THAT(with_size({make_node("Range", {"zero", "depth", "one"}, {"y"})}, kMany, x), too_much);
  EXPECT_THAT(with_size({make_node("HannWindow", {"depth"}, {"y"})}, kMany, x), too_much);
  // A view takes nothing; what is computed from it does.
  EXPECT_THAT(
      with_size({make_node("Expand", {"x", "size"}, {"a"}), make_node("Relu", {"a"}, {"y"})}, kMany,
                x),
      testing::AllOf(too_much, HasSubstr("node 1 Relu")));
  // A depth that the result does not show, since there is nothing to mark.
  const Array none = Array::zeros({0}, DType::kI64);
  OnnxModel one_hot = make_onnx({make_node("OneHot", {"x", "depth", "values"}, {"y"})});
  one_hot.graph.inputs = {make_value("x", DType::kI64)};
  one_hot.graph.initializers = {{"depth", Array::from(std::vector<std::int64_t>{kMany}, {})},
                                {"values", Array::from(std::vector<float>{0, 1}, {2})}};
  EXPECT_THAT(run(one_hot, none).status().message(), too_much);
}

TEST(OnnxProgram, ALargerModelMayTakeMoreAndItsOwnerSaysHowMuch) {
  OnnxModel model = make_onnx({make_node("ConstantOfShape", {"size"}, {"y"})});
  model.graph.initializers = {
      {"size", Array::from(std::vector<std::int64_t>{std::int64_t{1} << 30U}, {1})},
      {"other", Array::zeros({5 << 20})}};
  OnnxProgram program = *OnnxProgram::make(model);
  const Array x = Array::full({1}, 1.0);
  EXPECT_THAT(program.run({x}).status().message(),
              HasSubstr(std::to_string(64 * ((20 << 20) + 8 + 4)) + " bytes at once"));
  program.set_bytes_max(1000);
  EXPECT_THAT(program.run({x}).status().message(), HasSubstr("at most 1000 bytes"));
  // Each result twice as large as the one before.
  std::vector<OnnxNode> doubling;
  for (int i = 0; i < 40; ++i) {
    const std::string from = i == 0 ? "x" : "a" + std::to_string(i - 1);
    const std::string to = i == 39 ? "y" : "a" + std::to_string(i);
    doubling.push_back(
        make_node("Concat", {from, from}, {to}, {onnx_attribute("axis", std::int64_t{0})}));
  }
  OnnxProgram doubled = *OnnxProgram::make(make_onnx(doubling));
  doubled.set_bytes_max(1 << 20);
  EXPECT_THAT(doubled.run({x}).status().message(), HasSubstr("at most 1048576 bytes"));
}

TEST(OnnxModel, EveryTruncationIsRefusedOrAModel) {
  const Bytes whole = small_bytes();
  int refused = 0;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Result<OnnxModel> model = parse_onnx(ByteSpan(whole).first(size));
    if (model.ok()) continue;
    ++refused;
    EXPECT_EQ(model.status().code(), Code::kCorrupt) << size;
  }
  EXPECT_GT(refused, 150);
}

TEST(OnnxModel, NamesTheNodeTheTensorAndTheByte) {
  Bytes bytes = small_bytes();
  const std::size_t second = to_text(bytes).find(
      "\x0a\x2a\x0a\x01"
      "a");
  ASSERT_NE(second, std::string::npos);
  bytes[second + 3] = 0x7F;  // the length of the second node's first input
  EXPECT_THAT(parse_onnx(bytes).status().message(),
              testing::AllOf(HasSubstr("onnx: node 1"), HasSubstr("byte ")));
  OnnxModel model = make_onnx({});
  model.graph.initializers = {{"w", Array::full({2, 3}, 1.0)}};
  const std::string text = to_text(onnx_bytes(model));
  const std::size_t dims = text.find(std::string("\x08\x02\x08\x03", 4));
  ASSERT_NE(dims, std::string::npos);
  bytes = onnx_bytes(model);
  bytes[dims + 1] = 5;
  EXPECT_THAT(parse_onnx(bytes).status().message(),
              HasSubstr("tensor \"w\": expected 15 values for [5, 3], got 6"));
  bytes[dims + 5] = 8;  // the type: text
  EXPECT_THAT(parse_onnx(bytes).status().message(),
              HasSubstr("expected a type that Weft has, got string"));
  EXPECT_THAT(parse_onnx({}).status().message(), HasSubstr("expected a graph"));
}

TEST(OnnxModel, RefusesGraphsThatAreTooDeep) {
  OnnxGraph inner;
  for (int i = 0; i < kOnnxDepthMax + 2; ++i) {
    OnnxGraph outer;
    outer.nodes = {make_node("If", {"c"}, {"y"}, {graph_attribute("then_branch", inner)})};
    inner = outer;
  }
  OnnxModel model;
  model.graph = inner;
  EXPECT_THAT(parse_onnx(onnx_bytes(model)).status().message(), HasSubstr("graphs at most 8 deep"));
}

TEST(OnnxModel, ReadsTheValuesOfATensorFromAnyOfItsFields) {
  const auto tensor = [](std::int64_t type, const std::function<void(ProtobufWriter&)>& values) {
    ProtobufWriter out;
    out.integer(1, 2);
    out.integer(2, type);
    values(out);
    return parse_onnx_tensor(out.written());
  };
  const std::vector<std::int64_t> two = {1, -2};
  const auto integers = [&](std::uint32_t field) {
    return [&two, field](ProtobufWriter& out) { out.packed_integers(field, two); };
  };
  EXPECT_THAT(tensor(6, integers(5))->value.to_vector<std::int32_t>(), ElementsAre(1, -2));
  EXPECT_THAT(tensor(3, integers(5))->value.to_vector<std::int8_t>(), ElementsAre(1, -2));
  EXPECT_THAT(tensor(7, integers(7))->value.to_vector<std::int64_t>(), ElementsAre(1, -2));
  EXPECT_THAT(tensor(9, integers(5))->value.to_vector<bool>(), ElementsAre(true, true));
  const auto floats = [](ProtobufWriter& out) {
    out.float32(4, 0.5F);
    out.float32(4, 2.0F);
  };
  EXPECT_THAT(tensor(1, floats)->value.to_vector<float>(), ElementsAre(0.5F, 2.0F));
  const auto doubles = [](ProtobufWriter& out) {
    out.float64(10, 0.5);
    out.float64(10, 2.0);
  };
  EXPECT_THAT(tensor(11, doubles)->value.to_vector<double>(), ElementsAre(0.5, 2.0));
  EXPECT_THAT(tensor(1, integers(5)).status().message(), HasSubstr("got 0"));
  EXPECT_EQ(tensor(1, [](ProtobufWriter&) {}).status().code(), Code::kCorrupt);
  const auto elsewhere = [](ProtobufWriter& out) { out.integer(14, 1); };
  EXPECT_THAT(tensor(1, elsewhere).status().message(), HasSubstr("another file"));
}

TEST(OnnxOperators, AreSortedAndEachThereOnce) {
  const std::span<const OnnxOperator> all = onnx_operators();
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_LT(all[i - 1].name, all[i].name);
  const std::span<const OnnxRule> rules = onnx_rules();
  for (std::size_t i = 1; i < rules.size(); ++i) EXPECT_LT(rules[i - 1].op, rules[i].op);
  EXPECT_EQ(find_onnx_operator("Conv")->name, "Conv");
  EXPECT_EQ(find_onnx_operator("Convolve"), nullptr);
}

// Runs a node of whole numbers: x beside the initializer "by".
Result<std::vector<Array>> run_whole(const OnnxNode& node, const Array& x, const Array& by) {
  OnnxModel model = make_onnx({node});
  model.graph.inputs = {make_value("x", x.dtype())};
  model.graph.outputs = {make_value("y", x.dtype())};
  model.graph.initializers = {{"by", by}};
  return run(model, x);
}

TEST(OnnxProgram, ShiftsByAnyNumberOfPlaces) {
  const Array x = Array::full({4}, 200, DType::kU8);
  const Array by = Array::from(std::vector<double>{1, 8, 63, 64}, {4}).to(DType::kU8);
  const auto shifted = [&](const char* direction) {
    const OnnxNode node =
        make_node("BitShift", {"x", "by"}, {"y"}, {onnx_attribute("direction", direction)});
    return run_whole(node, x, by).value()[0].to_vector<std::uint8_t>();
  };
  EXPECT_THAT(shifted("LEFT"), ElementsAre(144, 0, 0, 0));
  EXPECT_THAT(shifted("RIGHT"), ElementsAre(100, 0, 0, 0));
}

TEST(OnnxProgram, DividesNoWholeNumberByZero) {
  const Array x = Array::full({1}, 7, DType::kI64);
  for (const char* op : {"Div", "Mod"}) {
    const auto result =
        run_whole(make_node(op, {"x", "by"}, {"y"}), x, Array::zeros({1}, DType::kI64));
    EXPECT_THAT(result.status().message(), HasSubstr("integers other than 0 to divide by")) << op;
  }
}

}  // namespace
}  // namespace weft::onnx_import_test
