#include <cerrno>
#include <system_error>

#include <sys/socket.h>
#include <sys/uio.h>

#include "weft/net/stream/byte_stream.h"

namespace weft {

namespace {

constexpr std::size_t kPartsMax = 64;

class PlainStream final : public ByteStream {
 public:
  explicit PlainStream(int socket) : socket_(socket) {}

  IoResult handshake() override { return {}; }

  IoResult read(const std::array<MutableByteSpan, 2>& parts) override {
    std::array<iovec, 2> vectors{
        {{parts[0].data(), parts[0].size()}, {parts[1].data(), parts[1].size()}}};
    const ssize_t got = ::readv(socket_, vectors.data(), 2);
    if (got < 0) return io_error(errno, IoState::kWantRead);
    if (got == 0) return {IoState::kEnd, 0, {}};
    const auto size = static_cast<std::size_t>(got);
    // Less than asked for: the socket is empty, so the next call would only say so.
    const bool drained = size < parts[0].size() + parts[1].size();
    return {drained ? IoState::kWantRead : IoState::kMore, size, {}};
  }

  IoResult write(std::span<const ByteSpan> parts) override {
    std::array<iovec, kPartsMax> vectors;
    msghdr message{};
    message.msg_iov = vectors.data();
    std::size_t asked = 0;
    for (const ByteSpan part : parts.first(std::min(parts.size(), kPartsMax))) {
      vectors[message.msg_iovlen++] = {const_cast<std::uint8_t*>(part.data()), part.size()};
      asked += part.size();
    }
    if (asked == 0) return {};
    const ssize_t sent = ::sendmsg(socket_, &message, MSG_NOSIGNAL);
    if (sent < 0) return io_error(errno, IoState::kWantWrite);
    const auto size = static_cast<std::size_t>(sent);
    return {size < asked ? IoState::kWantWrite : IoState::kMore, size, {}};
  }

 private:
  int socket_;
};

}  // namespace

IoResult io_error(int error, IoState when_blocked) {
  if (error == EAGAIN || error == EWOULDBLOCK || error == EINTR) return {when_blocked, 0, {}};
  return {IoState::kFailed, 0, unavailable(std::generic_category().message(error))};
}

std::unique_ptr<ByteStream> make_plain_stream(int socket) {
  return std::make_unique<PlainStream>(socket);
}

}  // namespace weft
