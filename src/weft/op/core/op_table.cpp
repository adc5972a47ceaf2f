// The table that the build generates from the names of the *_op.cpp files.
#include "weft/op/core/op_def.h"

namespace weft {

#define WEFT_PLUGIN(name) extern const OpDef name##_op;
#include "op_table.inc"
#undef WEFT_PLUGIN

std::span<const OpDef* const> op_table() {
  static constexpr const OpDef* kTable[] = {
#define WEFT_PLUGIN(name) &name##_op,
#include "op_table.inc"
#undef WEFT_PLUGIN
  };
  return kTable;
}

}  // namespace weft
