#include "weft/array/profile/launch_profile.h"

#include "weft/array/array.h"

namespace weft {
namespace {

double bytes_of_all(LaunchArrays arrays) {
  double bytes = 0;
  for (int i = 0; i < arrays.size(); ++i) bytes += bytes_of(arrays[i]);
  return bytes;
}

std::string shapes_of(LaunchArrays arrays) {
  std::string text;
  for (int i = 0; i < arrays.size(); ++i) {
    if (!text.empty()) text += ", ";
    const Array& array = arrays[i];
    text += array.defined() ? std::string(to_string(array.dtype())) + to_string(array.shape())
                            : std::string("none");
  }
  return text;
}

}  // namespace

std::vector<LaunchEvent> LaunchProfile::take() {
  std::size_t outermost = 0;
  const LaunchOp* op = nullptr;
  for (LaunchEvent& event : events_) {
    if (event.depth == 0) op = &attribution_.op(outermost++);
    if (op != nullptr) event.op = *op;
  }
  attribution_.clear();
  dropped_ = 0;
  return std::exchange(events_, {});
}

void LaunchProfile::begin(const char* name, LaunchArrays in, LaunchArrays out, const LaunchOp* op) {
  if (events_.size() >= kEventsMax) {
    ++dropped_;
    running_.push_back(kNoEvent);
    return;
  }
  const int depth = static_cast<int>(running_.size());
  if (depth == 0) {
    if (op != nullptr) {
      attribution_.add(*op);
    } else {
      attribution_.add();
    }
  }
  running_.push_back(events_.size());
  LaunchEvent& event = events_.emplace_back();
  event.name = name;
  event.depth = depth;
  event.bytes = bytes_of_all(in) + bytes_of_all(out);
  if (keeps_shapes_ && in.size() + out.size() > 0) {
    event.shapes = shapes_of(in) + " -> " + shapes_of(out);
  }
  event.begin = clock_.now();
}

void LaunchProfile::end() {
  const TimePoint now = clock_.now();
  const std::size_t index = running_.back();
  running_.pop_back();
  if (index == kNoEvent) return;
  events_[index].end = now;
  if (!running_.empty() && running_.back() != kNoEvent) {
    events_[running_.back()].flops += events_[index].flops;
  }
}

void LaunchProfile::add_flops(double flops) {
  if (running_.empty() || running_.back() == kNoEvent) return;
  events_[running_.back()].flops += flops;
}

void LaunchProfile::set_bytes(double bytes) {
  if (running_.empty() || running_.back() == kNoEvent) return;
  events_[running_.back()].bytes = bytes;
}

}  // namespace weft
