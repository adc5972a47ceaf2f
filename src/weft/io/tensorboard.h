// TensorboardWriter: scalars over steps as an event file that TensorBoard shows.
//
//   WEFT_TRY_ASSIGN(auto writer, TensorboardWriter::open("runs/1", clock.unix_time_s()));
//   WEFT_TRY(writer->scalar("loss", step, loss, clock.unix_time_s()));
//   $ tensorboard --logdir runs
//
//   file   := record*                       FOLDER/events.out.tfevents.SECONDS.weft
//   record := length:u64le crc(length):u32le data{length} crc(data):u32le
// crc is masked_crc32c (crc32c.h), data a message Event of TensorFlow's event.proto: wall_time = 1,
// step = 2, file_version = 3 (the first record's "brain.Event:2"), summary = 5 of values with
// tag = 1 and simple_value = 2.
//
// Each record is one write, so that a killed process leaves only whole ones, and a reader sees them
// at once; a record cut off by a full disk is removed. Threads: one owner. Fails: kUnavailable if
// the system refuses.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "weft/base/append_file.h"
#include "weft/base/bytes.h"
#include "weft/base/status.h"

namespace weft {

class TensorboardWriter {
 public:
  // Opens a new file in `folder`, which is made if necessary. If there is one with the same second,
  // the name gets a number.
  static Result<std::unique_ptr<TensorboardWriter>> open(const std::string& folder,
                                                         std::int64_t unix_time_s);

  Status scalar(std::string_view tag, std::int64_t step, double value, double unix_time_s);
  // Writes all of a record made by tensorboard_scalar() or tensorboard_record(), or nothing of it.
  Status append(ByteSpan record);

  const std::string& path() const { return path_; }

 private:
  TensorboardWriter(std::unique_ptr<AppendFile> file, std::string path)
      : file_(std::move(file)), path_(std::move(path)) {}

  std::unique_ptr<AppendFile> file_;
  std::string path_;
};

// Adds length and checksums to `event`.
Bytes tensorboard_record(ByteSpan event);
// Makes the record of one value.
Bytes tensorboard_scalar(std::string_view tag, std::int64_t step, double value, double unix_time_s);

}  // namespace weft
