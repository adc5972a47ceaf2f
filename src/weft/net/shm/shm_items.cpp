#include "weft/net/shm/shm_items.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

namespace weft {

namespace {

enum Kind : std::uint32_t { kRun = 0, kNamed = 1, kForget = 2 };

struct Item {
  std::uint32_t kind = kRun;
  std::uint32_t size = 0;
  std::uint64_t place = 0;
};

// Less is copied sooner than it is named and let go of.
constexpr std::size_t kNamedFromBytes = 16 * 1024;
constexpr unsigned kRegionBits = 16;
constexpr std::uint64_t kRegionMask = (std::uint64_t{1} << kRegionBits) - 1;
constexpr std::size_t kBellsAtOnce = 64;

bool may_be_named(ByteSpan part) { return part.size() >= kNamedFromBytes; }

}  // namespace

bool send_descriptor(int socket, ByteSpan bytes, int descriptor) {
  iovec part{const_cast<std::uint8_t*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(rights), &descriptor, sizeof descriptor);
  return ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(bytes.size());
}

ssize_t receive_with_descriptor(int socket, MutableByteSpan bytes, Socket& received) {
  iovec part{bytes.data(), bytes.size()};
  // With room for one, the system closes whatever more comes.
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (got <= 0) return got;
  const cmsghdr* rights = CMSG_FIRSTHDR(&message);
  if (rights != nullptr && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS &&
      rights->cmsg_len == CMSG_LEN(sizeof(int))) {
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(rights), sizeof descriptor);
    received = Socket(descriptor);
  }
  return got;
}

// --- The writer.

std::size_t ShmItemWriter::take(std::span<const ByteSpan> parts) {
  std::size_t taken = 0;
  for (std::size_t i = 0; i < parts.size();) {
    if (may_be_named(parts[i]) && name(parts[i])) {
      taken += parts[i++].size();
      continue;
    }
    // A run of all that follows up to what may be named, or of the one part that cannot be.
    std::size_t size = parts[i].size();
    std::size_t end = i + 1;
    while (end < parts.size() && !may_be_named(parts[end])) size += parts[end++].size();
    if (ring_.room() <= sizeof(Item)) break;
    const std::size_t fits = std::min(size, ring_.room() - sizeof(Item));
    put_item(kRun, fits, 0);
    std::size_t left = fits;
    for (; i < end && left > 0; ++i) {
      const std::size_t put = ring_.put(parts[i].first(std::min(left, parts[i].size())));
      left -= put;
    }
    note(fits, 0);
    taken += fits;
    if (fits < size) break;
  }
  ring_.show();
  return taken;
}

bool ShmItemWriter::put_item(std::uint32_t kind, std::size_t size, std::uint64_t place) {
  if (ring_.room() < sizeof(Item)) return false;
  const Item item{kind, static_cast<std::uint32_t>(size), place};
  std::array<std::uint8_t, sizeof item> bytes;
  std::memcpy(bytes.data(), &item, sizeof item);
  ring_.put(bytes);
  return true;
}

void ShmItemWriter::note(std::size_t bytes, std::uint64_t released_at) {
  if (released_at == 0 && waiting_.empty()) {
    settled_ += bytes;
  } else {
    waiting_.push_back({released_at, bytes});
  }
  ahead_ += bytes;
}

bool ShmItemWriter::name(ByteSpan part) {
  const std::shared_ptr<const SharedMemory> memory = SharedMemory::find(part);
  if (memory == nullptr) return false;
  const std::optional<std::uint64_t> region = region_of(memory);
  if (!region) return false;
  const auto offset = static_cast<std::uint64_t>(part.data() - memory->bytes().data());
  if (!put_item(kNamed, part.size(), offset << kRegionBits | *region)) return false;
  note(part.size(), ring_.position());
  return true;
}

std::optional<std::uint64_t> ShmItemWriter::region_of(
    const std::shared_ptr<const SharedMemory>& memory) {
  const auto known = std::find_if(regions_.begin(), regions_.end(), [&](const Region& region) {
    return !region.memory.owner_before(memory) && !memory.owner_before(region.memory);
  });
  if (known != regions_.end()) return known->number;
  forget_regions();
  const bool full = regions_.size() >= kShmRegionsMax || regions_told_ > kRegionMask;
  if (full || memory->bytes().size() > kShmRegionBytesMax) return std::nullopt;
  const std::array<std::uint8_t, 1> bell{1};
  if (!send_descriptor(socket_, bell, memory->descriptor())) return std::nullopt;
  regions_.push_back({memory, regions_told_});
  return regions_told_++;
}

void ShmItemWriter::forget_regions() {
  std::erase_if(regions_, [this](const Region& region) {
    return region.memory.expired() && put_item(kForget, 0, region.number);
  });
}

std::size_t ShmItemWriter::settle() {
  std::size_t bytes = std::exchange(settled_, 0);
  const std::uint64_t released = ring_.released();
  while (!waiting_.empty() && waiting_.front().released_at <= released) {
    bytes += waiting_.front().bytes;
    waiting_.pop_front();
  }
  ahead_ -= bytes;
  return bytes;
}

// --- The reader.

void ShmItemReader::Unmap::operator()(std::uint8_t* memory) const { ::munmap(memory, bytes); }

Status ShmItemReader::next() {
  while (run_left_ == 0 && named_.empty()) {
    if (!failure_.ok()) return failure_;
    if (!ring_.sound()) return corrupt("shared memory: the counters of a ring are impossible");
    std::array<std::uint8_t, sizeof(Item)> bytes;
    if (!ring_.peek(bytes)) return {};
    Item item;
    std::memcpy(&item, bytes.data(), sizeof item);
    switch (item.kind) {
      case kRun:
        if (item.size == 0) return corrupt("shared memory: an empty run");
        run_left_ = item.size;
        break;
      case kNamed:
        // The item stays in the ring until its bytes have been read.
        return name(item.size, item.place);
      case kForget:
        WEFT_TRY(forget(item.place));
        break;
      default:
        return corrupt("shared memory: an item of no known kind");
    }
    ring_.skip(sizeof item);
  }
  return {};
}

std::size_t ShmItemReader::get(MutableByteSpan bytes) {
  const std::size_t got = ring_.get(bytes.first(std::min(bytes.size(), run_left_)));
  run_left_ -= got;
  return got;
}

void ShmItemReader::release_named(std::size_t size) {
  named_ = named_.subspan(size);
  if (!named_.empty()) return;
  ring_.skip(sizeof(Item));
  ring_.release();
}

ssize_t ShmItemReader::receive() {
  std::array<std::uint8_t, kBellsAtOnce> bells;
  Socket descriptor;
  const ssize_t got = receive_with_descriptor(socket_, bells, descriptor);
  if (descriptor.valid() && failure_.ok()) failure_ = take_region(descriptor);
  return got;
}

Status ShmItemReader::take_region(const Socket& descriptor) {
  struct stat info {};
  // Memory that can shrink under the mapping would be a way to kill this process.
  const int seals = ::fcntl(descriptor.get(), F_GET_SEALS);
  if (::fstat(descriptor.get(), &info) != 0 || info.st_size <= 0 || seals < 0 ||
      (seals & F_SEAL_SHRINK) == 0 ||
      static_cast<std::uint64_t>(info.st_size) > kShmRegionBytesMax ||
      regions_.size() >= kShmRegionsMax || regions_heard_ > kRegionMask) {
    return corrupt("shared memory: expected sealed memory, and not too much of it");
  }
  const auto size = static_cast<std::size_t>(info.st_size);
  void* mapped = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor.get(), 0);
  if (mapped == MAP_FAILED) return system_status(errno).with_context("shared memory");
  regions_.emplace(regions_heard_++, Region(static_cast<std::uint8_t*>(mapped), Unmap{size}));
  return {};
}

Result<const ShmItemReader::Region*> ShmItemReader::find_region(std::uint64_t number) {
  // Its descriptor was sent before its number was said.
  while (number >= regions_heard_ && failure_.ok() && receive() > 0) {
  }
  WEFT_TRY(failure_);
  const auto found = regions_.find(number);
  if (found == regions_.end()) return corrupt("shared memory: a region that was never announced");
  return &found->second;
}

Status ShmItemReader::name(std::size_t size, std::uint64_t place) {
  WEFT_TRY_ASSIGN(const Region* region, find_region(place & kRegionMask));
  const std::size_t offset = place >> kRegionBits;
  const std::size_t whole = region->get_deleter().bytes;
  if (size == 0 || offset > whole || size > whole - offset) {
    return corrupt("shared memory: named bytes outside their region");
  }
  named_ = {region->get() + offset, size};
  return {};
}

Status ShmItemReader::forget(std::uint64_t number) {
  WEFT_TRY(find_region(number));
  regions_.erase(number);
  return {};
}

}  // namespace weft
