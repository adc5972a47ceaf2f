// Rules for what works on sequences: embeddings, attention, recurrent layers. The number of tokens
// is that of the sample.
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "weft/io/onnx/onnx_emitter.h"

namespace weft {
namespace {

using Integers = std::vector<std::int64_t>;

void emit_embedding(OnnxEmitter& out) {
  const std::string tokens = out.value_of(out.op().find("tokens")->array);
  out.result(out.node("Gather", {out.in(0), tokens}));
}

// Pairs (x[i], x[i + D / 2]) turned by the angle of place and i.
void emit_rotary(OnnxEmitter& out) {
  const Shape& shape = out.op().inputs[0].shape();  // [B, T, heads, D]
  const std::int64_t half = shape[3] / 2;
  Array cosines = Array::empty({shape[1], 1, half});
  Array sines = Array::empty({shape[1], 1, half});
  const double direction = out.number("inverse") != 0.0 ? -1.0 : 1.0;
  for (std::int64_t i = 0; i < shape[1] * half; ++i) {
    const std::int64_t token = i / half;
    const double place = out.number("first_place") + static_cast<double>(token);
    const double exponent = -2.0 * static_cast<double>(i % half) / static_cast<double>(shape[3]);
    const double angle = direction * place * std::pow(out.number("base"), exponent);
    cosines.data<float>()[i] = static_cast<float>(std::cos(angle));
    sines.data<float>()[i] = static_cast<float>(std::sin(angle));
  }
  const std::string c = out.constant(cosines);
  const std::string s = out.constant(sines);
  const std::string x = out.in(0);
  const std::string a = out.slice(x, 3, 0, half);
  const std::string b = out.slice(x, 3, half, shape[3]);
  const std::string first = out.node("Sub", {out.node("Mul", {a, c}), out.node("Mul", {b, s})});
  const std::string second = out.node("Add", {out.node("Mul", {a, s}), out.node("Mul", {b, c})});
  out.result(out.node("Concat", {first, second}, {onnx_attribute("axis", std::int64_t{3})}));
}

struct AttentionSizes {
  std::int64_t heads;
  std::int64_t kv_heads;
  std::int64_t queries;
  std::int64_t keys;
  std::int64_t width;
};

// 0 where a key may be read, else -infinity, [queries, keys].
Array causal_mask(const AttentionSizes& sizes, std::int64_t offset) {
  Array mask = Array::zeros({sizes.queries, sizes.keys});
  for (std::int64_t i = 0; i < sizes.queries; ++i) {
    for (std::int64_t j = i + offset + 1; j < sizes.keys; ++j) {
      mask.data<float>()[i * sizes.keys + j] = -std::numeric_limits<float>::infinity();
    }
  }
  return mask;
}

// [B, kv_heads, keys, D] with each head as often as queries share it.
std::string shared_heads(OnnxEmitter& out, const std::string& x, const AttentionSizes& sizes) {
  const std::int64_t group = sizes.heads / sizes.kv_heads;
  if (group == 1) return x;
  const std::string wide = out.node("Unsqueeze", {x, out.integers_constant({2})});
  const std::string repeated =
      out.node("Expand", {wide, out.integers_constant({1, 1, group, 1, 1})});
  return out.reshape(repeated, {0, sizes.heads, sizes.keys, sizes.width});
}

// softmax(q k^T scale + mask) v of [B, heads, T, D].
std::string attend(OnnxEmitter& out, const std::array<std::string, 3>& qkv,
                   const AttentionSizes& sizes) {
  if (out.op().find("mask")->array.defined()) out.fail("expected attention without a mask");
  if (out.number("dropout") != 0.0) out.fail("expected attention in evaluation mode");
  const double given = out.number("scale");
  const double scale = given != 0.0 ? given : 1.0 / std::sqrt(static_cast<double>(sizes.width));
  const std::string k = out.permute(shared_heads(out, qkv[1], sizes), {0, 1, 3, 2});
  std::string scores = out.node("Mul", {out.node("MatMul", {qkv[0], k}), out.scalar(scale)});
  if (out.number("causal") != 0.0) {
    const auto offset = static_cast<std::int64_t>(out.number("causal_offset"));
    scores = out.node("Add", {scores, out.constant(causal_mask(sizes, offset))});
  }
  const std::string shares =
      out.node("Softmax", {scores}, {onnx_attribute("axis", std::int64_t{-1})});
  return out.node("MatMul", {shares, shared_heads(out, qkv[2], sizes)});
}

void emit_attention(OnnxEmitter& out) {
  const Shape& q = out.op().inputs[0].shape();
  const Shape& k = out.op().inputs[1].shape();
  out.result(attend(out, {out.in(0), out.in(1), out.in(2)}, {q[1], k[1], q[2], k[2], q[3]}));
}

// qkv [B, T, (heads + 2 kv_heads) D] to [B, T, heads D].
void emit_packed_attention(OnnxEmitter& out) {
  const Integers heads = out.integers("heads");
  const Shape& shape = out.op().inputs[0].shape();
  const std::int64_t width = shape[2] / (heads[0] + 2 * heads[1]);
  const AttentionSizes sizes = {heads[0], heads[1], shape[1], shape[1], width};
  const std::string qkv = out.in(0);
  std::int64_t begin = 0;
  const auto part = [&](std::int64_t count) {
    const std::string own = out.slice(qkv, 2, begin, begin + count * width);
    begin += count * width;
    return out.permute(out.reshape(own, {0, shape[1], count, width}), {0, 2, 1, 3});
  };
  const std::string q = part(heads[0]);
  const std::string k = part(heads[1]);
  const std::string v = part(heads[1]);
  const std::string y = out.permute(attend(out, {q, k, v}, sizes), {0, 2, 1, 3});
  out.result(out.reshape(y, {0, shape[1], heads[0] * width}));
}

// The blocks of rows in ONNX's order, and a first axis for the direction.
std::string reordered(OnnxEmitter& out, const std::vector<std::string>& parts, std::int64_t width,
                      const Integers& order) {
  std::vector<std::string> blocks;
  for (const std::string& part : parts) {
    for (const std::int64_t gate : order) {
      blocks.push_back(out.slice(part, 0, gate * width, (gate + 1) * width));
    }
  }
  const std::string all =
      out.node("Concat", std::move(blocks), {onnx_attribute("axis", std::int64_t{0})});
  return out.node("Unsqueeze", {all, out.integers_constant({0})});
}

// Weft has PyTorch's gates, i f g o and r z n; ONNX i o f g and z r n.
void emit_recurrent(OnnxEmitter& out, const char* type, const Integers& order) {
  if (out.op().find("lengths")->array.defined()) {
    out.fail(fmt::format("expected {} over whole sequences, without lengths", type));
  }
  const std::int64_t width = out.op().inputs[2].dim(1);
  std::vector<std::string> inputs = {out.in(0), reordered(out, {out.in(1)}, width, order),
                                     reordered(out, {out.in(2)}, width, order)};
  const bool has_state = out.has(5) || out.has(6);
  if (out.has(3)) {
    inputs.push_back(reordered(out, {out.in(3), out.in(4)}, width, order));
  } else if (has_state) {
    inputs.emplace_back();
  }
  if (has_state) {
    const std::string direction = out.integers_constant({0});
    inputs.emplace_back();  // lengths
    inputs.push_back(out.has(5) ? out.node("Unsqueeze", {out.in(5), direction}) : "");
    if (out.has(6)) inputs.push_back(out.node("Unsqueeze", {out.in(6), direction}));
  }
  OnnxEmitter::Attributes attributes = {
      onnx_attribute("hidden_size", width),
      onnx_attribute("direction", out.number("reverse") != 0.0 ? "reverse" : "forward")};
  if (order.size() == 3)
    attributes.push_back(onnx_attribute("linear_before_reset", std::int64_t{1}));
  if (order.size() == 1 && out.number("relu") != 0.0) {
    OnnxAttribute activations;
    activations.name = "activations";
    activations.kind = OnnxAttributeKind::kTexts;
    activations.texts = {"Relu"};
    attributes.push_back(std::move(activations));
  }
  const bool with_state = out.number("with_state") != 0.0;
  const std::string y = out.node(type, std::move(inputs), std::move(attributes));
  const std::string steps =
      out.node("Squeeze", {y, out.integers_constant({1})});  // [T, 1, N, width]
  if (!with_state) return out.result(steps);
  // [T, N, width], and behind it the last hidden state and an LSTM's last cell, [1, N, width].
  std::vector<std::string> parts = {steps, out.one_more_output(y, 1)};
  if (order.size() == 4) parts.push_back(out.one_more_output(y, 2));
  out.result(out.node("Concat", std::move(parts), {onnx_attribute("axis", std::int64_t{0})}));
}
void emit_gru(OnnxEmitter& out) { emit_recurrent(out, "GRU", {1, 0, 2}); }
void emit_lstm(OnnxEmitter& out) { emit_recurrent(out, "LSTM", {0, 3, 1, 2}); }
void emit_rnn(OnnxEmitter& out) { emit_recurrent(out, "RNN", {0}); }

constexpr OnnxRule kSequenceRules[] = {
    {"attention", emit_attention},
    {"embedding", emit_embedding},
    {"gru", emit_gru},
    {"lstm", emit_lstm},
    {"packed_attention", emit_packed_attention},
    {"rnn", emit_rnn},
    {"rotary", emit_rotary},
};

}  // namespace

std::span<const OnnxRule> onnx_sequence_rules() { return kSequenceRules; }

}  // namespace weft
