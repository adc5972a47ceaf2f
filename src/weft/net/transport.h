// Transport: moves frames between authenticated peers; knows nothing of what they mean.
//
// Two lanes a link: control frames are small and never wait behind bulk frames. Within one lane of
// one link frames arrive in order, once, or the link goes down. After on_link_down no frame of
// that link arrives any more; a later link to the same peer starts anew.
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

// Bounds that every implementation enforces on both sides; larger is kInvalidArgument when sent
// and ends the link with kCorrupt when received.
inline constexpr std::size_t kFrameHeadBytesMax = 256 * 1024;
inline constexpr std::size_t kFrameBodyBytesMax = 1024 * 1024;

// What the owner of a transport knows of the peer at the other end of a link, beside its key.
//
// A stranger's link is small: heads up to kStrangerHeadBytesMax, no bodies, kStrangerFramesMax
// frames and kStrangerBytesMax bytes in all, of the link's own frames too; more ends it with
// kUnavailable, a larger frame with kCorrupt. It gets one connection a lane, and is neither
// introduced nor relayed, nor believed when it says where others are.
enum class LinkTrust : std::uint8_t {
  kStranger,
  kKnown,   // may say frames of any size; not brought together with others
  kProved,  // a member, or about to be one
};
inline constexpr std::size_t kStrangerHeadBytesMax = 4 * 1024;
inline constexpr std::uint64_t kStrangerFramesMax = 16;
inline constexpr std::uint64_t kStrangerBytesMax = 32 * 1024;

// What is sent: a type, an encoded head, and a body that is not copied on its way.
struct Frame {
  std::uint8_t type = 0;
  Bytes head;
  SharedBytes body;
};

// What arrived; the spans live until the handler returns.
struct FrameView {
  std::uint8_t type = 0;
  ByteSpan head;
  ByteSpan body;
};

// Where a peer may be reached: "host:port" each, tried in order, a little apart.
struct PeerAddress {
  PeerId id;
  std::vector<std::string> endpoints;
};

// Of one link, or summed over all that a transport had.
struct TransportStats {
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  // Smoothed round trip as the system measures it; 0 where it is not known.
  double rtt_seconds = 0;
  // Of one link: its bulk frames go through memory that both ends share.
  bool in_memory = false;
  // Of one link: how many connections carry its bulk frames.
  std::size_t connections = 0;
};

// How the two ends of a link found each other.
enum class LinkPath : std::uint8_t {
  kDirect,   // one dialled an address of the other
  kMapped,   // the same, through a port that the other's router was asked to open
  kPunched,  // both dialled at once, told by a third peer
  kRelayed,  // through a third peer, which sees ciphertext
};
std::string_view to_string(LinkPath path);

struct LinkInfo {
  PeerId peer;
  // True where the other side dialled us.
  bool inbound = false;
  // Secret that only the two ends of this link can compute (TLS exporter); proofs are bound to it.
  std::array<std::uint8_t, 32> exporter{};
  std::string remote_endpoint;
  // What the other side counts as among many: its address without the port, an IPv6 one as its
  // network of 64 bits; empty where it has none.
  std::string origin = {};
  LinkPath path = LinkPath::kDirect;
  // Short name of the peer that introduced or relays; empty for the other paths.
  std::string via = {};
  // Why this path and no shorter one, for people.
  std::string why = {};
};

// Whether a connect() that failed with `why` reached the peer's machines and found no process at
// any of its addresses: it has ended, or moved.
bool nobody_listens(const Status& why);

class TransportHandler {
 public:
  virtual ~TransportHandler() = default;
  // Asked before on_link_up, for the link's first frames; Transport::set_trust() changes it.
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
  // An inbound connection that was turned away before it became a link, and why.
  virtual void on_refused(const std::string& /*remote_endpoint*/, const Status& /*why*/) {}
  // Another process with the key of `peer`, whose link stands and answers, wants one, too; it was
  // refused. There its dial ends in on_link_down with kAborted.
  virtual void on_twin(const PeerId& /*peer*/, const std::string& /*remote_endpoint*/) {}
  // Where the body of an arriving bulk frame should be written, to save a copy: either empty (the
  // transport's own buffer) or `body_bytes` long and valid until on_frame, or the link's end.
  virtual MutableByteSpan body_destination(const PeerId& /*from*/, std::uint8_t /*type*/,
                                           ByteSpan /*head*/, std::size_t /*body_bytes*/) {
    return {};
  }
  // True if on_frame may be given a body of this type where it lies in the memory of another
  // process, which may still change it: on_frame then reads it once, and trusts no byte of it to
  // be the same at a second look.
  virtual bool reads_body_once(std::uint8_t /*type*/) { return false; }
};

class Transport {
 public:
  virtual ~Transport() = default;
  virtual const PeerId& self() const = 0;
  // Borrows `handler`, which must outlive this. Call before anything else.
  virtual void set_handler(TransportHandler& handler) = 0;
  // Ends in on_link_up or on_link_down; nothing if linked. What a dial does not know yet joins it.
  virtual void connect(const PeerAddress& peer) = 0;
  // Queues a frame. kUnavailable without a link or with a full bulk queue (the frame is not
  // queued); kInvalidArgument for a frame out of bounds. Types up to 0x0f are the transport's own.
  virtual Status send(const PeerId& to, Lane lane, Frame frame) = 0;
  // Bytes queued and not yet handed to the system.
  virtual std::size_t queued_bytes(const PeerId& to, Lane lane) const = 0;
  // Forgets the queued bulk frames of which nothing has been sent yet.
  virtual void cancel_bulk(const PeerId& to) = 0;
  // Ends the link after sending what the control lane holds; on_link_down follows.
  virtual void close(const PeerId& peer, const Status& why) = 0;
  virtual bool linked(const PeerId& peer) const = 0;
  // From now on the peer of this link is no more and no less than that; nothing without a link.
  // What was done for it while it was more ends: introductions, and connections that are relayed.
  virtual void set_trust(const PeerId& peer, LinkTrust trust) = 0;
  // Where others may dial this transport.
  virtual std::vector<std::string> endpoints() const { return {}; }
  // Of the link to `peer` (zeros without one), and of all links, past ones too. Framing included,
  // encryption not.
  virtual TransportStats stats(const PeerId& /*peer*/) const { return {}; }
  virtual TransportStats total_stats() const { return {}; }
};

}  // namespace weft
