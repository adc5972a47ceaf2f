#include "weft/collective/swarm/record_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "weft/base/file.h"
#include "weft/base/hash.h"
#include "weft/base/log.h"
#include "weft/wire/codec.h"

namespace weft {
namespace {

constexpr std::string_view kRecordMagic = "WEFTREC1";
constexpr std::size_t kRecordHeaderBytes = 8 + 32 + 32;
constexpr const char* kMachineId = "/etc/machine-id";
constexpr std::size_t kMachineIdBytesMax = 4096;

std::string record_folder(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

// The machine, and which of its folders; the same as long as the folder is neither copied nor
// moved to another file system.
Hash256 record_place(const std::string& path) {
  Writer out;
  if (const Result<Bytes> machine = read_file(kMachineId, kMachineIdBytesMax); machine.ok()) {
    out.bytes(*machine);
  }
  struct stat folder = {};
  if (::stat(record_folder(path).c_str(), &folder) == 0) {
    out.u64(static_cast<std::uint64_t>(folder.st_ino));
  }
  return sha256(out.written());
}

Hash256 record_sum(const Hash256& place, ByteSpan record) {
  return Sha256().update(as_bytes(kRecordMagic)).update(place).update(record).finish();
}

// True if there is no file any more, whatever befalls the machine.
bool remove_record(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return false;
  const int folder = ::open(record_folder(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return errno == ENOENT;
  const bool synced = ::fsync(folder) == 0 || errno == EINVAL;
  ::close(folder);
  return synced;
}

}  // namespace

Result<std::optional<VoterRecord>> RecordFile::load(const std::string& path, const PeerId& self) {
  if (!is_file(path)) return std::optional<VoterRecord>();
  WEFT_TRY_ASSIGN(const Bytes bytes, read_file(path, kRecordBytesMax + kRecordHeaderBytes));
  const std::string advice =
      "; this peer joins as a newcomer, without the votes of the process before";
  const ByteSpan all = bytes;
  const ByteSpan magic = as_bytes(kRecordMagic);
  if (all.size() < kRecordHeaderBytes || !std::equal(magic.begin(), magic.end(), all.begin())) {
    return corrupt(path + ": is no membership record" + advice);
  }
  Reader header("membership record", all.subspan(8, 64));
  const auto place = header.raw<32>("place");
  const auto sum = header.raw<32>("sum");
  const ByteSpan record = all.subspan(kRecordHeaderBytes);
  if (sum != record_sum(place, record)) return corrupt(path + ": is damaged" + advice);
  if (place != record_place(path)) {
    return corrupt(path + ": was copied from another folder or machine" + advice);
  }
  Result<VoterRecord> decoded = VoterRecord::decode(record);
  if (!decoded.ok()) return decoded.status().with_context(path);
  if (decoded->self != self) return corrupt(path + ": is the record of another peer" + advice);
  return std::optional<VoterRecord>(std::move(decoded).value());
}

bool RecordFile::keep(ByteSpan record, bool durable) {
  const Hash256 place = record_place(path_);
  const Hash256 sum = record_sum(place, record);
  const std::array<ByteSpan, 4> parts = {as_bytes(kRecordMagic), place, sum, record};
  const Status written =
      write_file_atomically(path_, parts, WriteFileOptions{.mode = 0600, .durable = durable});
  if (written.ok()) {
    warned_ = false;
    return true;
  }
  if (!std::exchange(warned_, true)) {
    log(LogLevel::kWarning,
        "{}; if this process is started again, its votes of before do not count",
        written.message());
  }
  return remove_record(path_);
}

}  // namespace weft
