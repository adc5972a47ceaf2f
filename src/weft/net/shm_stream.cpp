#include "weft/net/shm_stream.h"

#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "weft/net/shm_ring.h"
#include "weft/net/socket.h"

namespace weft {

namespace {

constexpr std::uint32_t kOfferMagic = 0x6d687377;  // "wshm"
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kBellsAtOnce = 64;

struct Offer {
  std::uint32_t magic = kOfferMagic;
  std::uint32_t ring_bytes = 0;
};

class ShmStream final : public ByteStream, public PolledStream {
 public:
  // `ring_bytes` 0: the acceptor's side, which takes what is offered.
  ShmStream(int socket, std::size_t ring_bytes)
      : socket_(socket), dialled_(ring_bytes > 0), ring_bytes_(ring_bytes) {}
  ~ShmStream() override {
    if (memory_ != nullptr) ::munmap(memory_, mapped_bytes());
  }
  ShmStream(const ShmStream&) = delete;
  ShmStream& operator=(const ShmStream&) = delete;

  IoResult handshake() override {
    if (!dialled_) return take_offer();
    if (memory_ == nullptr) return make_offer();
    std::uint8_t taken = 0;
    const ssize_t got = ::recv(socket_, &taken, 1, MSG_DONTWAIT);
    if (got == 0) return {IoState::kEnd, 0, {}};
    if (got < 0) return io_error(errno, IoState::kWantRead);
    return {};
  }

  IoResult read(const std::array<MutableByteSpan, 2>& parts) override {
    if (!incoming_.sound()) return unsound();
    IoResult result;
    for (const MutableByteSpan part : parts) {
      const std::size_t got = incoming_.read(part);
      result.bytes += got;
      if (got < part.size()) {
        result.state = IoState::kWantRead;
        break;
      }
    }
    if (incoming_.wake_writer()) ring_bell();
    return result;
  }

  IoResult write(std::span<const ByteSpan> parts) override {
    if (!outgoing_.sound()) return unsound();
    IoResult result;
    for (const ByteSpan part : parts) {
      const std::size_t put = outgoing_.write(part);
      result.bytes += put;
      if (put < part.size()) {
        result.state = IoState::kWantWrite;
        break;
      }
    }
    if (result.bytes > 0 && outgoing_.wake_reader()) ring_bell();
    return result;
  }

  PolledStream* polled() override { return this; }
  bool readable() const override { return incoming_.readable(); }
  bool writable() const override { return outgoing_.writable(); }
  void ask_for_bell() override {
    // These stores and the other side's stores of its counters have one order, so either it sees
    // the flag, or the check that follows here sees its bytes.
    incoming_.set_reader_sleeps(true);
    outgoing_.set_writer_sleeps(true);
  }
  void withdraw_bell() override {
    incoming_.set_reader_sleeps(false);
    outgoing_.set_writer_sleeps(false);
  }
  IoResult answer_bell() override {
    std::array<std::uint8_t, kBellsAtOnce> bells;
    const ssize_t got = ::recv(socket_, bells.data(), bells.size(), MSG_DONTWAIT);
    if (got == 0) return {IoState::kEnd, 0, {}};
    if (got < 0) return io_error(errno, IoState::kWantRead);
    return {IoState::kWantRead, 0, {}};
  }

 private:
  std::size_t mapped_bytes() const { return 2 * ShmRing::memory_bytes(ring_bytes_); }

  static IoResult unsound() {
    return {IoState::kFailed, 0, corrupt("shared memory: the counters of a ring are impossible")};
  }

  // A full socket holds bells enough.
  void ring_bell() {
    const std::uint8_t bell = 1;
    static_cast<void>(::send(socket_, &bell, 1, MSG_DONTWAIT | MSG_NOSIGNAL));
  }

  Status map(int descriptor) {
    void* mapped =
        ::mmap(nullptr, mapped_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (mapped == MAP_FAILED) return system_status(errno);
    memory_ = static_cast<std::uint8_t*>(mapped);
    const ShmRing first(memory_, ring_bytes_);
    const ShmRing second(memory_ + ShmRing::memory_bytes(ring_bytes_), ring_bytes_);
    outgoing_ = dialled_ ? first : second;
    incoming_ = dialled_ ? second : first;
    return {};
  }

  IoResult make_offer() {
    const Socket memory(::memfd_create("weft-link", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!memory.valid() || ::ftruncate(memory.get(), static_cast<off_t>(mapped_bytes())) != 0 ||
        ::fcntl(memory.get(), F_ADD_SEALS, kSeals) != 0) {
      return {IoState::kFailed, 0, system_status(errno).with_context("shared memory")};
    }
    if (const Status mapped = map(memory.get()); !mapped.ok()) {
      return {IoState::kFailed, 0, mapped};
    }
    Offer offer;
    offer.ring_bytes = static_cast<std::uint32_t>(ring_bytes_);
    iovec part{&offer, sizeof offer};
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
    const int descriptor = memory.get();
    std::memcpy(CMSG_DATA(rights), &descriptor, sizeof descriptor);
    // An empty socket takes it whole.
    if (::sendmsg(socket_, &message, MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof offer)) {
      return {IoState::kFailed, 0, system_status(errno)};
    }
    return {IoState::kWantRead, 0, {}};
  }

  IoResult take_offer() {
    Offer offer;
    iovec part{&offer, sizeof offer};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t got = ::recvmsg(socket_, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (got == 0) return {IoState::kEnd, 0, {}};
    if (got < 0) return io_error(errno, IoState::kWantRead);
    Socket memory;
    const cmsghdr* rights = CMSG_FIRSTHDR(&message);
    if (rights != nullptr && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS &&
        rights->cmsg_len == CMSG_LEN(sizeof(int))) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(rights), sizeof descriptor);
      memory = Socket(descriptor);
    }
    if (got != static_cast<ssize_t>(sizeof offer) || offer.magic != kOfferMagic ||
        !memory.valid() || offer.ring_bytes == 0 || offer.ring_bytes % kPageBytes != 0 ||
        offer.ring_bytes > kShmRingBytesMax) {
      return {IoState::kFailed, 0, corrupt("shared memory: expected an offer of rings")};
    }
    ring_bytes_ = offer.ring_bytes;
    struct stat info {};
    // Memory that can shrink under the mapping would be a way to kill this process.
    if (::fstat(memory.get(), &info) != 0 || info.st_size != static_cast<off_t>(mapped_bytes()) ||
        (::fcntl(memory.get(), F_GET_SEALS) & kSeals) != kSeals) {
      return {IoState::kFailed, 0, corrupt("shared memory: expected sealed memory of two rings")};
    }
    if (const Status mapped = map(memory.get()); !mapped.ok()) {
      return {IoState::kFailed, 0, mapped};
    }
    ring_bell();
    return {};
  }

  int socket_;
  bool dialled_;
  std::size_t ring_bytes_;
  std::uint8_t* memory_ = nullptr;
  ShmRing outgoing_;
  ShmRing incoming_;
};

}  // namespace

std::unique_ptr<ByteStream> dial_shm_stream(int socket, std::size_t ring_bytes) {
  WEFT_CHECK(ring_bytes > 0 && ring_bytes % kPageBytes == 0 && ring_bytes <= kShmRingBytesMax);
  return std::make_unique<ShmStream>(socket, ring_bytes);
}

std::unique_ptr<ByteStream> accept_shm_stream(int socket) {
  return std::make_unique<ShmStream>(socket, 0);
}

}  // namespace weft
