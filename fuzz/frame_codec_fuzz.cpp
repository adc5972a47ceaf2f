// Any bytes as the stream of a connection, before and after its hello, in pieces of any size: the
// decoder gives frames within its limits or an error, and the same ones for every cut.
#include <algorithm>
#include <vector>

#include "weft/base/check.h"
#include "weft/base/hash.h"
#include "weft/net/stream/frame_codec.h"

namespace {

using namespace weft;

struct Sink final : FrameSink {
  explicit Sink(const FrameLimits& most) : limits(most) {}
  void on_frame(const FrameView& frame) override {
    WEFT_CHECK(frame.type != 0);
    WEFT_CHECK(frame.head.size() <= limits.head_bytes_max);
    WEFT_CHECK(frame.body.size() <= limits.body_bytes_max);
    seen.push_back(frame.type);
    seen.insert(seen.end(), frame.head.begin(), frame.head.end());
    seen.insert(seen.end(), frame.body.begin(), frame.body.end());
  }
  MutableByteSpan body_destination(std::uint8_t type, ByteSpan, std::size_t size) override {
    if (type % 2 == 0) return {};
    lent.resize(size);
    return lent;
  }

  FrameLimits limits;
  Bytes lent;
  Bytes seen;
};

// What came of the bytes in pieces of at most `piece`; the error's code last.
Bytes decode(ByteSpan bytes, const FrameLimits& limits, std::size_t piece) {
  FrameDecoder decoder(64);
  decoder.set_limits(limits);
  Sink sink(limits);
  Status status;
  while (!bytes.empty() && status.ok()) {
    std::size_t given = 0;
    for (const MutableByteSpan part : decoder.destinations()) {
      const std::size_t size = std::min({part.size(), piece - given, bytes.size() - given});
      std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(given), size, part.begin());
      given += size;
    }
    bytes = bytes.subspan(given);
    status = decoder.received(given, sink);
  }
  WEFT_CHECK(status.ok() || status.code() == Code::kCorrupt);
  sink.seen.push_back(static_cast<std::uint8_t>(status.code()));
  return sink.seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteSpan bytes(data, size);
  for (const FrameLimits& limits : {FrameLimits{}, FrameLimits{1024, 0}}) {
    const Bytes whole = decode(bytes, limits, std::max<std::size_t>(size, 1));
    WEFT_CHECK(decode(bytes, limits, 1) == whole);
    WEFT_CHECK(decode(bytes, limits, 7) == whole);
  }
  return 0;
}
