// Any bytes as an IDX file, plain or gzip: parsed or refused, and what is parsed lies inside.
#include "weft/base/check.h"
#include "weft/data/file/gzip.h"
#include "weft/data/idx.h"

namespace {

constexpr std::size_t kInflatedBytesMax = std::size_t{1} << 20U;

void check_view(weft::ByteSpan bytes) {
  const weft::Result<weft::IdxView> view = weft::parse_idx(bytes);
  if (!view.ok()) {
    WEFT_CHECK(view.status().code() == weft::Code::kCorrupt);
    return;
  }
  std::int64_t count = 1;
  for (const std::int64_t size : view->sizes) count *= size;
  WEFT_CHECK(static_cast<std::size_t>(count) == view->values.size());
  WEFT_CHECK(view->values.data() + view->values.size() == bytes.data() + bytes.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const weft::ByteSpan bytes(data, size);
  check_view(bytes);
  const weft::Result<weft::Bytes> inflated = weft::gunzip(bytes, kInflatedBytesMax);
  if (inflated.ok()) check_view(*inflated);
  return 0;
}
