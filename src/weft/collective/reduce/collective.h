// Collective: one exchange of an f32 vector among the members of a view; a core without I/O.
//
// CollectiveKind defines what is exchanged and Algorithm along which links; members choose the same
// ones, from values that they have agreed on. With every algorithm all members get the same bits,
// inputs are never written to, and arriving data is written directly into the buffer from which it
// is sent on.
//
//   all-reduce       input: the vector;          result: the sum over the members
//   reduce-scatter   input: n parts of equal size; result: in the place of this rank's part its sum
//   all-gather       input: this rank's part;    result: all n parts
//   broadcast        input: the root's vector;   result: the same
//   barrier          an all-reduce of nothing
//   reduce           input: the vector;          result: at the root the sum
//
// Where it stands: RoundCore, GroupCore and the all-reduce bench own such cores and carry their
// frames. Threads: one owner. Frames that it has sent may outlive it and keep its buffer alive.
// Fails: on_frame and resume return kCorrupt for frames that a correct member would not send, and
// kInvalidArgument if two correct members disagree on the exchange. Data is then lost: destroy this
// and end the link.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/aggregate/aggregator.h"
#include "weft/base/bytes.h"
#include "weft/base/shared_memory.h"
#include "weft/base/status.h"
#include "weft/codec/error_feedback.h"
#include "weft/codec/wire_precision.h"
#include "weft/collective/reduce/swarm_defaults.h"
#include "weft/net/transport.h"
#include "weft/wire/collective_message.h"
#include "weft/wire/link_code.h"

namespace weft {

enum class CollectiveKind : std::uint8_t {
  kAllReduce = 0,
  kReduceScatter = 1,
  kAllGather = 2,
  kBroadcast = 3,
  kBarrier = 4,
  kReduce = 5,  // as an all-reduce, but only the root gets the result
};
std::string_view to_string(CollectiveKind kind);

enum class Algorithm : std::uint8_t {
  kAuto = 0,       // by size, members and links: choose_algorithm()
  kDirect = 1,     // each sends its input to each; all sum in rank order
  kTree = 2,       // recursive doubling: log2 n exchanges of the whole vector
  kButterfly = 3,  // each sends each the part that it owns; the owner sums and sends it to all
  kRing = 4,       // parts travel round the ring in segments
  // Within each host, between hosts, and back; never chosen by kAuto.
  kHierarchical = 5,
  // Encoded inputs, from each to each; wherever the options have an encoder, and never else.
  kPayload = 6,
  // A butterfly whose owners are checked; wherever a rule is to be verified, and never else.
  kVerified = 7,
};
std::string_view to_string(Algorithm algorithm);
// kInvalidArgument for another word.
Result<Algorithm> parse_algorithm(std::string_view text);

// The properties of links between members, as far as they agree on them.
struct LinkProfile {
  double latency_s = 50e-6;
  // The total rate of a member, to any number of others at once.
  double bytes_per_s = 1e9;
  // The cost of a frame for its sender, however short it is.
  double frame_s = 10e-6;
  // The rate to its neighbour in the ring, whose order avoids the slowest links; 0: the same.
  double ring_bytes_per_s = 0;
  friend bool operator==(const LinkProfile&, const LinkProfile&) = default;
};

// Borrowed by a Collective and must outlive it.
class CollectiveSink {
 public:
  virtual ~CollectiveSink() = default;
  // Sends on the bulk lane. A failure is the link's: on_link_down(to) follows.
  virtual void send(Rank to, Frame frame) = 0;
  // Bytes in the bulk queue to that member.
  virtual std::size_t queued_bytes(Rank to) const = 0;
};

// Uninitialised floats with an owner that frames can share. Large ones use huge pages if the system
// has them: megabytes of vectors are copied in and out of sockets, and with small pages a third of
// that time is spent on address translation.
class FloatBuffer {
 public:
  // kShareable: members on this machine may read it in place, if the transport supports it.
  enum class Kind : std::uint8_t { kPrivate, kShareable };
  explicit FloatBuffer(std::int64_t elements, Kind kind = Kind::kPrivate);
  // Elements [offset, offset + elements) of `whole`, which it keeps alive. REQUIRES: within it.
  FloatBuffer(std::shared_ptr<FloatBuffer> whole, std::int64_t offset, std::int64_t elements);
  std::span<float> span() { return {values_, size_}; }
  std::span<const float> span() const { return {values_, size_}; }

 private:
  struct Free {
    void operator()(float* values) const;
  };
  // The values, unless they are in `shared_` or in `whole_`.
  std::unique_ptr<float[], Free> own_;
  std::shared_ptr<SharedMemory> shared_;
  std::shared_ptr<FloatBuffer> whole_;
  float* values_ = nullptr;
  std::size_t size_;
};

class Signer;  // collective/verify/signer.h

// How the owners of chunks are checked; see collective/verify/verified_butterfly.h.
struct Verification {
  // How many members repeat each chunk; 0: owners are trusted.
  int verifiers = 0;
  std::shared_ptr<const Signer> signer;
  // By rank.
  std::vector<PeerId> members;
};

// A member was found to break the rules of an exchange.
struct ExchangeFinding {
  Rank member;
  // What the member did, for people.
  std::string text;
};

struct CollectiveOptions {
  ExchangeId id;
  CollectiveKind kind = CollectiveKind::kAllReduce;
  Rank rank;
  int size = 1;
  // All-reduce: this many ranks, from `size` on, give no input and get the result.
  int receivers = 0;
  // The root of a broadcast or a reduce.
  Rank root;
  // kHierarchical: by rank, a number for the host; the same at all members.
  std::vector<int> hosts;
  Algorithm algorithm = Algorithm::kAuto;
  LinkProfile link;
  // A segment travels as one frame: at most kFrameBodyBytesMax.
  std::size_t segment_bytes = swarm_defaults::kSegmentBytes;
  // The vector is cut into buckets of about this size, each split over all members, so that the
  // exchange of a bucket can begin while the next one is not contributed yet.
  std::size_t bucket_bytes = swarm_defaults::kBucketBytes;
  // kAuto: vectors of at most this many bytes are exchanged directly, or by a tree.
  std::size_t direct_bytes_max = swarm_defaults::kDirectBytesMax;
  // kAuto: among more members only ways are chosen that need few connections: a tree, the ring.
  int mesh_members = swarm_defaults::kMeshMembers;
  // Nothing more is sent to a member for which this many bytes are queued. It must exceed the
  // transport's low-water mark, otherwise on_writable is never called.
  std::size_t queue_bytes_max = 1024 * 1024;
  // False: nothing is sent to a member before resume() was called for it.
  bool start_open = true;

  // How values travel in rings and butterflies; directly and by tree they always go as f32. A
  // partial sum is rounded at each hop, the finished sum once, by its owner, which uses the rounded
  // one as all others do.
  WirePrecision precision = WirePrecision::kF32;
  // The sum of what rounding has dropped so far at this member, for each element; null: it is not
  // kept. Read and written in place.
  std::shared_ptr<FloatBuffer> residual;
  // The beginning of this vector in `residual`.
  std::int64_t residual_offset = 0;

  // All-reduce: encodes this member's whole input, but for the exact elements, and keeps what it
  // drops; all decode all payloads and combine them as the codec says. The same codec at all
  // members. Null: values travel as above. REQUIRES: not pending.
  std::shared_ptr<ErrorFeedback> encoder;

  // All-reduce and reduce-scatter, by butterfly: instead of the sum, unless it is the mean. The
  // same at all members. REQUIRES: aggregator.check() of as many members.
  Aggregator aggregator;
  AggregateRound aggregate_round;
  // All-reduce with such a rule: values travel as f32.
  Verification verification;
};

class Collective {
 public:
  virtual ~Collective() = default;

  // Elements [offset, offset + values.size()) of this member's input; each exactly once, in any
  // order. Borrows `values` until complete() or the end of this. REQUIRES: within the vector; this
  // rank is no receiver.
  virtual void contribute(std::int64_t offset, std::span<const float> values) = 0;
  // A frame kSegment with this id from the member of rank `from`.
  virtual Status on_frame(Rank from, const FrameView& frame) = 0;
  // The best place for the body of such a frame; empty if the frame is not needed.
  virtual MutableByteSpan body_destination(Rank from, ByteSpan head, std::size_t body_bytes) = 0;
  virtual void on_writable(Rank to) = 0;

  // Stops sending to that member; frames that were sent may be lost.
  virtual void on_link_down(Rank to) = 0;
  // Sends to that member the segments that its map of received ones (ReadyMessage) lacks.
  virtual Status resume(Rank to, ByteSpan received) = 0;
  // The map for ReadyMessage of what this member has from `from`.
  virtual Bytes received_map(Rank from) const = 0;
  // The length of a map with content.
  virtual std::size_t map_size() const = 0;

  // All input is here.
  virtual bool contributed() const = 0;
  // The result is complete. Frames may still be waiting to be sent: keep this until the others are
  // complete too.
  virtual bool complete() const = 0;
  // Frames still to be handed to the sink.
  virtual bool sent_all() const = 0;
  // The member whose data is missing, or this rank if none is.
  virtual Rank waits_for() const = 0;
  // The buffer that holds the result once complete().
  virtual std::shared_ptr<FloatBuffer> result() const = 0;
  virtual std::int64_t elements() const = 0;
  // Findings since the last call. The exchange may still complete; if it never does, those members
  // have to leave the view.
  virtual std::vector<ExchangeFinding> take_findings() { return {}; }
};

// The algorithm that is used: `options.algorithm`, or for kAuto the cheapest by the profile of the
// links.
//
//   direct     latency + (n-1) (frame + bytes/rate)
//   tree       log2 n (latency + frame + bytes/rate), two more steps where n is no power of two
//   butterfly  2 (latency + (n-1) frame) + 2 (n-1)/n bytes/rate, which must be well below the
//   ring       2 (n-1) (latency + frame) + 2 (n-1)/n bytes/rate: a ring uses the links that the
//              view has ordered, a butterfly all of them
Algorithm choose_algorithm(const CollectiveOptions& options, std::int64_t elements);

// The seconds that choose_algorithm() reckons for direct, tree, butterfly or ring.
double predicted_seconds(const CollectiveOptions& options, std::int64_t elements,
                         Algorithm algorithm);

// `link` with the figures in a view about its links; unchanged without such figures.
LinkProfile profile_of(const LinkSummary& links, LinkProfile link);

// make_collective(), or what a test puts in its place.
using CollectiveMaker = std::function<std::unique_ptr<Collective>(
    const CollectiveOptions& options, std::int64_t elements, CollectiveSink& sink,
    std::shared_ptr<FloatBuffer> buffer)>;

// `elements`: of the whole vector; for reduce-scatter and all-gather a multiple of `size`.
// `buffer` (of `elements` floats; null: a new one) becomes the result; in a reduce-scatter's result
// only this rank's part is meaningful.
std::unique_ptr<Collective> make_collective(const CollectiveOptions& options, std::int64_t elements,
                                            CollectiveSink& sink,
                                            std::shared_ptr<FloatBuffer> buffer = nullptr);

}  // namespace weft
