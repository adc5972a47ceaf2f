// Any bytes as what a member reports of a round, and folded with what another one does.
#include <algorithm>
#include <cmath>
#include <vector>

#include "weft/base/bytes.h"
#include "weft/base/check.h"
#include "weft/train/report/round_report.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const weft::ByteSpan bytes(data, size);
  const weft::Result<weft::RoundReport> report = weft::RoundReport::decode(bytes);
  weft::RoundReport other;
  other.samples = 3;
  const weft::RoundMetrics sums = weft::fold_reports(
      std::vector<weft::Bytes>{weft::Bytes(bytes.begin(), bytes.end()), other.encode()});
  WEFT_CHECK(sums.compute_seconds.size() == 2 && sums.members.size() == 2);
  WEFT_CHECK(std::isfinite(sums.samples) && sums.samples >= 3);
  if (!report.ok()) {
    WEFT_CHECK(report.status().code() == weft::Code::kCorrupt);
    WEFT_CHECK(sums.samples == 3);
    return 0;
  }
  WEFT_CHECK(std::ranges::equal(report->encode(), bytes));
  return 0;
}
