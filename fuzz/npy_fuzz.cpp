// Any bytes as .npy and .npz: parsed or refused, and what is parsed can be written and read again.
#include "weft/base/check.h"
#include "weft/data/npy.h"

namespace {

constexpr std::size_t kInflatedBytesMax = std::size_t{1} << 20U;

void check_array(const weft::Array& array) {
  const weft::Bytes bytes = weft::npy_bytes(array);
  const weft::Result<weft::Array> again = weft::parse_npy(bytes);
  WEFT_CHECK(again.ok());
  WEFT_CHECK(again->shape() == array.shape() && again->dtype() == array.dtype());
  WEFT_CHECK(weft::npy_bytes(*again) == bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const weft::ByteSpan bytes(data, size);
  const weft::Result<weft::Array> array = weft::parse_npy(bytes);
  if (array.ok()) check_array(*array);
  WEFT_CHECK(array.ok() || array.status().code() == weft::Code::kCorrupt);
  const auto archive = weft::parse_npz(bytes, kInflatedBytesMax);
  WEFT_CHECK(archive.ok() || archive.status().code() == weft::Code::kCorrupt);
  if (!archive.ok()) return 0;
  for (const auto& [name, member] : *archive) check_array(member);
  return 0;
}
