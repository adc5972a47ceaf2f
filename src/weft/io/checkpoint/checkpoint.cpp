#include "weft/io/checkpoint.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "weft/base/file.h"
#include "weft/base/log.h"
#include "weft/base/temporary_file.h"
#include "weft/io/safetensors.h"
#include "weft/io/safetensors_digest.h"

namespace weft {
namespace {

constexpr std::string_view kFormat = "weft checkpoint 2";
// Without digests.
constexpr std::string_view kOldFormat = "weft checkpoint 1";
constexpr std::string_view kStatePrefix = "optimizer/";
constexpr std::string_view kFilePrefix = "checkpoint-";
constexpr std::string_view kFileEnding = ".safetensors";

struct CardField {
  const char* key;  // in the metadata
  std::string CardTexts::*text;
};
constexpr CardField kCardFields[] = {
    {"model", &CardTexts::model}, {"data", &CardTexts::data}, {"tokenizer", &CardTexts::tokenizer}};

// One entry of one buffer of the arena, as it is called in the file.
struct Slice {
  std::string name;
  Array values;  // a view
};

void add_slices(const Array& buffer, const Layout& layout, const std::string& prefix,
                std::vector<Slice>& slices) {
  for (const LayoutEntry& entry : layout.entries()) {
    slices.push_back(
        {prefix + entry.name,
         buffer.as_strided(entry.shape, contiguous_strides(entry.shape), entry.offset)});
  }
}

std::vector<Slice> slices_of(const ParameterArena& arena, std::span<const std::string> states) {
  std::vector<Slice> slices;
  add_slices(arena.parameter_buffer(), arena.layout(), "", slices);
  for (const std::string& state : states) {
    add_slices(arena.state(state), arena.state_layout(state),
               fmt::format("{}{}/", kStatePrefix, state), slices);
  }
  return slices;
}

std::vector<SafetensorsTensor> tensors_of(const ParameterArena& arena,
                                          std::span<const std::string> states) {
  std::vector<SafetensorsTensor> tensors;
  for (const Slice& slice : slices_of(arena, states)) {
    const auto values = std::span<const float>(slice.values.flat<float>());
    tensors.push_back({slice.name, DType::kF32, slice.values.shape(), as_bytes(values)});
  }
  return tensors;
}

SafetensorsMetadata metadata_of(const ParameterArena& arena, const CheckpointInfo& info,
                                std::span<const SafetensorsTensor> tensors) {
  SafetensorsMetadata metadata = {{"format", std::string(kFormat)},
                                  {"layout", to_hex(arena.layout().hash())},
                                  {"optimizer", info.optimizer},
                                  {"optimizer_steps", std::to_string(info.optimizer_steps)},
                                  {"recipe", info.recipe},
                                  {"run_id", info.run_id},
                                  {"step", std::to_string(info.step)}};
  if (!info.shares.empty()) metadata["shares"] = info.shares;
  if (!info.validation.empty()) metadata["validation"] = info.validation;
  if (!info.data_mark.empty()) metadata["data_mark"] = info.data_mark;
  for (const CardField& field : kCardFields) {
    if (!(info.card.*field.text).empty()) metadata[field.key] = info.card.*field.text;
  }
  add_digests(tensors, metadata);
  return metadata;
}

Result<std::string> text_field(const SafetensorsView& view, std::string_view key) {
  const auto found = view.metadata.find(key);
  if (found == view.metadata.end()) {
    return corrupt(fmt::format("checkpoint: expected metadata {}, got none", key));
  }
  return found->second;
}

Result<std::int64_t> count_field(const SafetensorsView& view, std::string_view key) {
  WEFT_TRY_ASSIGN(const std::string text, text_field(view, key));
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stopped != end || value < 0) {
    return corrupt(fmt::format("checkpoint: expected a count as {}, got \"{}\"", key, text));
  }
  return value;
}

// `bytes` are those of `view`. The tensors' digests are not looked at.
Result<CheckpointInfo> info_of(ByteSpan bytes, const SafetensorsView& view) {
  WEFT_TRY_ASSIGN(const std::string format, text_field(view, "format"));
  if (format != kFormat && format != kOldFormat) {
    return corrupt(fmt::format("checkpoint: expected format \"{}\", got \"{}\"", kFormat, format));
  }
  CheckpointInfo info;
  info.has_digests = format == kFormat || has_digests(view.metadata);
  if (info.has_digests) WEFT_TRY(check_header_digest(bytes, view));
  WEFT_TRY_ASSIGN(info.run_id, text_field(view, "run_id"));
  WEFT_TRY_ASSIGN(info.step, count_field(view, "step"));
  WEFT_TRY_ASSIGN(info.recipe, text_field(view, "recipe"));
  WEFT_TRY_ASSIGN(info.optimizer, text_field(view, "optimizer"));
  WEFT_TRY_ASSIGN(info.optimizer_steps, count_field(view, "optimizer_steps"));
  if (view.metadata.contains("shares")) {
    WEFT_TRY_ASSIGN(info.shares, text_field(view, "shares"));
  }
  if (view.metadata.contains("data_mark")) {
    WEFT_TRY_ASSIGN(info.data_mark, text_field(view, "data_mark"));
  }
  if (view.metadata.contains("validation")) {
    WEFT_TRY_ASSIGN(info.validation, text_field(view, "validation"));
  }
  for (const CardField& field : kCardFields) {
    const auto found = view.metadata.find(field.key);
    if (found != view.metadata.end()) info.card.*field.text = found->second;
  }
  return info;
}

bool is_state(const SafetensorsEntry& entry) { return entry.name.starts_with(kStatePrefix); }

// That the file holds exactly what `slices` ask for. With kParameters its states do not count.
Status check_entries(const SafetensorsView& view, const std::vector<Slice>& slices,
                     LoadState what) {
  for (const Slice& slice : slices) {
    const Shape& shape = slice.values.shape();
    const SafetensorsEntry* entry = view.find(slice.name);
    if (entry == nullptr) {
      return invalid_argument(
          fmt::format("checkpoint: expected a tensor {}, got none: it is of another model or "
                      "optimizer",
                      slice.name));
    }
    if (entry->dtype != "F32" || !(entry->shape == shape)) {
      return invalid_argument(fmt::format("checkpoint: {}: expected F32 {}, got {} {}", slice.name,
                                          to_string(shape), entry->dtype, to_string(entry->shape)));
    }
  }
  std::size_t counted = view.entries.size();
  if (what == LoadState::kParameters) {
    counted -=
        static_cast<std::size_t>(std::count_if(view.entries.begin(), view.entries.end(), is_state));
  }
  if (counted != slices.size()) {
    return invalid_argument(
        fmt::format("checkpoint: expected {} tensors, got {}: it is of another model or optimizer",
                    slices.size(), counted));
  }
  return {};
}

// The step in a file name of ours; -1 for any other name.
std::int64_t step_of(const std::string& name) {
  if (!name.starts_with(kFilePrefix) || !name.ends_with(kFileEnding)) return -1;
  const char* const begin = name.data() + kFilePrefix.size();
  const char* const end = name.data() + name.size() - kFileEnding.size();
  std::int64_t step = -1;
  const auto [stopped, error] = std::from_chars(begin, end, step);
  return error == std::errc() && stopped == end ? step : -1;
}

bool is_name_of_ours(std::string_view name) {
  return name.starts_with(kFilePrefix) && name.ends_with(kFileEnding);
}

}  // namespace

Bytes serialise_state(const ParameterArena& arena, const CheckpointInfo& info) {
  return serialise_state(arena, info, arena.state_names());
}

Bytes serialise_state(const ParameterArena& arena, const CheckpointInfo& info,
                      std::span<const std::string> states) {
  const std::vector<SafetensorsTensor> tensors = tensors_of(arena, states);
  Bytes bytes = write_safetensors(tensors, metadata_of(arena, info, tensors));
  seal_header(bytes);
  return bytes;
}

Result<CheckpointInfo> read_state_info(ByteSpan bytes) {
  WEFT_TRY_ASSIGN(const SafetensorsView view, parse_safetensors(bytes));
  return info_of(bytes, view);
}

Status check_finite(ByteSpan bytes) {
  WEFT_TRY_ASSIGN(const SafetensorsView view, parse_safetensors(bytes));
  for (const SafetensorsEntry& entry : view.entries) {
    if (entry.dtype != "F32") continue;
    for (std::size_t at = 0; at < entry.values.size(); at += sizeof(float)) {
      float value = 0;
      std::memcpy(&value, entry.values.data() + at, sizeof value);
      if (std::isfinite(value)) continue;
      return corrupt(fmt::format("checkpoint: {}: expected finite numbers, got {}", entry.name,
                                 std::isnan(value) ? "not a number" : "infinity"));
    }
  }
  return {};
}

static Result<CheckpointInfo> load_slices(ByteSpan bytes, ParameterArena& arena,
                                          const std::vector<Slice>& slices, LoadState what) {
  WEFT_TRY_ASSIGN(const SafetensorsView view, parse_safetensors(bytes));
  WEFT_TRY_ASSIGN(CheckpointInfo info, info_of(bytes, view));
  if (info.has_digests) WEFT_TRY(check_tensor_digests(view));
  WEFT_TRY(check_entries(view, slices, what));
  WEFT_TRY_ASSIGN(const std::string layout, text_field(view, "layout"));
  if (layout != to_hex(arena.layout().hash())) {
    return invalid_argument(fmt::format("checkpoint: expected the layout {}, got {}",
                                        to_hex(arena.layout().hash()), layout));
  }
  for (const Slice& slice : slices) {
    const ByteSpan values = view.find(slice.name)->values;
    Array target = slice.values;
    std::copy(values.begin(), values.end(), static_cast<std::uint8_t*>(target.raw_data()));
  }
  return info;
}

Result<CheckpointInfo> load_state(ByteSpan bytes, ParameterArena& arena, LoadState what) {
  if (what == LoadState::kParameters) return load_slices(bytes, arena, slices_of(arena, {}), what);
  return load_slices(bytes, arena, slices_of(arena, arena.state_names()), what);
}

Result<CheckpointInfo> load_state(ByteSpan bytes, ParameterArena& arena,
                                  std::span<const std::string> states) {
  return load_slices(bytes, arena, slices_of(arena, states), LoadState::kAll);
}

Status save_checkpoint(const std::string& path, const ParameterArena& arena,
                       const CheckpointInfo& info) {
  const std::vector<SafetensorsTensor> tensors = tensors_of(arena, arena.state_names());
  Bytes header = safetensors_header(tensors, metadata_of(arena, info, tensors));
  seal_header(header);
  std::vector<ByteSpan> parts = {header};
  for (const SafetensorsTensor& tensor : tensors) parts.push_back(tensor.values);
  return write_file_atomically(path, parts);
}

Result<Bytes> read_checkpoint(const std::string& path) {
  return read_file(path, kCheckpointBytesMax);
}

Result<CheckpointFile> open_checkpoint(const std::string& path) {
  CheckpointFile file;
  WEFT_TRY_ASSIGN(file.bytes, read_checkpoint(path));
  Result<CheckpointInfo> info = read_state_info(file.bytes);
  if (!info.ok()) return damaged_checkpoint(path, info.status());
  file.info = std::move(*info);
  if (!file.info.has_digests) {
    log(LogLevel::kWarning,
        "{}: written by an older release, without digests: whether it was altered since cannot be "
        "seen",
        path);
  }
  return file;
}

Status damaged_checkpoint(const std::string& path, const Status& reason) {
  if (reason.code() != Code::kCorrupt) return reason.with_context(path);
  return corrupt(fmt::format(
      "{}: {}; the file is damaged: take an older checkpoint of the folder, or a good copy of this "
      "one, such as another member's",
      path, reason.message()));
}

std::string checkpoint_path(const std::string& folder, std::int64_t step) {
  return fmt::format("{}/{}{}{}", folder, kFilePrefix, step, kFileEnding);
}

// That everything in the file is as it was written, and a number.
static Status check_whole(const std::string& path) {
  WEFT_TRY_ASSIGN(const Bytes bytes, read_checkpoint(path));
  WEFT_TRY(read_state_info(bytes).status());
  WEFT_TRY_ASSIGN(const SafetensorsView view, parse_safetensors(bytes));
  WEFT_TRY(check_digests(bytes, view));
  return check_finite(bytes);
}

std::string best_checkpoint_path(const std::string& folder) { return folder + "/best.safetensors"; }

Result<std::string> find_checkpoint(const std::string& path) {
  if (!is_folder(path)) return path;
  std::vector<std::string> all = list_checkpoints(path + "/checkpoints");
  if (all.empty()) all = list_checkpoints(path);
  std::string best = best_checkpoint_path(path + "/checkpoints");
  if (!is_file(best)) best = best_checkpoint_path(path);
  const bool has_best = is_file(best);
  if (all.empty() && has_best) return best;
  Status first;
  for (auto file = all.rbegin(); file != all.rend(); ++file) {
    const Status whole = check_whole(*file);
    if (whole.ok()) {
      if (has_best) {
        log(LogLevel::kWarning,
            "{}: the newest checkpoint is taken; the best on the test set is {}", *file, best);
      }
      return *file;
    }
    if (first.ok()) first = whole.with_context(*file);
    log(LogLevel::kWarning, "{}: {}; an older checkpoint is taken if there is one", *file,
        whole.message());
  }
  if (!first.ok()) return first;
  return unavailable(fmt::format(
      "{}: expected a checkpoint, or the folder of a run with checkpoints/checkpoint-N.safetensors "
      "in it, got a folder without one",
      path));
}

std::vector<std::string> list_checkpoints(const std::string& folder) {
  std::vector<std::pair<std::int64_t, std::string>> found;
  std::error_code failed;
  for (const auto& file : std::filesystem::directory_iterator(folder, failed)) {
    const std::int64_t step = step_of(file.path().filename().string());
    if (step >= 0) found.emplace_back(step, file.path().string());
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> paths;
  paths.reserve(found.size());
  for (auto& [step, path] : found) paths.push_back(std::move(path));
  return paths;
}

Status prune_checkpoints(const std::string& folder, std::int64_t keep) {
  if (keep < 1) {
    return invalid_argument(fmt::format("checkpoints: expected at least 1 to keep, got {}", keep));
  }
  std::vector<std::string> doomed = list_checkpoints(folder);
  doomed.resize(doomed.size() - std::min(doomed.size(), static_cast<std::size_t>(keep)));
  remove_stale_temporaries(folder, is_name_of_ours);
  for (const std::string& path : doomed) {
    std::error_code failed;
    std::filesystem::remove(path, failed);
    if (failed) return unavailable(fmt::format("{}: cannot remove: {}", path, failed.message()));
  }
  return {};
}

}  // namespace weft
