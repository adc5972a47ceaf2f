// Graphs and traces as text, dot and JSON.
#include <algorithm>
#include <map>
#include <string>

#include <fmt/format.h>

#include "weft/graph/graph.h"
#include "weft/graph/program.h"
#include "weft/graph/sub_graph.h"

namespace weft {
namespace {

using internal::Buffer;
using internal::BufferKind;
using internal::GraphNode;
using internal::kNoBuffer;
using internal::Operand;
using internal::Program;

const char* prefix_of(BufferKind kind) {
  switch (kind) {
    case BufferKind::kExternal:
      return "outer";
    case BufferKind::kConstant:
      return "constant";
    case BufferKind::kKept:
      return "result";
    case BufferKind::kPlanned:
      break;
  }
  return "";
}

std::string name_of(const Program& program, const Operand& operand) {
  for (const internal::OperandName& named : program.names) {
    const Operand& place = named.operand;
    if (place.buffer == operand.buffer && place.low <= operand.low && operand.high <= place.high) {
      return named.name;
    }
  }
  const Buffer& buffer = program.buffers[static_cast<std::size_t>(operand.buffer)];
  const std::string at = operand.low > 0 ? fmt::format("+{}", operand.low) : "";
  return fmt::format("%{}{}{}", prefix_of(buffer.kind), operand.buffer, at);
}

std::string type_of(const Array& array) {
  return fmt::format("{}{}", to_string(array.dtype()), to_string(array.shape()));
}

std::string describe(const Program& program, const Operand& operand) {
  if (operand.buffer == kNoBuffer) return "none";
  return name_of(program, operand) + " " + type_of(operand.array);
}

std::string list(const Program& program, const std::vector<Operand>& operands) {
  std::string text;
  for (const Operand& operand : operands) {
    if (!text.empty()) text += ", ";
    text += describe(program, operand);
  }
  return text;
}

// A line for each node; the graphs inside of one follow it, further in.
std::string text_of(const Program& program, std::size_t depth) {
  std::string text;
  for (const GraphNode& node : program.nodes) {
    const std::string results = list(program, node.out);
    text += fmt::format("{}{}{}{}({})\n", std::string(4 * depth, ' '), results,
                        results.empty() ? "" : " = ", node.name, list(program, node.in));
    const auto* const control = dynamic_cast<const internal::ControlBody*>(node.body.get());
    if (control == nullptr) continue;
    std::size_t number = 0;
    for (const std::shared_ptr<internal::SubGraph>& graph : control->graphs()) {
      text += fmt::format("{}  graph {}:\n", std::string(4 * depth, ' '), number++);
      text += text_of(graph->program(), depth + 1);
    }
  }
  return text;
}

// For a quoted string of JSON or dot.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    const bool is_control = static_cast<unsigned char>(c) < 0x20;
    result += is_control ? ' ' : c;
  }
  return result;
}

}  // namespace

std::string Graph::to_text() const { return text_of(*program_, 0); }

std::string Graph::to_dot() const {
  std::string text = "digraph weft {\n  node [shape=box, fontname=\"sans-serif\"];\n";
  std::vector<std::pair<const Operand*, std::size_t>> written;  // the latest last
  std::map<std::string, std::string> sources;                   // dot's name by ours
  const auto writer_of = [&](const Operand& operand) {
    for (auto it = written.rbegin(); it != written.rend(); ++it) {
      if (it->first->overlaps(operand)) return fmt::format("n{}", it->second);
    }
    const std::string name = name_of(*program_, operand);
    const auto [source, is_new] = sources.try_emplace(name, fmt::format("s{}", sources.size()));
    if (is_new) {
      text += fmt::format("  {} [label=\"{}\", shape=ellipse];\n", source->second, escaped(name));
    }
    return source->second;
  };
  for (std::size_t i = 0; i < program_->nodes.size(); ++i) {
    const GraphNode& node = program_->nodes[i];
    text += fmt::format("  n{} [label=\"{}\"];\n", i, escaped(node.name));
    for (const Operand& operand : node.in) {
      if (operand.buffer == kNoBuffer) continue;
      const std::string from = writer_of(operand);
      text += fmt::format("  {} -> n{} [label=\"{}\"];\n", from, i, type_of(operand.array));
    }
    for (const Operand& operand : node.out) {
      if (operand.buffer != kNoBuffer) written.emplace_back(&operand, i);
    }
  }
  std::map<std::string, std::size_t> results;
  for (const auto& [operand, node] : written) {
    if (program_->outlives(operand->buffer)) results[name_of(*program_, *operand)] = node;
  }
  for (const auto& [name, node] : results) {
    text += fmt::format("  \"{0}\" [shape=ellipse];\n  n{1} -> \"{0}\";\n", escaped(name), node);
  }
  return text + "}\n";
}

std::string to_chrome_trace(const GraphTrace& trace) {
  std::string text = "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [";
  const char* separator = "\n";
  for (const TraceEntry& entry : trace) {
    text += fmt::format(
        "{}{{\"name\": \"{}\", \"cat\": \"op\", \"ph\": \"X\", \"pid\": 1, \"tid\": 1, "
        "\"ts\": {:.3f}, \"dur\": {:.3f}, \"args\": {{\"result\": \"{}\"}}}}",
        separator, escaped(entry.name), entry.start_us, entry.duration_us, escaped(entry.result));
    separator = ",\n";
  }
  return text + "\n]}\n";
}

std::string to_table(const GraphTrace& trace) {
  struct Total {
    int count = 0;
    double us = 0;
  };
  std::map<std::string, Total> totals;
  double all = 0;
  for (const TraceEntry& entry : trace) {
    Total& total = totals[entry.name];
    ++total.count;
    total.us += entry.duration_us;
    all += entry.duration_us;
  }
  std::vector<std::pair<std::string, Total>> rows(totals.begin(), totals.end());
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second.us > b.second.us; });
  std::string text = fmt::format("{:>10}  {:>6}  {:>6}  {}\n", "us", "share", "count", "node");
  for (const auto& [name, total] : rows) {
    text += fmt::format("{:>10.1f}  {:>5.1f}%  {:>6}  {}\n", total.us,
                        all > 0 ? 100.0 * total.us / all : 0.0, total.count, name);
  }
  return text;
}

}  // namespace weft
