#include "raw_link.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

#include "weft/base/time.h"
#include "weft/wire/codec.h"
#include "weft/wire/frame_type.h"

namespace weft::hostile {
namespace {

constexpr std::size_t kStagingBytes = std::size_t{64} << 10;
// So many frames of one link are kept; more are counted and dropped.
constexpr std::size_t kHeardMax = 512;

TimePoint now() { return SystemClock().now(); }

int milliseconds_until(TimePoint deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count() + 1, 0, 60000));
}

Result<sockaddr_in> ipv4_address(const std::string& host, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  if (inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1) {
    return invalid_argument("expected an IPv4 address, got " + host);
  }
  return address;
}

const sockaddr* generic_address(const sockaddr_in& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

}  // namespace

HelloMessage hello_of(const PeerId& self, const PeerId& peer, Lane lane, const LinkId& link) {
  HelloMessage hello;
  hello.lane = static_cast<std::uint8_t>(lane);
  hello.from = self;
  hello.to = peer;
  hello.link = link;
  hello.instance = Reader("link", link).u64("instance");
  return hello;
}

Bytes frame_header(std::uint32_t head_bytes, std::uint32_t body_bytes, std::uint8_t type) {
  Writer out;
  out.u32(head_bytes).u32(body_bytes).u8(type).u8(0).u16(0);
  return out.take();
}

Bytes framed(std::uint8_t type, ByteSpan head, ByteSpan body) {
  Bytes bytes = frame_header(static_cast<std::uint32_t>(head.size()),
                             static_cast<std::uint32_t>(body.size()), type);
  bytes.insert(bytes.end(), head.begin(), head.end());
  bytes.insert(bytes.end(), body.begin(), body.end());
  return bytes;
}

Result<Socket> begin_dial(const std::string& endpoint, const std::string& source) {
  WEFT_TRY_ASSIGN(const HostPort target, parse_host_port(endpoint));
  WEFT_TRY_ASSIGN(const sockaddr_in to, ipv4_address(target.host, target.port));
  Socket made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made.valid()) return system_status(errno);
  if (!source.empty()) {
    WEFT_TRY_ASSIGN(const sockaddr_in from, ipv4_address(source, 0));
    // Ports are drawn when the connection is made: more are open at once than one address has.
    const int later = 1;
    ::setsockopt(made.get(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &later, sizeof later);
    if (::bind(made.get(), generic_address(from), sizeof from) != 0) return system_status(errno);
  }
  if (::connect(made.get(), generic_address(to), sizeof to) != 0 && errno != EINPROGRESS) {
    return system_status(errno);
  }
  return made;
}

// --- One lane.

RawLane::RawLane() : decoder_(kStagingBytes) {}

Status RawLane::wait(short events, TimePoint deadline) const {
  pollfd waited{socket_.get(), events, 0};
  if (::poll(&waited, 1, milliseconds_until(deadline)) > 0) return {};
  return timed_out("the other side does not answer");
}

Status RawLane::begin(TlsContext* context, const std::string& endpoint, const std::string& source) {
  context_ = context;
  WEFT_TRY_ASSIGN(socket_, begin_dial(endpoint, source));
  return {};
}

IoState RawLane::advance() {
  if (stream_ == nullptr) {
    pollfd waited{socket_.get(), POLLOUT, 0};
    if (::poll(&waited, 1, 0) <= 0) return IoState::kWantWrite;
    failure_ = connect_outcome(socket_.get());
    if (!failure_.ok()) return IoState::kFailed;
    stream_ =
        context_ == nullptr ? make_plain_stream(socket_.get()) : context_->dial(socket_.get());
  }
  if (context_ == nullptr) return IoState::kMore;
  const IoResult result = stream_->handshake();
  failure_ = result.state == IoState::kEnd ? unavailable("the other side ended the handshake")
                                           : result.error;
  return result.state;
}

Status RawLane::finish_opening(TimePoint deadline) {
  for (;;) {
    const IoState state = advance();
    if (state == IoState::kMore) return {};
    if (state == IoState::kEnd || state == IoState::kFailed) return failure_;
    WEFT_TRY(wait(state == IoState::kWantRead ? POLLIN : POLLOUT, deadline));
  }
}

Status RawLane::open_plain(const std::string& endpoint, const std::string& source,
                           TimePoint deadline) {
  WEFT_TRY(begin(nullptr, endpoint, source));
  return finish_opening(deadline);
}

Status RawLane::open(TlsContext& context, const std::string& endpoint, const std::string& source,
                     TimePoint deadline) {
  WEFT_TRY(begin(&context, endpoint, source));
  return finish_opening(deadline);
}

Status RawLane::write(ByteSpan bytes, TimePoint deadline) {
  while (!ended_) {
    const std::array<ByteSpan, 1> parts = {bytes};
    const IoResult result = stream_->write(bytes.empty() ? std::span<const ByteSpan>() : parts);
    bytes = bytes.subspan(result.bytes);
    if (result.state == IoState::kEnd || result.state == IoState::kFailed) {
      ended_ = true;
    } else if (result.state == IoState::kWantWrite) {
      WEFT_TRY(wait(POLLOUT, deadline));
    } else if (bytes.empty()) {
      return {};
    }
  }
  return unavailable("the other side has ended the connection");
}

bool RawLane::read_some() {
  while (!ended_) {
    const IoResult result = stream_->read(decoder_.destinations());
    if (result.bytes > 0 && !decoder_.received(result.bytes, *this).ok()) ended_ = true;
    if (result.state == IoState::kEnd || result.state == IoState::kFailed) ended_ = true;
    if (result.state == IoState::kWantRead || result.state == IoState::kWantWrite) break;
  }
  return !ended_;
}

void RawLane::on_frame(const FrameView& frame) {
  heard_.push_back({frame.type, Bytes(frame.head.begin(), frame.head.end()),
                    Bytes(frame.body.begin(), frame.body.end())});
}

// --- The link.

Result<std::unique_ptr<RawLink>> RawLink::open(const PeerIdentity& self, const RawTarget& target,
                                               const std::string& source, Duration limit) {
  std::unique_ptr<RawLink> link(new RawLink());
  WEFT_TRY_ASSIGN(link->context_, TlsContext::make(self));
  link->self_ = self.id();
  link->peer_ = target.peer;
  random_bytes(link->id_);
  const TimePoint deadline = now() + limit;
  for (const Lane lane : {Lane::kControl, Lane::kBulk}) {
    auto made = std::make_unique<RawLane>();
    WEFT_TRY(made->open(*link->context_, target.endpoint, source, deadline));
    const HelloMessage hello = hello_of(self.id(), target.peer, lane, link->id_);
    WEFT_TRY(made->write(framed(frame_type::kHello, hello.encode()), deadline));
    link->lanes_[lane_index(lane)] = std::move(made);
    link->hear(deadline - now(), frame_type::kHelloReply, lane_index(lane) + 1);
    if (link->counts_[frame_type::kHelloReply] != lane_index(lane) + 1) {
      return unavailable("no link: " + link->farewell_);
    }
  }
  link->exporter_ = link->lanes_[0]->stream().exporter().value_or(link->exporter_);
  link->counts_.clear();
  link->bytes_heard_ = 0;
  return link;
}

Status RawLink::write(Lane lane, ByteSpan bytes, Duration limit) {
  const Status written = lanes_[lane_index(lane)]->write(bytes, now() + limit);
  if (!written.ok() && lanes_[lane_index(lane)]->ended()) ended_ = true;
  return written;
}

bool RawLink::widen(std::uint8_t number, const RawTarget& target, const std::string& source,
                    Duration limit) {
  const TimePoint deadline = now() + limit;
  auto made = std::make_unique<RawLane>();
  if (!made->open(*context_, target.endpoint, source, deadline).ok()) return false;
  HelloMessage hello = hello_of(self_, peer_, Lane::kBulk, id_);
  hello.lane = number;
  if (!made->write(framed(frame_type::kHello, hello.encode()), deadline).ok()) return false;
  std::vector<HeardFrame> heard;
  while (heard.empty() && made->read_some() && now() < deadline) {
    pollfd waited{made->descriptor(), POLLIN, 0};
    ::poll(&waited, 1, milliseconds_until(deadline));
    made->read_some();
    heard = made->take_heard();
  }
  if (heard.empty() || heard[0].type != frame_type::kHelloReply) return false;
  const Result<HelloReplyMessage> reply = HelloReplyMessage::decode(heard[0].head);
  further_.push_back(std::move(made));
  return reply.ok() && reply->verdict == HelloVerdict::kAccepted;
}

void RawLink::take_frames() {
  for (const auto& lane : lanes_) {
    if (lane == nullptr) continue;
    for (HeardFrame& frame : lane->take_heard()) {
      ++counts_[frame.type];
      bytes_heard_ += frame.head.size() + frame.body.size() + kFrameHeaderBytes;
      if (frame.type == frame_type::kGoodbye) {
        const Result<GoodbyeMessage> goodbye = GoodbyeMessage::decode(frame.head);
        farewell_ = goodbye.ok() ? goodbye->text : "a goodbye that does not decode";
        ended_ = true;
      } else if (frame.type == frame_type::kHelloReply) {
        const Result<HelloReplyMessage> reply = HelloReplyMessage::decode(frame.head);
        if (!reply.ok() || reply->verdict != HelloVerdict::kAccepted) {
          farewell_ = reply.ok() ? reply->text : "a reply that does not decode";
          ended_ = true;
        }
      }
      if (heard_.size() < kHeardMax) heard_.push_back(std::move(frame));
    }
  }
}

void RawLink::hear(Duration limit, std::uint8_t type, std::size_t enough) {
  const TimePoint deadline = now() + limit;
  for (;;) {
    std::array<pollfd, 2> waited{};
    nfds_t count = 0;
    for (const auto& lane : lanes_) {
      if (lane == nullptr) continue;
      if (!lane->read_some()) ended_ = true;
      waited[count++] = {lane->descriptor(), POLLIN, 0};
    }
    take_frames();
    if (ended_ || (enough > 0 && counts_[type] >= enough) || now() >= deadline) return;
    ::poll(waited.data(), count, milliseconds_until(deadline));
  }
}

}  // namespace weft::hostile
