#include "weft/autograd/hooks.h"

namespace weft {

void HookHandle::remove() {
  if (const auto remove = std::exchange(remove_, nullptr)) remove();
}

}  // namespace weft
