#include "weft/collective/state/state_file.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "weft/base/log.h"
#include "weft/wire/codec.h"

namespace weft {
namespace {

constexpr std::string_view kMagic = "WEFTBLK1";
constexpr std::size_t kHeaderBytes = 8 + 8 + 8 + 32;
constexpr std::size_t kHeadBytesMax = 32 + 4 + 1 + 32 * std::size_t{kBlockPathMax};

bool write_all(std::FILE* file, ByteSpan bytes) {
  return bytes.empty() || std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
}

}  // namespace

bool StateFile::read(MutableByteSpan into) {
  return std::fread(into.data(), 1, into.size(), reading_.get()) == into.size();
}

std::optional<SnapshotName> StateFile::name() {
  writing_.reset();
  reading_.reset(std::fopen(path_.c_str(), "rbe"));
  Bytes header(kHeaderBytes);
  if (!reading_ || !read(header)) return std::nullopt;
  const ByteSpan magic = as_bytes(kMagic);
  if (!std::equal(magic.begin(), magic.end(), header.begin())) return std::nullopt;
  Reader in("state file", ByteSpan(header).subspan(kMagic.size()));
  SnapshotName name;
  name.round = in.round("round");
  name.bytes = in.u64("bytes");
  name.root = in.raw<32>("root");
  const bool sound = in.finish().ok() && name.bytes / kStateBlockBytes < kStateBlocksMax;
  end_ = static_cast<long>(kHeaderBytes);
  return sound ? std::optional(name) : std::nullopt;
}

std::optional<StateKeep::Block> StateFile::next() {
  Bytes sizes(8);
  if (!reading_ || !read(sizes)) return std::nullopt;
  Reader in("state file", sizes);
  const std::uint32_t head_bytes = in.u32("head");
  const std::uint32_t body_bytes = in.u32("body");
  if (head_bytes > kHeadBytesMax || body_bytes > kStateBlockBytes) return std::nullopt;
  Bytes head(head_bytes);
  Block block;
  block.body.resize(body_bytes);
  if (!read(head) || !read(block.body)) return std::nullopt;
  Result<BlockHead> decoded = BlockHead::decode(head);
  if (!decoded.ok()) return std::nullopt;
  block.head = std::move(decoded).value();
  end_ = std::ftell(reading_.get());
  return block;
}

void StateFile::begin(const SnapshotName& name) {
  reading_.reset();
  const int opened =
      ::open(path_.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600);
  writing_.reset(opened < 0 ? nullptr : ::fdopen(opened, "wb"));
  Writer out;
  out.raw(as_bytes(kMagic)).round(name.round).u64(name.bytes).raw(name.root);
  if (!writing_ || !write_all(writing_.get(), out.written())) {
    log(LogLevel::kInfo, "{}: cannot be written; a transfer that breaks begins anew", path_);
    writing_.reset();
  }
}

void StateFile::keep(const BlockHead& head, ByteSpan body) {
  if (!writing_ && reading_) {
    // Goes on behind what was read.
    reading_.reset();
    const int opened = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (opened >= 0 && ::ftruncate(opened, end_) == 0 && ::lseek(opened, end_, SEEK_SET) == end_) {
      writing_.reset(::fdopen(opened, "wb"));
    } else if (opened >= 0) {
      ::close(opened);
    }
  }
  if (!writing_) return;
  const Bytes encoded = head.encode();
  Writer out;
  out.u32(static_cast<std::uint32_t>(encoded.size())).u32(static_cast<std::uint32_t>(body.size()));
  const bool kept = write_all(writing_.get(), out.written()) &&
                    write_all(writing_.get(), encoded) && write_all(writing_.get(), body) &&
                    std::fflush(writing_.get()) == 0;
  if (!kept) writing_.reset();
}

void StateFile::forget() {
  reading_.reset();
  writing_.reset();
  static_cast<void>(::unlink(path_.c_str()));
}

}  // namespace weft
