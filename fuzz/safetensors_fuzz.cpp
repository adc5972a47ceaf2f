// Any bytes as a safetensors file and as a checkpoint: parsed or refused, and what is parsed lies
// inside; what is refused leaves the arena as it was.
#include <algorithm>

#include "weft/base/check.h"
#include "weft/io/checkpoint.h"
#include "weft/io/safetensors.h"

namespace {

weft::ParameterArena small_arena() {
  weft::Layout layout;
  layout.add("w", {2, 3});
  layout.add("b", {2}, weft::ParameterKind::kBias);
  weft::ParameterArena arena(std::move(layout));
  arena.add_state("momentum");
  return arena;
}

bool is_zero(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(), [](float value) { return value == 0.0F; });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const weft::ByteSpan bytes(data, size);
  const weft::Result<weft::SafetensorsView> view = weft::parse_safetensors(bytes);
  if (!view.ok()) WEFT_CHECK(view.status().code() == weft::Code::kCorrupt);
  if (view.ok()) {
    std::size_t total = 0;
    for (const weft::SafetensorsEntry& entry : view->entries) {
      WEFT_CHECK(entry.values.empty() ||
                 (entry.values.data() >= data &&
                  entry.values.data() + entry.values.size() <= data + size));
      total += entry.values.size();
      static_cast<void>(weft::to_array(entry).ok());
    }
    WEFT_CHECK(total <= size);
  }
  weft::ParameterArena arena = small_arena();
  const weft::Result<weft::CheckpointInfo> info = weft::load_state(bytes, arena);
  if (info.ok()) {
    WEFT_CHECK(view.ok() && info->step >= 0);
  } else {
    WEFT_CHECK(is_zero(arena.parameters()) && is_zero(arena.state("momentum").flat<float>()));
  }
  return 0;
}
