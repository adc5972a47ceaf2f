// RecordFile: a VoterRecord in one file, OUT/membership.record.
//
//   file := "WEFTREC1", place 32, SHA-256 of all else 32, record (peer/voter_record.h)
//
// The place names this machine and the file's folder: a copy elsewhere does not count, so that no
// two processes vote with one record. A file that cannot be written any more is removed, because an
// old record is worse than none. Mode 0600: the run's key is in it.
// Threads: one owner. A durable write syncs some kilobytes. Fails: load() with kCorrupt and a text
// for people if the file is not a record.
#pragma once

#include <optional>
#include <string>

#include "weft/base/status.h"
#include "weft/peer/voter_record.h"

namespace weft {

class RecordFile final : public RecordKeep {
 public:
  explicit RecordFile(std::string path) : path_(std::move(path)) {}

  // Empty if there is none. The record must be that of `self`, or it is refused.
  static Result<std::optional<VoterRecord>> load(const std::string& path, const PeerId& self);
  bool keep(ByteSpan record, bool durable) override;

 private:
  std::string path_;
  bool warned_ = false;
};

}  // namespace weft
