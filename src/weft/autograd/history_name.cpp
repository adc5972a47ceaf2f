#include "weft/autograd/history_name.h"

#include "weft/autograd/node_access.h"

namespace weft {

const char* history_name(const Tensor& tensor) {
  const Node* const node = NodeAccess::raw_node(tensor);
  return node == nullptr || NodeAccess::is_leaf(*node) ? nullptr : NodeAccess::name(*node);
}

}  // namespace weft
