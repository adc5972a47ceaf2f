// Any bytes as a tokenizer file, and as text for one: what is made of the file encodes and decodes
// its own text, and a BPE brings any bytes back where no pattern drops what lies between matches.
#include <string>

#include "weft/base/check.h"
#include "weft/data/cifar.h"
#include "weft/data/text/bpe_tokenizer.h"
#include "weft/data/tokenizer.h"

namespace {

void check_round_trip(const weft::Tokenizer& tokenizer, std::string_view text, bool exact) {
  const auto tokens = tokenizer.encode(text);
  if (!tokens.ok()) return;
  for (const std::int32_t token : *tokens) {
    WEFT_CHECK(token >= 0 && token < tokenizer.vocabulary());
  }
  const auto back = tokenizer.decode(*tokens);
  WEFT_CHECK(back.ok());
  WEFT_CHECK(!exact || *back == text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto tokenizer = weft::parse_tokenizer(text);
  if (tokenizer.ok()) {
    check_round_trip(**tokenizer, text, false);
    const auto again = weft::parse_tokenizer((*tokenizer)->file_text());
    WEFT_CHECK(again.ok() && (*again)->vocabulary() == (*tokenizer)->vocabulary());
  } else {
    WEFT_CHECK(tokenizer.status().code() == weft::Code::kCorrupt);
  }
  const std::size_t half = size / 2;
  const auto model = weft::train_bpe(text.substr(0, half), {.vocabulary = 300});
  WEFT_CHECK(model.ok());
  const auto trained = weft::BpeTokenizer::make(*model);
  WEFT_CHECK(trained.ok());
  check_round_trip(**trained, text, true);
  weft::CifarRecords records;
  static_cast<void>(
      weft::append_cifar(weft::as_bytes(text), weft::CifarKind::kCifar100, 0, records));
  WEFT_CHECK(records.images.size() == records.labels.size() * 3072);
  static_cast<void>(weft::parse_class_names(text, 10));
  return 0;
}
