// StateFile: a StateKeep in one file.
//
//   file   := "WEFTBLK1", round u64, bytes u64, root 32, record*
//   record := head bytes u32, body bytes u32, head (wire/state_message.h, block), body
//
// Records are appended; one that was cut short by a crash ends the file. Nothing is synced to the
// disk: a block that is lost or torn does not pass its check and is fetched again.
// Threads: one owner. Fails: see StateKeep; files of other forms count as empty.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "weft/collective/state/state_keep.h"

namespace weft {

class StateFile final : public StateKeep {
 public:
  // The file is opened when it is first needed, with mode 0600.
  explicit StateFile(std::string path) : path_(std::move(path)) {}

  std::optional<SnapshotName> name() override;
  void begin(const SnapshotName& name) override;
  void keep(const BlockHead& head, ByteSpan body) override;
  std::optional<Block> next() override;
  void forget() override;

 private:
  struct Close {
    void operator()(std::FILE* file) const { static_cast<void>(std::fclose(file)); }
  };
  using File = std::unique_ptr<std::FILE, Close>;

  bool read(MutableByteSpan into);

  std::string path_;
  File reading_;
  File writing_;
  // The end of the last complete record.
  long end_ = 0;
};

}  // namespace weft
