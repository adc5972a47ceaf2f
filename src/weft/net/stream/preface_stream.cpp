#include "weft/net/stream/preface_stream.h"

#include <cerrno>

#include <sys/socket.h>

namespace weft {

PrefaceStream::PrefaceStream(int socket, std::unique_ptr<ByteStream> inner,
                             std::optional<PrefaceMessage> say, PrefaceHearing hearing)
    : socket_(socket), inner_(std::move(inner)), hearing_(hearing) {
  if (say.has_value()) say_ = say->encode();
}

const PrefaceMessage* PrefaceStream::preface() const {
  return hearing_ == PrefaceHearing::kPerhaps && preface_.has_value() ? &*preface_ : nullptr;
}

bool PrefaceStream::answers(const PrefaceMessage& heard) const {
  const Result<PrefaceMessage> own = PrefaceMessage::decode(say_);
  return own.ok() && heard.kind == own->kind && heard.mark == own->mark &&
         heard.lane == own->lane && heard.asker != own->asker;
}

std::unique_ptr<ByteStream> PrefaceStream::successor() {
  return preface() == nullptr ? std::move(inner_) : nullptr;
}

IoResult PrefaceStream::handshake() {
  IoResult step = say();
  if (step.state != IoState::kMore) return step;
  step = hear();
  if (step.state != IoState::kMore || preface() != nullptr) return step;
  return inner_->handshake();
}

IoResult PrefaceStream::say() {
  while (said_ < say_.size()) {
    const ssize_t size = ::send(socket_, say_.data() + said_, say_.size() - said_, MSG_NOSIGNAL);
    if (size < 0) return io_error(errno, IoState::kWantWrite);
    said_ += static_cast<std::size_t>(size);
  }
  return {};
}

IoResult PrefaceStream::hear() {
  if (hearing_ == PrefaceHearing::kNone || heard_) return {};
  if (hearing_ == PrefaceHearing::kPerhaps && got_ == 0) {
    std::uint8_t first = 0;
    const ssize_t size = ::recv(socket_, &first, 1, MSG_PEEK);
    if (size < 0) return io_error(errno, IoState::kWantRead);
    if (size == 0) return {IoState::kEnd, 0, {}};
    heard_ = first != kPrefaceFirstByte;
    if (heard_) return {};
  }
  while (got_ < bytes_.size()) {
    const ssize_t size = ::recv(socket_, bytes_.data() + got_, bytes_.size() - got_, 0);
    if (size < 0) return io_error(errno, IoState::kWantRead);
    if (size == 0) return {IoState::kEnd, 0, {}};
    got_ += static_cast<std::size_t>(size);
  }
  const Result<PrefaceMessage> decoded = PrefaceMessage::decode(bytes_);
  if (!decoded.ok()) return {IoState::kFailed, 0, decoded.status()};
  if (hearing_ == PrefaceHearing::kOne && !answers(*decoded)) {
    return {IoState::kFailed, 0, corrupt("preface: not that of the other side of this punch")};
  }
  heard_ = true;
  preface_ = *decoded;
  return {};
}

}  // namespace weft
