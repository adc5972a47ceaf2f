// Observers of a thread's operations: AnomalyMode and checkpoints. Only for autograd/*.cpp.
#pragma once

#include <vector>

#include "weft/autograd/node.h"

namespace weft::internal {

// Throws AnomalyError if a gradient that the vjp of `node` has just made is not finite.
void check_input_gradients(Node& node);

// While an AnomalyMode looks on: keeps where the operation of `node` was called.
void note_call_site(Node& node);

// While one lives, notes each tensor with a history that an operation on this thread takes.
class HistoryCollector {
 public:
  HistoryCollector();
  ~HistoryCollector();
  HistoryCollector(const HistoryCollector&) = delete;
  HistoryCollector& operator=(const HistoryCollector&) = delete;

  // Each once, in the order of their first use.
  const std::vector<Tensor>& tensors() const { return tensors_; }
  void note(const Tensor& tensor);

 private:
  HistoryCollector* before_;
  std::vector<Tensor> tensors_;
};

}  // namespace weft::internal
