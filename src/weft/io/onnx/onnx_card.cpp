#include "weft/io/onnx_card.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "weft/base/rng.h"
#include "weft/data/tokenizer.h"
#include "weft/io/onnx_export.h"

namespace weft {
namespace {

constexpr const char* kInput = "input";
constexpr const char* kTokens = "tokens";
constexpr const char* kPrepared = "weft.prepared";  // what the module takes
constexpr const char* kScaled = "weft.scaled";      // what it gives where values are learned
constexpr std::int64_t kCheckedRows = 3;
constexpr float kNoWord = -1.0F;

// Adds nodes, each after the one before it.
class GraphPart {
 public:
  explicit GraphPart(std::string from) : last_(std::move(from)) {}

  const std::string& last() const { return last_; }
  void constant(const std::string& name, Array value) {
    initializers_.push_back({"weft." + name, std::move(value)});
  }
  // OP(last, constants...), or with `swapped` OP(constant, last).
  void node(const char* op, const std::vector<std::string>& constants, bool swapped = false) {
    OnnxNode node;
    node.op = op;
    node.name = fmt::format("weft.{}_{}", op, nodes_.size());
    for (const std::string& constant : constants) node.inputs.push_back("weft." + constant);
    node.inputs.insert(swapped ? node.inputs.end() : node.inputs.begin(), last_);
    node.outputs = {node.name + ".out"};
    last_ = node.outputs.front();
    nodes_.push_back(std::move(node));
  }
  void add(OnnxNode node) {
    last_ = node.outputs.front();
    nodes_.push_back(std::move(node));
  }
  void name_result(const std::string& name) {
    nodes_.back().outputs = {name};
    last_ = name;
  }
  std::vector<OnnxNode>& nodes() { return nodes_; }
  void move_constants(OnnxGraph& graph) {
    for (OnnxTensor& each : initializers_) graph.initializers.push_back(std::move(each));
  }

 private:
  std::string last_;
  std::vector<OnnxNode> nodes_;
  std::vector<OnnxTensor> initializers_;
};

// Pixels from 0 to 255 to what convert_image() makes of them.
void add_pixels(const DataDescription& data, GraphPart& part) {
  std::vector<float> scale;
  std::vector<float> shift;
  const auto of = [](const std::vector<double>& all, std::size_t c) {
    return all[all.size() == 1 ? 0 : c];
  };
  for (std::size_t c = 0; c < static_cast<std::size_t>(data.channels); ++c) {
    scale.push_back(static_cast<float>(1.0 / (255.0 * of(data.deviation, c))));
    shift.push_back(static_cast<float>(-of(data.mean, c) / of(data.deviation, c)));
  }
  part.constant("scale", Array::from(scale, {1, data.channels, 1, 1}));
  part.constant("shift", Array::from(shift, {1, data.channels, 1, 1}));
  part.node("Mul", {"scale"});
  part.node("Add", {"shift"});
}

// What encode_rows() computes. The mean is taken off in two parts, so that a large one costs no
// bits of the value.
struct RowConstants {
  std::vector<float> missing;       // one a column
  std::vector<std::int64_t> place;  // from here on one a feature: its column
  std::vector<float> mean;
  std::vector<float> mean_rest;
  std::vector<float> scale;  // 0 for words
  std::vector<float> word;   // 1 for words
};

RowConstants row_constants(const DataDescription& data) {
  RowConstants all;
  for (std::size_t i = 0; i < data.columns.size(); ++i) {
    const ColumnDescription& column = data.columns[i];
    const bool words = !column.words.empty();
    all.missing.push_back(words ? kNoWord : static_cast<float>(column.mean));
    for (std::int64_t feature = 0; feature < column.features(); ++feature) {
      const double mean = words ? static_cast<double>(feature) : column.mean;
      const auto large = static_cast<float>(mean);
      all.place.push_back(static_cast<std::int64_t>(i));
      all.mean.push_back(large);
      all.mean_rest.push_back(static_cast<float>(mean - static_cast<double>(large)));
      all.scale.push_back(words ? 0.0F : static_cast<float>(1.0 / column.deviation));
      all.word.push_back(words ? 1.0F : 0.0F);
    }
  }
  return all;
}

OnnxNode node_of(const char* op, std::vector<std::string> inputs, const std::string& output) {
  OnnxNode node;
  node.op = op;
  node.name = output + "_node";
  node.inputs = std::move(inputs);
  node.outputs = {output};
  return node;
}

void add_rows(const DataDescription& data, GraphPart& part) {
  const RowConstants all = row_constants(data);
  const auto columns = static_cast<std::int64_t>(all.missing.size());
  const auto features = static_cast<std::int64_t>(all.place.size());
  part.constant("missing", Array::from(all.missing, {1, columns}));
  part.constant("place", Array::from(all.place, {features}));
  part.constant("mean", Array::from(all.mean, {1, features}));
  part.constant("mean_rest", Array::from(all.mean_rest, {1, features}));
  part.constant("scale", Array::from(all.scale, {1, features}));
  part.add(node_of("IsNaN", {kInput}, "weft.is_missing"));
  part.add(node_of("Where", {"weft.is_missing", "weft.missing", kInput}, "weft.filled"));
  OnnxNode gather = node_of("Gather", {"weft.filled", "weft.place"}, "weft.spread");
  OnnxAttribute& axis = gather.attributes.emplace_back();
  axis.name = "axis";
  axis.integer = 1;
  part.add(std::move(gather));
  part.node("Sub", {"mean"});
  part.node("Sub", {"mean_rest"});
  const std::string apart = part.last();
  part.node("Mul", {"scale"});
  if (std::count(all.word.begin(), all.word.end(), 1.0F) == 0) return;
  // A feature of a word is 1 where the row has that word's number: max(0, 1 - |apart|).
  const std::string numbers = part.last();
  part.constant("word", Array::from(all.word, {1, features}));
  part.constant("one", Array::full({1, 1}, 1.0));
  part.add(node_of("Abs", {apart}, "weft.off"));
  part.node("Sub", {"one"}, true);
  part.node("Relu", {});
  part.node("Mul", {"word"});
  part.add(node_of("Add", {numbers, part.last()}, "weft.encoded"));
}

void add_values(const DataDescription& data, GraphPart& part) {
  std::vector<float> mean;
  std::vector<float> deviation;
  for (const TargetDescription& target : data.target_columns) {
    mean.push_back(static_cast<float>(target.mean));
    deviation.push_back(static_cast<float>(target.deviation));
  }
  const auto targets = static_cast<std::int64_t>(mean.size());
  part.constant("target_mean", Array::from(mean, {1, targets}));
  part.constant("target_deviation", Array::from(deviation, {1, targets}));
  part.node("Mul", {"target_deviation"});
  part.node("Add", {"target_mean"});
  part.name_result("values");
}

// [rows, ...] as the module takes them.
Array module_sample(const LoadedModel& loaded, std::int64_t rows) {
  const ModelOptions& options = loaded.options;
  if (loaded.is_text()) return Array::zeros({rows, options.context}, DType::kI64);
  if (loaded.data.kind == DatasetKind::kRows) return Array::zeros({rows, loaded.data.features()});
  return Array::zeros({rows, options.channels, options.height, options.width});
}

// Inputs of the kind that files hold, drawn from `seed`; f32 or i64.
Array drawn_inputs(const LoadedModel& loaded, std::int64_t rows, std::uint64_t seed) {
  Rng rng(seed);
  Array sample = module_sample(loaded, rows);
  if (loaded.is_text()) {
    for (std::int64_t& token : sample.flat<std::int64_t>()) {
      token =
          static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(loaded.data.vocabulary)));
    }
    return sample;
  }
  if (loaded.data.kind == DatasetKind::kImages) {
    for (float& pixel : sample.flat<float>()) pixel = static_cast<float>(rng.below(256));
    return sample;
  }
  const std::vector<ColumnDescription>& columns = loaded.data.columns;
  Array values = Array::empty({rows, static_cast<std::int64_t>(columns.size())});
  std::size_t place = 0;
  for (float& value : values.flat<float>()) {
    const ColumnDescription& column = columns[place++ % columns.size()];
    value = column.words.empty() ? static_cast<float>(column.mean + column.deviation * rng.normal())
                                 : static_cast<float>(rng.below(column.words.size()));
    if (rng.chance(0.1)) value = std::numeric_limits<float>::quiet_NaN();
  }
  return values;
}

Result<Array> said_of(const LoadedModel& loaded, const Array& inputs) {
  if (loaded.data.kind != DatasetKind::kImages) return loaded.predict(inputs);
  return loaded.predict(inputs.to(DType::kU8));
}

void describe(const LoadedModel& loaded, OnnxModel& onnx) {
  onnx.metadata["weft.model"] = loaded.architecture;
  onnx.metadata["weft.step"] = std::to_string(loaded.step);
  onnx.metadata["weft.data"] = description_text(loaded.data);
  if (!loaded.data.class_names.empty()) {
    onnx.metadata["weft.classes"] = fmt::format("{}", fmt::join(loaded.data.class_names, "\n"));
  }
  if (loaded.data.tokenizer != nullptr) {
    onnx.metadata["weft.tokenizer"] = loaded.data.tokenizer->file_text();
  }
}

}  // namespace

Result<OnnxModel> export_loaded(const LoadedModel& loaded) {
  const DataDescription& data = loaded.data;
  OnnxExportOptions options;
  options.name = loaded.architecture;
  options.input = loaded.is_text() ? kTokens : kPrepared;
  options.output = data.has_values() ? kScaled : "logits";
  WEFT_TRY_ASSIGN(OnnxModel onnx, export_onnx(*loaded.model, module_sample(loaded, 1), options));
  if (!loaded.is_text()) {
    GraphPart before(kInput);
    data.kind == DatasetKind::kRows ? add_rows(data, before) : add_pixels(data, before);
    before.name_result(kPrepared);
    before.move_constants(onnx.graph);
    onnx.graph.nodes.insert(onnx.graph.nodes.begin(), before.nodes().begin(), before.nodes().end());
    OnnxValue& input = onnx.graph.inputs.front();
    input.name = kInput;
    if (data.kind == DatasetKind::kRows && input.shape && input.shape->size() == 2) {
      input.shape->back().size = static_cast<std::int64_t>(data.columns.size());
    }
  }
  if (data.has_values()) {
    GraphPart after(kScaled);
    add_values(data, after);
    after.move_constants(onnx.graph);
    onnx.graph.nodes.insert(onnx.graph.nodes.end(), after.nodes().begin(), after.nodes().end());
    onnx.graph.outputs.front().name = after.last();
  }
  describe(loaded, onnx);
  return onnx;
}

Result<double> onnx_difference(const LoadedModel& loaded, const OnnxModel& onnx,
                               std::uint64_t seed) {
  const Array inputs = drawn_inputs(loaded, kCheckedRows, seed);
  WEFT_TRY_ASSIGN(const Array want, said_of(loaded, inputs));
  return onnx_difference(onnx, inputs, want);
}

}  // namespace weft
