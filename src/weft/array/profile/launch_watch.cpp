#include "weft/array/launch_watch.h"

namespace weft {

void OpAttribution::add() {
  Launch& launch = launches_.emplace_back();
  if (!gradients_.empty()) launch.op = gradients_.back();
}

void OpAttribution::add(LaunchOp op) { launches_.push_back({std::move(op), true}); }

void OpAttribution::op_done(const char* name) {
  const std::int64_t call = ++calls_;
  for (std::size_t i = first_open_; i < launches_.size(); ++i) {
    if (!launches_[i].known) launches_[i].op = {name, Pass::kForward, call};
  }
  close();
}

void OpAttribution::gradient_begin(const char* name) {
  gradients_.push_back({name, Pass::kBackward, ++calls_});
  close();
}

void OpAttribution::gradient_end() {
  gradients_.pop_back();
  close();
}

void OpAttribution::clear() {
  launches_.clear();
  first_open_ = 0;
}

double bytes_of(const Array& array) {
  if (!array.defined()) return 0;
  double elements = 1;
  if (!array.is_strided()) {
    elements = static_cast<double>(array.size());
  } else {
    for (int axis = 0; axis < array.ndim(); ++axis) {
      // A broadcast axis repeats the same elements.
      const bool repeats = array.strides()[axis] == 0 && array.shape()[axis] > 0;
      if (!repeats) elements *= static_cast<double>(array.shape()[axis]);
    }
  }
  return elements * static_cast<double>(size_of(array.dtype()));
}

}  // namespace weft
