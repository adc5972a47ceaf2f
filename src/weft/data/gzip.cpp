#include "weft/data/gzip.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <zlib.h>

namespace weft {
namespace {

constexpr int kGzipWindowBits = 15 + 16;  // the largest window, gzip header and trailer
constexpr std::size_t kDeflateRatioMax = 1032;
constexpr std::size_t kGrowthBytes = std::size_t{1} << 16U;

class Inflater {
 public:
  Inflater() { started_ = inflateInit2(&stream_, kGzipWindowBits) == Z_OK; }
  ~Inflater() {
    if (started_) inflateEnd(&stream_);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  bool started() const { return started_; }
  z_stream& stream() { return stream_; }

 private:
  z_stream stream_{};
  bool started_ = false;
};

// The size that the trailer claims, as far as deflate can reach it from `bytes` input bytes.
std::size_t first_guess(ByteSpan bytes, std::size_t bytes_max) {
  const ByteSpan trailer = bytes.last(std::min<std::size_t>(bytes.size(), 4));
  std::size_t claimed = 0;
  for (std::size_t i = trailer.size(); i > 0; --i) claimed = (claimed << 8U) | trailer[i - 1];
  const std::size_t reachable =
      bytes.size() > bytes_max ? bytes_max : bytes.size() * kDeflateRatioMax;
  return std::min({claimed, reachable, bytes_max});
}

uInt window(std::size_t bytes) {
  return static_cast<uInt>(std::min<std::size_t>(bytes, std::numeric_limits<uInt>::max()));
}

Status inflate_failure(const z_stream& stream, int code) {
  if (code == Z_BUF_ERROR || code == Z_OK) {
    return corrupt("gzip: expected the end of the data, got a truncated file");
  }
  return corrupt(fmt::format("gzip: damaged data after {} bytes of output: {}", stream.total_out,
                             stream.msg != nullptr ? stream.msg : "no reason given"));
}

// Inflates one member to the end of `out`. One byte more than `bytes_max` is room enough to see
// that there is too much.
Status inflate_member(z_stream& stream, Bytes& out, std::size_t& filled, std::size_t bytes_max) {
  for (;;) {
    if (filled == out.size()) out.resize(std::min(out.size() * 2 + kGrowthBytes, bytes_max + 1));
    const uInt room = window(out.size() - filled);
    stream.next_out = out.data() + filled;
    stream.avail_out = room;
    const int code = inflate(&stream, Z_NO_FLUSH);
    filled += room - stream.avail_out;
    if (filled > bytes_max) {
      return corrupt(fmt::format("gzip: expected at most {} bytes of output, got more", bytes_max));
    }
    if (code == Z_STREAM_END) return {};
    const bool needs_room = stream.avail_out == 0;
    if (code != Z_OK && !(code == Z_BUF_ERROR && needs_room)) return inflate_failure(stream, code);
    if (!needs_room && stream.avail_in == 0) return inflate_failure(stream, code);
  }
}

}  // namespace

bool is_gzip(ByteSpan bytes) { return bytes.size() >= 2 && bytes[0] == 0x1F && bytes[1] == 0x8B; }

Result<Bytes> gunzip(ByteSpan bytes, std::size_t bytes_max) {
  WEFT_CHECK(bytes_max < std::numeric_limits<uInt>::max() / 2);
  if (bytes.size() > std::numeric_limits<uInt>::max()) {
    return corrupt(fmt::format("gzip: expected less than 4 GiB, got {} bytes", bytes.size()));
  }
  Inflater inflater;
  if (!inflater.started()) return unavailable("gzip: zlib cannot start; out of memory?");
  z_stream& stream = inflater.stream();
  stream.next_in = const_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  Bytes out(first_guess(bytes, bytes_max) + 1);
  std::size_t filled = 0;
  do {
    if (!is_gzip({stream.next_in, stream.avail_in})) {
      return corrupt("gzip: expected a member that starts 1f 8b, got other bytes");
    }
    WEFT_TRY(inflate_member(stream, out, filled, bytes_max));
    if (inflateReset(&stream) != Z_OK) return internal_error("gzip: zlib cannot restart");
  } while (stream.avail_in > 0);
  out.resize(filled);
  return out;
}

}  // namespace weft
