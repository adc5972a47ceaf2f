// Any bytes as what a model file says of itself: a card is refused or has a text that gives the
// same card; rows of numbers become as many features as the description says.
//
// The input is the text of the sizes, a byte 0, that of the data, a byte 0, and the tokenizer's.
#include <cmath>
#include <limits>
#include <string>

#include "weft/array/array.h"
#include "weft/base/check.h"
#include "weft/data/rows.h"
#include "weft/io/model_file.h"

namespace {

constexpr std::int64_t kColumnsMax = 1024;

void check_rows(const weft::DataDescription& data) {
  const auto columns = static_cast<std::int64_t>(data.columns.size());
  if (data.kind != weft::DatasetKind::kRows || columns > kColumnsMax) return;
  for (const float value : {0.0F, -1.0F, 2.5F, 1e30F, std::numeric_limits<float>::quiet_NaN()}) {
    const auto rows = weft::encode_rows(data, weft::Array::full({2, columns}, value));
    WEFT_CHECK(rows.ok() && rows->dim(1) == data.features());
  }
  const auto inf = weft::Array::full({1, columns}, std::numeric_limits<float>::infinity());
  WEFT_CHECK(!weft::encode_rows(data, inf).ok());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string all(reinterpret_cast<const char*>(data), size);
  weft::CardTexts texts;
  const std::size_t first = all.find('\0');
  texts.model = all.substr(0, first);
  if (first != std::string::npos) {
    const std::size_t second = all.find('\0', first + 1);
    texts.data = all.substr(first + 1, second == std::string::npos ? second : second - first - 1);
    if (second != std::string::npos) texts.tokenizer = all.substr(second + 1);
  }
  const auto described = weft::parse_description(texts.data);
  if (described.ok()) {
    const std::string text = weft::description_text(*described);
    const auto again = weft::parse_description(text);
    WEFT_CHECK(again.ok() && weft::description_text(*again) == text);
    check_rows(*described);
  } else {
    WEFT_CHECK(described.status().code() == weft::Code::kCorrupt);
  }
  const auto card = weft::parse_card(texts);
  if (!card.ok()) return 0;
  const auto again = weft::parse_card(weft::card_texts(*card));
  WEFT_CHECK(again.ok() && weft::card_texts(*again) == weft::card_texts(*card));
  return 0;
}
