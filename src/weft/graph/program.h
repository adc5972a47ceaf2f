// Program: a captured graph in the form for its passes and its replay. For this folder.
//
// A buffer is a storage that a recorded launch has touched, a node is a launch. Recorded order is a
// valid order; every pass keeps that. A node may read what it writes: passes treat each output as
// read as well, except where an elementwise loop declares otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/array/launch.h"

namespace weft::internal {

inline constexpr int kNoBuffer = -1;

enum class BufferKind : std::uint8_t {
  kExternal,  // alive before the capture: parameters, gradients, inputs
  kConstant,  // written by the host during the capture
  kKept,      // made by the graph and alive after the capture: results
  kPlanned,   // made and dropped: a place in the arena
};

struct Buffer {
  BufferKind kind = BufferKind::kPlanned;
  bool written = false;
  // Null: planned, or an external one that is not bound yet.
  std::shared_ptr<Storage> storage;
  // The bytes that the operands touch, from the start of the storage.
  std::int64_t low = 0;
  std::int64_t high = 0;
  std::size_t offset = 0;  // in the arena, if planned
};

// `array` is a view of the buffer; it has no memory until bound. Undefined stays undefined.
struct Operand {
  int buffer = kNoBuffer;
  Array array;
  // The bytes of the buffer that the view spans.
  std::int64_t low = 0;
  std::int64_t high = 0;

  bool overlaps(const Operand& other) const {
    return buffer == other.buffer && buffer != kNoBuffer && low < other.high && other.low < high;
  }
};

struct OperandName {
  Operand operand;
  std::string name;
};

// The view `out` may use the memory of the view `in`, if that is not needed afterwards.
struct InPlacePair {
  int in;
  int out;
};

struct GraphNode {
  std::string name;
  LaunchOp op;
  std::vector<Operand> in;
  std::vector<Operand> out;
  std::unique_ptr<LaunchBody> body;
  std::optional<ElementwiseLoop> loop;
  bool has_side_effect = false;
  int launches = 1;  // recorded launches in it
  std::vector<InPlacePair> in_place;
  std::vector<const Array*> in_arrays;  // of `in` and `out`
  std::vector<const Array*> out_arrays;

  void run() const {
    const WatchedLaunch watched(name.c_str(), {in_arrays.data(), in_arrays.size()},
                                {out_arrays.data(), out_arrays.size()}, &op);
    // A callback only shows arrays to somebody.
    if (has_side_effect) launch_bytes(0);
    body->run({in_arrays.data(), in_arrays.size()}, {out_arrays.data(), out_arrays.size()});
  }
};

// Bytes of a buffer that outlives the graph, from the buffer's `low` on.
struct WrittenRange {
  int buffer = kNoBuffer;
  std::int64_t low = 0;
  std::int64_t high = 0;
};

struct Program {
  std::vector<Buffer> buffers;
  std::vector<GraphNode> nodes;
  std::vector<WrittenRange> written;
  std::shared_ptr<Storage> arena;
  std::vector<OperandName> names;

  bool outlives(int buffer) const {
    return buffers[static_cast<std::size_t>(buffer)].kind != BufferKind::kPlanned;
  }
};

// Byte range of a view, from the start of its storage.
std::pair<std::int64_t, std::int64_t> byte_range(const Array& array);
// Whether two views have the same elements at the same places.
bool same_view(const Array& a, const Array& b);

// Drops nodes that nothing kept depends on; returns how many.
int prune(Program& program);
// Joins elementwise nodes into chains; returns how many nodes became part of one.
int fuse(Program& program);
struct MemoryPlan {
  std::size_t bytes = 0;  // of the arena
  int in_place = 0;       // results in the memory of an operand that is not used later
};
// Gives planned buffers their places. With `reuse`, buffers that are not alive at once may share a
// place.
MemoryPlan plan_memory(Program& program, bool reuse);

// Points every operand of `buffer` at `storage`; `shift` bytes are added to their positions. Null
// removes the memory.
void bind_buffer(Program& program, int buffer, const std::shared_ptr<Storage>& storage,
                 std::int64_t shift);
// The ranges that the nodes write in buffers that outlive the graph.
std::vector<WrittenRange> written_ranges(const Program& program);
// Makes the arena, binds all buffers that have memory and fills in_arrays and out_arrays.
void bind_all(Program& program, std::size_t arena_bytes);

}  // namespace weft::internal
