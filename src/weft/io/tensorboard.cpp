#include "weft/io/tensorboard.h"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "weft/io/crc32c.h"
#include "weft/io/protobuf_writer.h"

namespace weft {
namespace {

constexpr int kNamesMax = 1000;

void append(Bytes& bytes, std::uint64_t value, int count) {
  for (int i = 0; i < count; ++i, value >>= 8U) bytes.push_back(static_cast<std::uint8_t>(value));
}

Status refused(const std::string& path) {
  return unavailable(fmt::format("{}: {}", path, std::strerror(errno)));
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
  int file = -1;
  for (int i = 1; i < kNamesMax; ++i) {
    file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_APPEND, 0644);
    if (file >= 0 || errno != EEXIST) break;
    path = fmt::format("{}.{}", first, i);
  }
  if (file < 0) return refused(path);
  std::unique_ptr<TensorboardWriter> writer;
  writer.reset(new TensorboardWriter(file, path));  // tidy: allow new: a private constructor
  ProtobufWriter event;
  event.float64(1, static_cast<double>(unix_time_s));
  event.text(3, "brain.Event:2");
  WEFT_TRY(writer->write(event.written()));
  return writer;
}

TensorboardWriter::~TensorboardWriter() { ::close(file_); }

Status TensorboardWriter::write(ByteSpan event) {
  const Bytes record = tensorboard_record(event);
  const ::ssize_t written = ::write(file_, record.data(), record.size());
  if (written < 0) return refused(path_);
  if (static_cast<std::size_t>(written) != record.size()) {
    return unavailable(fmt::format("{}: the disk is full", path_));
  }
  return {};
}

Status TensorboardWriter::scalar(std::string_view tag, std::int64_t step, double value,
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
  return write(event.written());
}

}  // namespace weft
