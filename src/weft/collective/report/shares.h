// Shares: how a global batch is split over members of unequal speed. Each computes the same split.
//
// In the report of each round a member states its name, its share and its time per sample. The
// reports of a committed round are the same bytes at all members. The split follows by arithmetic
// on whole numbers and on single products of doubles, so no processor gets another result.
//
// A new split is taken where it would shorten the round by more than kGainPercent, and not before
// every member has measured itself with the share that it has. A member without any report counts
// as one of mean speed, which gives it the share of an equal split; a member that returns begins
// with its earlier speed. The state is sent to newcomers, too: encode().
//
// Where it stands: train's step -> Shares. Threads: values, one owner.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/status.h"
#include "weft/wire/codec.h"
#include "weft/wire/ids.h"

namespace weft {

// Whether a member's input is in the sum of a round.
enum class Attendance : std::uint8_t {
  kAbsent,   // nothing was reported
  kInTime,   // its input is
  kLate,     // zeros stand in its place
  kCarried,  // what it had too late for an earlier round stands in its place
};

// The report of one member in a round.
struct MemberReport {
  // 24 bits of its id; 0: nothing was reported.
  std::uint32_t name = 0;
  Attendance attendance = Attendance::kAbsent;
  std::int64_t share = 0;         // samples
  double compute_seconds = 0;     // of this round
  double seconds_per_sample = 0;  // over the last rounds; 0: not measured yet
  bool settled = false;           // measured with this share
  friend bool operator==(const MemberReport&, const MemberReport&) = default;

  // member := name u32 (24 bits), attendance u8, share u64 (at most kShareMax), compute seconds
  //           f64, seconds per sample f64 (both at least 0), settled u8
  void write(Writer& out) const;
  // `in` fails on anything that write() does not produce.
  static MemberReport read(Reader& in);
};
inline constexpr std::int64_t kShareMax = std::int64_t{1} << 30;

std::uint32_t report_name(const PeerId& peer);

// `batch` in `members` nearly equal parts, as shard_of() cuts it.
std::vector<std::int64_t> equal_shares(std::int64_t batch, std::int64_t members);
// `batch` in proportion to `speeds` > 0, by largest remainders (of equal ones the faster member's),
// at least 1 each; equal where there are more members than samples. `batch` and speeds at most
// 2^30.
std::vector<std::int64_t> shares_by_speed(std::int64_t batch, std::span<const std::int64_t> speeds);

// As equal_shares(), with the share of member r halved halvings[r] times before the batch is
// filled. Each at most 16.
std::vector<std::int64_t> halved_shares(std::int64_t batch, std::span<const std::uint8_t> halvings);

class Shares {
 public:
  static constexpr std::int64_t kGainPercent = 15;
  // Members that are remembered; those that reported last.
  static constexpr std::size_t kKnownMax = 512;

  // The reports of a committed round, by rank. REQUIRES: called for every round, in order.
  void hear(std::span<const MemberReport> reports);
  // The shares of a batch of the members with these names, by rank. At most 2^30 samples. Each of a
  // member's `halvings` halves its speed; empty: no member has any.
  std::vector<std::int64_t> split(std::span<const std::uint32_t> names, std::int64_t batch,
                                  std::span<const std::uint8_t> halvings = {}) const;

  // Equal states give equal text.
  std::string encode() const;
  // Fails: kCorrupt.
  static Result<Shares> decode(std::string_view text);
  friend bool operator==(const Shares&, const Shares&) = default;

 private:
  struct Known {
    std::uint32_t name = 0;
    std::int64_t nanoseconds = 0;  // a sample; 0: not known
    bool settled = false;
    std::int64_t share = 0;
    std::int64_t heard = 0;  // the round, counted from the first that was reported
    friend bool operator==(const Known&, const Known&) = default;
  };

  const Known* find(std::uint32_t name) const;

  std::int64_t heard_ = 0;
  std::vector<Known> known_;  // by name
};

// How long a sample takes this member: the median over its last rounds with one share.
class SpeedMeter {
 public:
  // A round with `share` samples took `seconds` of computing. The first with another share, in
  // which memory is planned anew, does not count.
  void add(double seconds, std::int64_t share);
  // With the share before the latest one until some rounds with the latest are measured. 0 at
  // first.
  double seconds_per_sample() const { return seconds_per_sample_; }
  bool settled() const { return size_ >= kSettled; }

 private:
  static constexpr std::size_t kSettled = 4;
  static constexpr std::size_t kKept = 8;

  std::int64_t share_ = 0;
  std::array<double, kKept> last_{};
  std::size_t size_ = 0;
  std::size_t next_ = 0;
  double seconds_per_sample_ = 0;
};

}  // namespace weft
