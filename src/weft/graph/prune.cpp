// Dead nodes: those whose outputs nobody reads.
#include <algorithm>

#include "weft/graph/program.h"

namespace weft::internal {

int prune(Program& program) {
  std::vector<char> needed(program.buffers.size());
  for (std::size_t i = 0; i < needed.size(); ++i) {
    needed[i] = program.outlives(static_cast<int>(i)) ? 1 : 0;
  }
  std::vector<char> lives(program.nodes.size());
  for (std::size_t i = program.nodes.size(); i-- > 0;) {
    const GraphNode& node = program.nodes[i];
    const bool is_read = std::any_of(node.out.begin(), node.out.end(), [&](const Operand& operand) {
      return operand.buffer != kNoBuffer && needed[static_cast<std::size_t>(operand.buffer)] != 0;
    });
    if (!node.has_side_effect && !is_read) continue;
    lives[i] = 1;
    for (const Operand& operand : node.in) {
      if (operand.buffer != kNoBuffer) needed[static_cast<std::size_t>(operand.buffer)] = 1;
    }
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < program.nodes.size(); ++i) {
    if (lives[i] == 0) continue;
    if (kept != i) program.nodes[kept] = std::move(program.nodes[i]);
    ++kept;
  }
  const auto dropped = static_cast<int>(program.nodes.size() - kept);
  program.nodes.erase(program.nodes.begin() + static_cast<std::ptrdiff_t>(kept),
                      program.nodes.end());
  return dropped;
}

}  // namespace weft::internal
