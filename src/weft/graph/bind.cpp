// Where the operands of a graph lie.
#include <algorithm>

#include "weft/graph/program.h"

namespace weft::internal {
namespace {

std::int64_t item_bytes(const Array& array) {
  return static_cast<std::int64_t>(size_of(array.dtype()));
}

}  // namespace

std::pair<std::int64_t, std::int64_t> byte_range(const Array& array) {
  const std::int64_t item = item_bytes(array);
  if (!array.is_strided()) {
    const std::int64_t begin = array.offset() * item;
    return {begin, begin + static_cast<std::int64_t>(array.format()->size_bytes())};
  }
  std::int64_t low = array.offset();
  std::int64_t high = low;
  if (array.size() == 0) return {low * item, low * item};
  for (int axis = 0; axis < array.ndim(); ++axis) {
    const std::int64_t reach = (array.shape()[axis] - 1) * array.strides()[axis];
    (reach < 0 ? low : high) += reach;
  }
  return {low * item, (high + 1) * item};
}

bool same_view(const Array& a, const Array& b) {
  return a.dtype() == b.dtype() && a.offset() == b.offset() && a.shape() == b.shape() &&
         a.strides() == b.strides() && a.format() == b.format();
}

void bind_buffer(Program& program, int buffer, const std::shared_ptr<Storage>& storage,
                 std::int64_t shift) {
  const auto bind = [&](Operand& operand) {
    if (operand.buffer != buffer) return;
    const std::int64_t item = item_bytes(operand.array);
    operand.array = operand.array.rebound(storage, operand.array.offset() + shift / item);
    operand.low += shift;
    operand.high += shift;
  };
  for (GraphNode& node : program.nodes) {
    std::for_each(node.in.begin(), node.in.end(), bind);
    std::for_each(node.out.begin(), node.out.end(), bind);
  }
  for (OperandName& named : program.names) bind(named.operand);
  Buffer& target = program.buffers[static_cast<std::size_t>(buffer)];
  target.storage = storage;
  target.low += shift;
  target.high += shift;
}

std::vector<WrittenRange> written_ranges(const Program& program) {
  std::vector<WrittenRange> ranges;
  for (const GraphNode& node : program.nodes) {
    for (const Operand& out : node.out) {
      if (out.low >= out.high || !program.outlives(out.buffer)) continue;
      const std::int64_t from = program.buffers[static_cast<std::size_t>(out.buffer)].low;
      ranges.push_back({out.buffer, out.low - from, out.high - from});
    }
  }
  std::sort(ranges.begin(), ranges.end(), [](const WrittenRange& a, const WrittenRange& b) {
    return std::pair(a.buffer, a.low) < std::pair(b.buffer, b.low);
  });
  std::vector<WrittenRange> joined;
  for (const WrittenRange& range : ranges) {
    if (!joined.empty() && joined.back().buffer == range.buffer &&
        range.low <= joined.back().high) {
      joined.back().high = std::max(joined.back().high, range.high);
    } else {
      joined.push_back(range);
    }
  }
  return joined;
}

void bind_all(Program& program, std::size_t arena_bytes) {
  program.arena = Storage::allocate(arena_bytes);
  std::vector<std::shared_ptr<Storage>> storages;
  for (const Buffer& buffer : program.buffers) {
    if (buffer.kind != BufferKind::kPlanned) {
      storages.push_back(buffer.storage);
      continue;
    }
    // A storage of its own, so that a kernel that asks for its size gets the right answer.
    auto* const place = static_cast<std::uint8_t*>(program.arena->data()) + buffer.offset;
    storages.push_back(Storage::wrap(place, static_cast<std::size_t>(buffer.high), program.arena));
  }
  for (GraphNode& node : program.nodes) {
    for (std::vector<Operand>* const side : {&node.in, &node.out}) {
      auto& pointers = side == &node.in ? node.in_arrays : node.out_arrays;
      pointers.clear();
      for (Operand& operand : *side) {
        if (operand.buffer != kNoBuffer) {
          operand.array = operand.array.rebound(storages[static_cast<std::size_t>(operand.buffer)],
                                                operand.array.offset());
        }
        pointers.push_back(&operand.array);
      }
    }
  }
}

}  // namespace weft::internal
