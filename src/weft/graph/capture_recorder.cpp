#include "weft/graph/capture_recorder.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace weft::internal {
namespace {

std::unique_ptr<LaunchBody> copy_body() {
  const auto body = [](LaunchArrays in, LaunchArrays out) { out[0].copy_from(in[0]); };
  return std::make_unique<LaunchBodyOf<decltype(body)>>(body);
}

// "TanhGradient" as "tanh_gradient".
std::string snake_case(const char* name) {
  std::string result;
  for (const char* c = name; *c != 0; ++c) {
    const bool is_upper = *c >= 'A' && *c <= 'Z';
    if (is_upper && !result.empty()) result += '_';
    result += is_upper ? static_cast<char>(*c - 'A' + 'a') : *c;
  }
  return result;
}

Array all_bytes(const std::shared_ptr<Storage>& storage) {
  return Array::on(storage, 0, {static_cast<std::int64_t>(storage->size_bytes())}, {1}, DType::kU8);
}

Array copy_unnoted(const Array& array) {
  const RecorderScope pause(nullptr);
  return array.clone();
}

}  // namespace

CaptureRecorder::CaptureRecorder(OuterWrites outer_writes)
    : outer_writes_(outer_writes), first_inside_(Storage::made() + 1) {}

int CaptureRecorder::buffer_of(const Array& array) {
  const std::shared_ptr<Storage>& storage = array.storage();
  const auto [place, is_new] =
      buffer_of_storage_.try_emplace(storage->id(), static_cast<int>(program_.buffers.size()));
  if (!is_new) return place->second;
  Buffer& buffer = program_.buffers.emplace_back();
  Seen& seen = seen_.emplace_back();
  seen.storage = storage;
  seen.bytes = storage->size_bytes();
  seen.born_inside = storage->id() >= first_inside_;
  if (seen.born_inside) {
    live_.push_back(place->second);
  } else {
    buffer.kind = BufferKind::kExternal;
    buffer.storage = storage;
  }
  return place->second;
}

Operand CaptureRecorder::operand_of(const Array& array) {
  if (!array.defined()) return {kNoBuffer, array, 0, 0};
  const int index = buffer_of(array);
  Buffer& buffer = program_.buffers[static_cast<std::size_t>(index)];
  const auto [low, high] = byte_range(array);
  // A view without elements may stand anywhere, beyond the end of what it is part of, too.
  if (low < high) {
    buffer.low = buffer.low < buffer.high ? std::min(buffer.low, low) : low;
    buffer.high = std::max(buffer.high, high);
  }
  return {index, array.rebound(nullptr, array.offset()), low, high};
}

void CaptureRecorder::read(const Array& array, const std::string& name) {
  if (!array.defined() || array.size() == 0) return;
  const Seen& seen = seen_[static_cast<std::size_t>(buffer_of(array))];
  if (seen.born_inside && !seen.has_values) {
    throw std::invalid_argument(
        "[capture] \"" + name +
        "\" reads an array that was made in this run and that no launch has written: a replay "
        "would not write it either. Compute it through launch() (array/launch.h), make it with "
        "Array::from(), or make it before the capture");
  }
}

void CaptureRecorder::write(const Array& array) {
  if (!array.defined()) return;
  const int index = buffer_of(array);
  if (program_.buffers[static_cast<std::size_t>(index)].kind == BufferKind::kConstant) {
    restore_first(index, array);
  }
  Buffer& buffer = program_.buffers[static_cast<std::size_t>(index)];
  if (buffer.kind == BufferKind::kExternal && outer_writes_ == OuterWrites::kUndo) {
    keep_overwritten(array);
  }
  buffer.written = true;
  seen_[static_cast<std::size_t>(index)].has_values = true;
}

void CaptureRecorder::keep_overwritten(const Array& array) {
  const auto [low, high] = byte_range(array);
  if (low == high) return;
  for (const Overwritten& kept : overwritten_) {
    if (kept.place.storage() == array.storage() && kept.place.offset() <= low &&
        kept.place.offset() + kept.place.size() >= high) {
      return;
    }
  }
  const Array place = Array::on(array.storage(), low, {high - low}, {1}, DType::kU8);
  overwritten_.push_back({place, copy_unnoted(place)});
}

void CaptureRecorder::restore_first(int buffer, const Array& array) {
  const Array whole = all_bytes(array.storage());
  const Array copy = copy_unnoted(whole);
  GraphNode node;
  node.name = "restore_constant";
  node.in.push_back(operand_of(copy));
  node.out.push_back(operand_of(whole));
  node.body = copy_body();
  restores_.push_back(std::move(node));
  Buffer& saved = program_.buffers[static_cast<std::size_t>(buffer_of(copy))];
  saved.kind = BufferKind::kConstant;
  saved.storage = copy.storage();
  Buffer& target = program_.buffers[static_cast<std::size_t>(buffer)];
  target.kind = BufferKind::kPlanned;
  target.storage = nullptr;
}

void CaptureRecorder::count_live() {
  std::size_t bytes = 0;
  std::erase_if(live_, [&](int index) {
    const Seen& seen = seen_[static_cast<std::size_t>(index)];
    if (seen.storage.expired()) return true;
    bytes += seen.bytes;
    return false;
  });
  peak_bytes_ = std::max(peak_bytes_, bytes);
}

void CaptureRecorder::record(const LaunchNote& note, std::unique_ptr<LaunchBody> body) {
  GraphNode node;
  node.name = snake_case(note.name);
  node.body = std::move(body);
  node.has_side_effect = note.has_side_effect;
  if (note.elementwise != nullptr) node.loop = *note.elementwise;
  for (const Array* const input : note.inputs) {
    // An output that is also listed as an input is written here first, or was before.
    const bool is_output = std::any_of(note.outputs.begin(), note.outputs.end(),
                                       [&](const Array* output) { return output == input; });
    if (!is_output) read(*input, node.name);
    node.in.push_back(operand_of(*input));
  }
  for (const Array* const output : note.outputs) {
    write(*output);
    node.out.push_back(operand_of(*output));
  }
  if (node.loop) {
    for (std::size_t i = 0; i < node.in.size(); ++i) {
      const Array& in = node.in[i].array;
      const Array& out = node.out[0].array;
      if (in.is_contiguous() && in.shape() == out.shape() &&
          size_of(in.dtype()) == size_of(out.dtype())) {
        node.in_place.push_back({static_cast<int>(i), 0});
      }
    }
  }
  program_.nodes.push_back(std::move(node));
  attribution_.add();
  count_live();
}

void CaptureRecorder::constant(const Array& array) {
  const int index = buffer_of(array);
  Buffer& buffer = program_.buffers[static_cast<std::size_t>(index)];
  Seen& seen = seen_[static_cast<std::size_t>(index)];
  seen.has_values = true;
  if (!seen.born_inside || buffer.written) return;
  buffer.kind = BufferKind::kConstant;
  buffer.storage = array.storage();
}

void CaptureRecorder::host_read(const char* operation) {
  throw std::invalid_argument(
      std::string("[capture] \"") + operation +
      "\" reads values on the host, and what it does next may depend on them: a replay would "
      "repeat the first run's decision. Read the value after the replay, or let the graph decide "
      "with where(), if_else() or while_loop()");
}

void CaptureRecorder::undo_outer_writes() {
  const RecorderScope pause(nullptr);
  // Backwards: where two overlap the older bytes come last.
  for (; !overwritten_.empty(); overwritten_.pop_back()) {
    overwritten_.back().place.copy_from(overwritten_.back().bytes);
  }
}

Program CaptureRecorder::finish() {
  for (std::size_t i = 0; i < program_.buffers.size(); ++i) {
    Buffer& buffer = program_.buffers[i];
    if (!seen_[i].born_inside || buffer.kind == BufferKind::kConstant) continue;
    buffer.storage = seen_[i].storage.lock();
    if (buffer.storage != nullptr) buffer.kind = BufferKind::kKept;
  }
  for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
    program_.nodes[i].op = attribution_.op(i);
  }
  program_.nodes.insert(program_.nodes.begin(), std::make_move_iterator(restores_.begin()),
                        std::make_move_iterator(restores_.end()));
  return std::move(program_);
}

}  // namespace weft::internal
