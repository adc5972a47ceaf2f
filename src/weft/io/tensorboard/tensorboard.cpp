#include "weft/io/tensorboard.h"

#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "weft/io/protobuf_writer.h"
#include "weft/io/tensorboard/crc32c.h"

namespace weft {
namespace {

constexpr int kNamesMax = 1000;

void append(Bytes& bytes, std::uint64_t value, int count) {
  for (int i = 0; i < count; ++i, value >>= 8U) bytes.push_back(static_cast<std::uint8_t>(value));
}

}  // namespace

Bytes tensorboard_record(ByteSpan event) {
  Bytes record;
  append(record, event.size(), 8);
  append(record, masked_crc32c(record), 4);
  record.insert(record.end(), event.begin(), event.end());
  append(record, masked_crc32c(event), 4);
  return record;
}

Result<std::unique_ptr<TensorboardWriter>> TensorboardWriter::open(const std::string& folder,
                                                                   std::int64_t unix_time_s) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) return unavailable(fmt::format("{}: {}", folder, failed.message()));
  const std::string first = fmt::format("{}/events.out.tfevents.{:010}.weft", folder, unix_time_s);
  std::string path = first;
  for (int i = 1; i < kNamesMax && std::filesystem::exists(path, failed); ++i) {
    path = fmt::format("{}.{}", first, i);
  }
  Result<std::unique_ptr<AppendFile>> file = AppendFile::open(path, {.must_be_new = true});
  if (!file.ok()) return file.status().with_context(path);
  std::unique_ptr<TensorboardWriter> writer;
  writer.reset(new TensorboardWriter(std::move(*file), path));  // tidy: allow new: private
  ProtobufWriter event;
  event.float64(1, static_cast<double>(unix_time_s));
  event.text(3, "brain.Event:2");
  WEFT_TRY(writer->append(tensorboard_record(event.written())));
  return writer;
}

Status TensorboardWriter::append(ByteSpan record) {
  const Status written =
      file_->append({reinterpret_cast<const char*>(record.data()), record.size()});
  return written.ok() ? Status() : written.with_context(path_);
}

Status TensorboardWriter::scalar(std::string_view tag, std::int64_t step, double value,
                                 double unix_time_s) {
  return append(tensorboard_scalar(tag, step, value, unix_time_s));
}

Bytes tensorboard_scalar(std::string_view tag, std::int64_t step, double value,
                         double unix_time_s) {
  ProtobufWriter entry;
  entry.text(1, tag);
  entry.float32(2, static_cast<float>(value));
  ProtobufWriter summary;
  summary.message(1, entry);
  ProtobufWriter event;
  event.float64(1, unix_time_s);
  event.integer(2, step);
  event.message(5, summary);
  return tensorboard_record(event.written());
}

}  // namespace weft
