#include "weft/swarm/state_hash.h"

#include <array>
#include <bit>
#include <cstring>
#include <vector>

namespace weft {
namespace {

static_assert(std::endian::native == std::endian::little, "floats are hashed as they lie");

Bytes encoded_steps(const Optimizer& optimizer) {
  const std::int64_t steps = optimizer.steps();
  Bytes bytes(sizeof steps);
  std::memcpy(bytes.data(), &steps, sizeof steps);
  return bytes;
}

void hash_entries(const Layout& layout, const Array& buffer, const std::string& prefix,
                  std::vector<TensorHash>& out) {
  const auto values = std::span<const float>(buffer.flat<float>());
  for (const LayoutEntry& entry : layout.entries()) {
    const auto part = values.subspan(static_cast<std::size_t>(entry.offset),
                                     static_cast<std::size_t>(entry.shape.num_elements()));
    out.push_back({prefix + entry.name, xxh3_128(as_bytes(part))});
  }
}

}  // namespace

StateHash hash_state(const ParameterArena& arena, const Optimizer& optimizer,
                     std::span<const std::string> states) {
  StateHash hash;
  hash_entries(arena.layout(), arena.parameter_buffer(), "", hash.tensors);
  for (const std::string& name : states) {
    hash_entries(arena.state_layout(name), arena.state(name), name + "/", hash.tensors);
  }
  Bytes all = encoded_steps(optimizer);
  for (const TensorHash& tensor : hash.tensors) {
    all.insert(all.end(), tensor.hash.begin(), tensor.hash.end());
  }
  hash.total = xxh3_128(all);
  return hash;
}

std::string state_digest(const ParameterArena& arena, const Optimizer& optimizer,
                         std::span<const std::string> states) {
  Sha256 hash;
  hash.update(arena.layout().hash());
  hash.update(encoded_steps(optimizer));
  hash.update(as_bytes(arena.parameters()));
  for (const std::string& name : states) {
    const Array buffer = arena.state(name);
    hash.update(as_bytes(std::span<const float>(buffer.flat<float>())));
  }
  return to_hex(hash.finish());
}

}  // namespace weft
