#include "weft/nn/summary.h"

#include <algorithm>
#include <set>
#include <vector>

#include <fmt/format.h>

namespace weft {
namespace {

enum class Role : std::uint8_t { kTrained, kFrozen, kBuffer };

struct Row {
  std::string name;
  Array value;
  Role role;
};

std::vector<Row> rows_of(const Module& model) {
  std::set<std::string> trained;
  for (const NamedParameter& parameter : model.named_parameters()) {
    if (parameter.value.requires_grad()) trained.insert(parameter.name);
  }
  std::vector<Row> rows;
  for (const NamedValue& value : model.values()) {
    const Role role = value.kind == ParameterKind::kBuffer ? Role::kBuffer
                      : trained.count(value.name) != 0     ? Role::kTrained
                                                           : Role::kFrozen;
    rows.push_back({value.name, value.value, role});
  }
  return rows;
}

const char* note_of(Role role) {
  return role == Role::kFrozen ? "frozen" : role == Role::kBuffer ? "buffer" : "";
}

ParameterCounts count(const std::vector<Row>& rows) {
  ParameterCounts counts;
  for (const Row& row : rows) {
    std::int64_t& total = row.role == Role::kTrained  ? counts.trained
                          : row.role == Role::kFrozen ? counts.frozen
                                                      : counts.buffers;
    total += row.value.size();
  }
  return counts;
}

}  // namespace

ParameterCounts count_parameters(const Module& model) { return count(rows_of(model)); }

std::string summary(const Module& model) {
  const std::vector<Row> rows = rows_of(model);
  std::size_t name_width = 4;
  std::size_t shape_width = 5;
  for (const Row& row : rows) {
    name_width = std::max(name_width, row.name.size());
    shape_width = std::max(shape_width, to_string(row.value.shape()).size());
  }
  std::string text =
      fmt::format("{:<{}}  {:<{}}  {:>12}\n", "name", name_width, "shape", shape_width, "elements");
  for (const Row& row : rows) {
    const std::string line =
        fmt::format("{:<{}}  {:<{}}  {:>12}  {}", row.name, name_width,
                    to_string(row.value.shape()), shape_width, row.value.size(), note_of(row.role));
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  const ParameterCounts counts = count(rows);
  const double mebibytes = static_cast<double>(counts.trained + counts.frozen + counts.buffers) *
                           sizeof(float) / (1024.0 * 1024.0);
  return text + fmt::format("{} trained, {} frozen, {} in buffers: {:.1f} MiB\n", counts.trained,
                            counts.frozen, counts.buffers, mebibytes);
}

}  // namespace weft
