// Transport: moves frames between authenticated peers; it does not interpret them.
//
// A link has two lanes: control frames are small and never wait behind bulk frames. Within one lane
// of one link frames arrive in order and once, or the link goes down. After on_link_down no frame
// of that link arrives any more; a later link to the same peer starts anew.
//
// Implementations: tls (TCP, TLS 1.3, mutual), tcp (plain: benches, trusted hosts), shm (one host),
// sim (virtual network and time). One contract test holds for all of them.
// Threads: every method and every handler call on the loop thread (or the simulator's).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/bytes.h"
#include "weft/base/status.h"
#include "weft/wire/ids.h"

namespace weft {

enum class Lane : std::uint8_t { kControl = 0, kBulk = 1 };
constexpr std::size_t lane_index(Lane lane) { return static_cast<std::size_t>(lane); }

// Bounds that every implementation enforces on both sides: a larger frame is kInvalidArgument when
// sent, and ends the link with kCorrupt when received.
inline constexpr std::size_t kFrameHeadBytesMax = 256 * 1024;
inline constexpr std::size_t kFrameBodyBytesMax = 1024 * 1024;

// What the owner of a transport has established about the peer at the other end, beside its key.
//
// A stranger's link is limited: heads up to kStrangerHeadBytesMax, no bodies, kStrangerFramesMax
// frames and kStrangerBytesMax bytes in total, the link's own frames included; more ends it with
// kUnavailable, a larger frame with kCorrupt. It gets one connection for each lane, is neither
// introduced nor relayed, and its word on where others are is ignored.
enum class LinkTrust : std::uint8_t {
  kStranger,
  kKnown,   // may send frames of any size; not introduced to others
  kProved,  // a member, or about to become one
};
inline constexpr std::size_t kStrangerHeadBytesMax = 4 * 1024;
inline constexpr std::uint64_t kStrangerFramesMax = 16;
inline constexpr std::uint64_t kStrangerBytesMax = 32 * 1024;

// A frame to send: a type, an encoded head, and a body that is not copied on its way.
struct Frame {
  std::uint8_t type = 0;
  Bytes head;
  SharedBytes body;
};

// A received frame; the spans are valid until the handler returns.
struct FrameView {
  std::uint8_t type = 0;
  ByteSpan head;
  ByteSpan body;
};

// Where a peer may be reached: "host:port" each, tried in order, at short intervals.
struct PeerAddress {
  PeerId id;
  std::vector<std::string> endpoints;
};

// Figures of one link, or the sum over all links that a transport has had.
struct TransportStats {
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  // Smoothed round trip as the system measures it; 0 if it is unknown.
  double rtt_seconds = 0;
  // For one link: its bulk frames go through memory that both ends share.
  bool in_memory = false;
  // For one link: how many connections carry its bulk frames.
  std::size_t connections = 0;
};

// How the two ends of a link found each other.
enum class LinkPath : std::uint8_t {
  kDirect,   // one dialled an address of the other
  kMapped,   // the same, through a port that the other's router was asked to open
  kPunched,  // both dialled at once, introduced by a third peer
  kRelayed,  // through a third peer, which sees ciphertext
};
std::string_view to_string(LinkPath path);

struct LinkInfo {
  PeerId peer;
  // True where the other side dialled us.
  bool inbound = false;
  // A secret that only the two ends of this link can compute (TLS exporter); proofs are bound to
  // it.
  std::array<std::uint8_t, 32> exporter{};
  std::string remote_endpoint;
  // The origin by which the other side is counted: its address without the port, an IPv6 one as its
  // network of 64 bits; empty if it has none.
  std::string origin = {};
  LinkPath path = LinkPath::kDirect;
  // Short name of the peer that introduced or relays; empty for the other paths.
  std::string via = {};
  // Why this path was taken and no shorter one, for people.
  std::string why = {};
};

// True if a connect() that failed with `why` reached the peer's machines but found no process at
// any of its addresses: it has ended, or moved.
bool nobody_listens(const Status& why);

class TransportHandler {
 public:
  virtual ~TransportHandler() = default;
  // Called before on_link_up, for the link's first frames; Transport::set_trust() changes it.
  virtual LinkTrust first_trust(const LinkInfo& link) {
    return link.inbound ? LinkTrust::kStranger : LinkTrust::kProved;
  }
  // The link is up on both lanes, and the peer has proved its key.
  virtual void on_link_up(const LinkInfo& link) = 0;
  // Also reports a connect() that failed.
  virtual void on_link_down(const PeerId& peer, const Status& why) = 0;
  virtual void on_frame(const PeerId& from, Lane lane, const FrameView& frame) = 0;
  // The queue of `lane` fell to the low-water mark after having been above it.
  virtual void on_writable(const PeerId& peer, Lane lane) = 0;
  // An inbound connection was refused before it became a link, for the reason `why`.
  virtual void on_refused(const std::string& /*remote_endpoint*/, const Status& /*why*/) {}
  // Another process with the key of `peer`, whose link stands and answers, asked for a link, too;
  // it was refused. Its dial ends in on_link_down with kAborted.
  virtual void on_twin(const PeerId& /*peer*/, const std::string& /*remote_endpoint*/) {}
  // Where the body of an arriving bulk frame should be written, to save a copy: either empty (the
  // transport's own buffer) or `body_bytes` long and valid until on_frame, or the link's end.
  virtual MutableByteSpan body_destination(const PeerId& /*from*/, std::uint8_t /*type*/,
                                           ByteSpan /*head*/, std::size_t /*body_bytes*/) {
    return {};
  }
  // True if on_frame may be given a body of this type in the memory of another process, which may
  // still change it: on_frame then reads it once, and must not rely on any byte being the same when
  // it is read again.
  virtual bool reads_body_once(std::uint8_t /*type*/) { return false; }
};

class Transport {
 public:
  virtual ~Transport() = default;
  virtual const PeerId& self() const = 0;
  // Borrows `handler`, which must outlive this. Call it before anything else.
  virtual void set_handler(TransportHandler& handler) = 0;
  // Ends in on_link_up or on_link_down; nothing happens if the peer is linked. New addresses join a
  // dial that is under way.
  virtual void connect(const PeerAddress& peer) = 0;
  // Queues a frame. kUnavailable without a link or with a full bulk queue (the frame is not
  // queued); kInvalidArgument for a frame out of bounds. Types up to 0x0f are the transport's own.
  virtual Status send(const PeerId& to, Lane lane, Frame frame) = 0;
  // Bytes queued and not yet handed to the system.
  virtual std::size_t queued_bytes(const PeerId& to, Lane lane) const = 0;
  // Drops the queued bulk frames of which no byte has been sent.
  virtual void cancel_bulk(const PeerId& to) = 0;
  // Ends the link after the control lane's queue is sent; on_link_down follows.
  virtual void close(const PeerId& peer, const Status& why) = 0;
  virtual bool linked(const PeerId& peer) const = 0;
  // Sets what the peer of this link is from now on; nothing happens without a link. Services that
  // need more trust end: introductions, and relayed connections.
  virtual void set_trust(const PeerId& peer, LinkTrust trust) = 0;
  // Where others may dial this transport.
  virtual std::vector<std::string> endpoints() const { return {}; }
  // The figures of the link to `peer` (zeros without one), and of all links, past ones included.
  // They count framing, but not encryption.
  virtual TransportStats stats(const PeerId& /*peer*/) const { return {}; }
  virtual TransportStats total_stats() const { return {}; }
};

}  // namespace weft
