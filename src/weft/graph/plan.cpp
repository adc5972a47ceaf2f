// Places for buffers in one block of memory, so that those alive at once do not overlap.
//
// IMPLEMENTATION: Pisarchyk, Lee, "Efficient memory management for deep neural net inference",
// arXiv:2001.03288, 2020, "greedy by size for offset calculation": the largest buffer first, each
// in the smallest gap that holds it among the placed ones whose lifetimes meet its own. O(n^2) in
// the number of buffers, once a capture. Before that, the result of an elementwise node takes over
// the memory of an operand that ends there.
#include <algorithm>
#include <limits>
#include <numeric>

#include "weft/graph/program.h"

namespace weft::internal {
namespace {

constexpr int kNever = std::numeric_limits<int>::max();

struct Lifetime {
  int first = kNever;
  int last = -1;
  std::size_t bytes = 0;
  int joined = -1;  // the buffer whose memory it shares
};

std::size_t aligned(std::int64_t bytes) {
  const auto size = static_cast<std::size_t>(bytes);
  return (size + Storage::kAlignment - 1) / Storage::kAlignment * Storage::kAlignment;
}

class Planner {
 public:
  explicit Planner(Program& program) : program_(program), lifetimes_(program.buffers.size()) {
    for (std::size_t i = 0; i < lifetimes_.size(); ++i) {
      lifetimes_[i].bytes = aligned(program.buffers[i].high);
    }
    const int count = static_cast<int>(program.nodes.size());
    for (int i = 0; i < count; ++i) {
      const GraphNode& node = program.nodes[static_cast<std::size_t>(i)];
      for (const Operand& operand : node.in) touch(operand, i);
      for (const Operand& operand : node.out) touch(operand, i);
    }
  }

  void join_in_place() {
    for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
      for (const InPlacePair& pair : program_.nodes[i].in_place) {
        try_join(program_.nodes[i], pair, static_cast<int>(i));
      }
    }
  }

  int joins() const { return joins_; }

  // Without `reuse`, one after the other.
  std::size_t place(bool reuse) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < lifetimes_.size(); ++i) {
      const bool is_own = lifetimes_[i].joined < 0 && lifetimes_[i].last >= 0;
      if (is_own && !program_.outlives(static_cast<int>(i))) order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return lifetimes_[a].bytes > lifetimes_[b].bytes;
    });
    std::size_t end = 0;
    std::vector<std::size_t> placed;  // by offset
    for (const std::size_t buffer : order) {
      const std::size_t offset = reuse ? gap_for(buffer, placed) : end;
      program_.buffers[buffer].offset = offset;
      const auto by_offset = [&](std::size_t a, std::size_t b) {
        return program_.buffers[a].offset < program_.buffers[b].offset;
      };
      placed.insert(std::upper_bound(placed.begin(), placed.end(), buffer, by_offset), buffer);
      end = std::max(end, offset + lifetimes_[buffer].bytes);
    }
    for (std::size_t i = 0; i < lifetimes_.size(); ++i) {
      program_.buffers[i].offset = program_.buffers[static_cast<std::size_t>(root(i))].offset;
    }
    return end;
  }

 private:
  void touch(const Operand& operand, int node) {
    if (operand.buffer == kNoBuffer) return;
    Lifetime& life = lifetimes_[static_cast<std::size_t>(operand.buffer)];
    life.first = std::min(life.first, node);
    life.last = std::max(life.last, node);
  }

  int root(std::size_t buffer) const {
    int at = static_cast<int>(buffer);
    while (lifetimes_[static_cast<std::size_t>(at)].joined >= 0) {
      at = lifetimes_[static_cast<std::size_t>(at)].joined;
    }
    return at;
  }

  bool is_whole(const Operand& operand) const {
    const Buffer& buffer = program_.buffers[static_cast<std::size_t>(operand.buffer)];
    return buffer.kind == BufferKind::kPlanned && byte_range(operand.array).first == 0 &&
           byte_range(operand.array).second == buffer.high;
  }

  void try_join(const GraphNode& node, const InPlacePair& pair, int index) {
    const Operand& in = node.in[static_cast<std::size_t>(pair.in)];
    const Operand& out = node.out[static_cast<std::size_t>(pair.out)];
    if (in.buffer == out.buffer || !is_whole(in) || !is_whole(out)) return;
    const int from = root(static_cast<std::size_t>(in.buffer));
    Lifetime& target = lifetimes_[static_cast<std::size_t>(out.buffer)];
    Lifetime& source = lifetimes_[static_cast<std::size_t>(from)];
    if (target.joined >= 0 || target.first != index || source.last != index || from == out.buffer ||
        target.bytes != source.bytes) {
      return;
    }
    // Another view of the operand, or another output, would see the result too early.
    for (const Operand& other : node.in) {
      if (other.buffer != kNoBuffer && root(static_cast<std::size_t>(other.buffer)) == from &&
          !same_view(other.array, in.array)) {
        return;
      }
    }
    for (const Operand& other : node.out) {
      if (other.buffer != kNoBuffer && root(static_cast<std::size_t>(other.buffer)) == from) return;
    }
    target.joined = from;
    ++joins_;
    source.last = std::max(source.last, target.last);
  }

  // The offset of the smallest gap that holds `buffer` while it is alive.
  std::size_t gap_for(std::size_t buffer, const std::vector<std::size_t>& placed) const {
    const Lifetime& life = lifetimes_[buffer];
    std::size_t best = 0;
    std::size_t best_gap = std::numeric_limits<std::size_t>::max();
    std::size_t end = 0;
    for (const std::size_t other : placed) {
      const Lifetime& theirs = lifetimes_[other];
      if (theirs.last < life.first || life.last < theirs.first) continue;
      const std::size_t offset = program_.buffers[other].offset;
      if (offset >= end + life.bytes && offset - end < best_gap) {
        best = end;
        best_gap = offset - end;
      }
      end = std::max(end, offset + theirs.bytes);
    }
    return best_gap == std::numeric_limits<std::size_t>::max() ? end : best;
  }

  Program& program_;
  std::vector<Lifetime> lifetimes_;
  int joins_ = 0;
};

}  // namespace

MemoryPlan plan_memory(Program& program, bool reuse) {
  Planner planner(program);
  if (reuse) planner.join_in_place();
  const std::size_t bytes = planner.place(reuse);
  return {bytes, planner.joins()};
}

}  // namespace weft::internal
