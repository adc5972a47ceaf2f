#include "weft/data/file/gzip.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <libdeflate.h>

#include "weft/data/file/decompressor.h"

namespace weft {
namespace {

constexpr std::size_t kGrowthBytes = std::size_t{1} << 16U;

// The size that the trailer claims, as far as deflate can reach it from `bytes` input bytes.
std::size_t first_guess(ByteSpan bytes, std::size_t bytes_max) {
  const ByteSpan trailer = bytes.last(std::min<std::size_t>(bytes.size(), 4));
  std::size_t claimed = 0;
  for (std::size_t i = trailer.size(); i > 0; --i) claimed = (claimed << 8U) | trailer[i - 1];
  const std::size_t reachable =
      bytes.size() > bytes_max ? bytes_max : bytes.size() * kDeflateRatioMax;
  return std::min({claimed, reachable, bytes_max});
}

// Inflates the member at the start of `bytes` to the end of `out`, of which `filled` bytes are in
// use, and takes it off `bytes`. A member that does not fit begins again in a larger `out`.
Status inflate_member(libdeflate_decompressor* decompressor, ByteSpan& bytes, Bytes& out,
                      std::size_t& filled, std::size_t bytes_max) {
  for (;;) {
    std::size_t taken = 0;
    std::size_t written = 0;
    const libdeflate_result result =
        libdeflate_gzip_decompress_ex(decompressor, bytes.data(), bytes.size(), out.data() + filled,
                                      out.size() - filled, &taken, &written);
    if (result == LIBDEFLATE_SUCCESS) {
      bytes = bytes.subspan(taken);
      filled += written;
      return {};
    }
    if (result != LIBDEFLATE_INSUFFICIENT_SPACE) {
      return corrupt(
          fmt::format("gzip: damaged or truncated data after {} bytes of output", filled));
    }
    if (out.size() == bytes_max) {
      return corrupt(fmt::format("gzip: expected at most {} bytes of output, got more", bytes_max));
    }
    out.resize(std::min(out.size() * 2 + kGrowthBytes, bytes_max));
  }
}

}  // namespace

bool is_gzip(ByteSpan bytes) { return bytes.size() >= 2 && bytes[0] == 0x1F && bytes[1] == 0x8B; }

Result<Bytes> gunzip(ByteSpan bytes, std::size_t bytes_max) {
  const Decompressor decompressor(libdeflate_alloc_decompressor());
  if (!decompressor) return unavailable("gzip: expected memory for libdeflate, got none");
  Bytes out(first_guess(bytes, bytes_max));
  std::size_t filled = 0;
  do {
    if (!is_gzip(bytes)) {
      return corrupt("gzip: expected a member that starts 1f 8b, got other bytes");
    }
    WEFT_TRY(inflate_member(decompressor.get(), bytes, out, filled, bytes_max));
  } while (!bytes.empty());
  out.resize(filled);
  return out;
}

}  // namespace weft
