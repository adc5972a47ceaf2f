#include "weft/net/shm/shm_stream.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "weft/net/shm/shm_items.h"
#include "weft/net/stream/socket.h"

namespace weft {

namespace {

constexpr std::uint32_t kOfferMagic = 0x32687377;  // "wsh2"
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
constexpr std::size_t kPageBytes = 4096;

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
    IoResult result;
    for (const MutableByteSpan part : parts) {
      const std::size_t got = read_part(part, result);
      result.bytes += got;
      if (got < part.size()) break;
    }
    incoming_.ring().release();
    if (outgoing_room_was_made()) ring_bell();
    return result;
  }

  IoResult write(std::span<const ByteSpan> parts) override {
    if (!outgoing_.ring().sound()) {
      return failed(corrupt("shared memory: the counters of a ring are impossible"));
    }
    std::size_t given = 0;
    for (const ByteSpan part : parts) given += part.size();
    const std::size_t taken = outgoing_.take(parts);
    if (taken > 0 && outgoing_.ring().wake_reader()) ring_bell();
    IoResult result;
    result.bytes = outgoing_.settle();
    if (taken < given || outgoing_.ahead() > 0) result.state = IoState::kWantWrite;
    return result;
  }

  PolledStream* polled() override { return this; }
  bool readable() const override { return incoming_.readable(); }
  bool writable(std::size_t queued) const override {
    return (queued > outgoing_.ahead() && outgoing_.ring().writable()) || outgoing_.can_settle();
  }
  std::size_t bytes_ahead() const override { return outgoing_.ahead(); }
  ByteSpan named_bytes() override {
    // What is wrong with the item read() will find as well.
    return incoming_.next().ok() ? incoming_.named() : ByteSpan();
  }
  void release_named_bytes() override {
    incoming_.release_named(incoming_.named().size());
    if (incoming_.ring().wake_writer()) ring_bell();
  }
  void ask_for_bell(bool to_write) override {
    // These stores and the other side's stores of its counters have one order, so either it sees
    // the flag, or the check that follows here sees its bytes.
    incoming_.ring().set_sleeps(true);
    if (to_write) outgoing_.ring().set_sleeps(true);
  }
  void withdraw_bell() override {
    incoming_.ring().set_sleeps(false);
    outgoing_.ring().set_sleeps(false);
  }
  IoResult answer_bell() override {
    const ssize_t got = incoming_.receive();
    if (got == 0) return {IoState::kEnd, 0, {}};
    if (got < 0) return io_error(errno, IoState::kWantRead);
    return {IoState::kWantRead, 0, {}};
  }

 private:
  static IoResult failed(Status why) { return {IoState::kFailed, 0, std::move(why)}; }

  // Ends before named bytes if anything was read before: they may be taken where they lie.
  std::size_t read_part(MutableByteSpan part, IoResult& result) {
    std::size_t got = 0;
    while (got < part.size()) {
      if (Status status = incoming_.next(); !status.ok()) {
        result.state = IoState::kFailed;
        result.error = std::move(status);
        break;
      }
      if (const ByteSpan named = incoming_.named(); !named.empty()) {
        if (result.bytes + got > 0) break;
        const std::size_t size = std::min(named.size(), part.size());
        std::memcpy(part.data(), named.data(), size);
        incoming_.release_named(size);
        return size;
      }
      const std::size_t run = incoming_.get(part.subspan(got));
      got += run;
      if (run == 0) {
        result.state = IoState::kWantRead;
        break;
      }
    }
    return got;
  }

  bool outgoing_room_was_made() {
    return incoming_.ring().available() <= ring_bytes_ - ring_bytes_ / 4 &&
           incoming_.ring().wake_writer();
  }

  std::size_t mapped_bytes() const { return 2 * shm_ring_bytes(ring_bytes_); }

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
    std::uint8_t* const dialled = memory_;
    std::uint8_t* const accepted = memory_ + shm_ring_bytes(ring_bytes_);
    outgoing_ = {socket_, {dialled_ ? dialled : accepted, ring_bytes_}};
    incoming_ = {socket_, {dialled_ ? accepted : dialled, ring_bytes_}};
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
    const ByteSpan bytes{reinterpret_cast<const std::uint8_t*>(&offer), sizeof offer};
    // An empty socket takes it whole.
    if (!send_descriptor(socket_, bytes, memory.get())) return failed(system_status(errno));
    return {IoState::kWantRead, 0, {}};
  }

  IoResult take_offer() {
    Offer offer;
    Socket memory;
    const ssize_t got = receive_with_descriptor(
        socket_, {reinterpret_cast<std::uint8_t*>(&offer), sizeof offer}, memory);
    if (got == 0) return {IoState::kEnd, 0, {}};
    if (got < 0) return io_error(errno, IoState::kWantRead);
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
  ShmItemWriter outgoing_;
  ShmItemReader incoming_;
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
