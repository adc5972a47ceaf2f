// RawLink: both lanes of a TLS link to a peer, spoken by hand, so that it can say anything.
//
// No transport stands behind it: hellos, frames and their headers are the caller's bytes, and what
// comes back is kept as it came. Threads: one. Every call ends at its limit.
// Fails: kUnavailable where the other side refuses or ends, kTimeout where it is too slow.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "weft/net/identity.h"
#include "weft/net/stream/frame_codec.h"
#include "weft/net/stream/socket.h"
#include "weft/net/stream/tls_stream.h"
#include "weft/wire/link_message.h"

namespace weft::hostile {

// A frame that the other side has sent.
struct HeardFrame {
  std::uint8_t type = 0;
  Bytes head;
  Bytes body;
};

// A frame as it travels; the lengths of its header are true.
Bytes framed(std::uint8_t type, ByteSpan head, ByteSpan body = {});
// A header with any lengths.
Bytes frame_header(std::uint32_t head_bytes, std::uint32_t body_bytes, std::uint8_t type);

// A hello in good order. Its instance follows from `link`: the other side takes each link for one
// of a process of its own.
HelloMessage hello_of(const PeerId& self, const PeerId& peer, Lane lane, const LinkId& link);

// A non-blocking socket from `source` (an address of this machine; empty: any) whose connect() to
// an IPv4 "host:port" has begun.
Result<Socket> begin_dial(const std::string& endpoint, const std::string& source);

// One connection: a handshake, then frames.
class RawLane final : private FrameSink {
 public:
  RawLane();
  // Connects and shakes hands. Borrows `context`, which must outlive this.
  Status open(TlsContext& context, const std::string& endpoint, const std::string& source,
              TimePoint deadline);
  // The same without encryption, which no member speaks.
  Status open_plain(const std::string& endpoint, const std::string& source, TimePoint deadline);
  // The same without waiting: advance() whenever the socket may be ready, until it is done. A null
  // `context`: without encryption.
  Status begin(TlsContext* context, const std::string& endpoint, const std::string& source);
  // kMore: done. kWantRead, kWantWrite: to be called again. Else it has failed.
  IoState advance();
  Status write(ByteSpan bytes, TimePoint deadline);
  // Reads what is there, without waiting; false once the other side has ended it.
  bool read_some();
  int descriptor() const { return socket_.get(); }
  bool ended() const { return ended_; }
  const ByteStream& stream() const { return *stream_; }
  std::vector<HeardFrame> take_heard() { return std::exchange(heard_, {}); }

 private:
  void on_frame(const FrameView& frame) override;
  MutableByteSpan body_destination(std::uint8_t /*type*/, ByteSpan /*head*/,
                                   std::size_t /*body_bytes*/) override {
    return {};
  }
  Status finish_opening(TimePoint deadline);
  Status wait(short events, TimePoint deadline) const;

  Socket socket_;
  TlsContext* context_ = nullptr;
  std::unique_ptr<ByteStream> stream_;
  Status failure_;
  FrameDecoder decoder_;
  std::vector<HeardFrame> heard_;
  bool ended_ = false;
};

struct RawTarget {
  std::string endpoint;
  PeerId peer;
};

class RawLink {
 public:
  // A link in good order: both hellos said and accepted.
  static Result<std::unique_ptr<RawLink>> open(const PeerIdentity& self, const RawTarget& target,
                                               const std::string& source, Duration limit);
  // kControl or kBulk.
  Status write(Lane lane, ByteSpan bytes, Duration limit);
  // Opens one more connection for the bulk lane, as links over long lines do, number 2 to 8:
  // whether the other side takes it.
  bool widen(std::uint8_t number, const RawTarget& target, const std::string& source,
             Duration limit);
  // Hears the other side for `limit`, or until it ends the link, or until `enough` frames of `type`
  // have come in all.
  void hear(Duration limit, std::uint8_t type = 0, std::size_t enough = 0);
  bool ended() const { return ended_; }
  // What the other side said with its goodbye.
  const std::string& farewell() const { return farewell_; }
  const std::array<std::uint8_t, 32>& exporter() const { return exporter_; }
  const PeerId& self() const { return self_; }
  const PeerId& peer() const { return peer_; }
  // Since the link came up.
  const std::map<std::uint8_t, std::size_t>& counts() const { return counts_; }
  std::size_t bytes_heard() const { return bytes_heard_; }
  std::vector<HeardFrame> take_heard() { return std::exchange(heard_, {}); }

 private:
  RawLink() = default;
  void take_frames();

  std::unique_ptr<TlsContext> context_;
  std::array<std::unique_ptr<RawLane>, 2> lanes_;
  std::vector<std::unique_ptr<RawLane>> further_;
  LinkId id_{};
  PeerId self_;
  PeerId peer_;
  std::array<std::uint8_t, 32> exporter_{};
  std::map<std::uint8_t, std::size_t> counts_;
  std::size_t bytes_heard_ = 0;
  std::vector<HeardFrame> heard_;
  std::string farewell_;
  bool ended_ = false;
};

}  // namespace weft::hostile
