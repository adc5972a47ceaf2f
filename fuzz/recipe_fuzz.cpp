// Any bytes as a recipe: refused with a message, or one whose canonical text reads back the same.
#include <string>

#include "weft/base/bytes.h"
#include "weft/base/check.h"
#include "weft/train/recipe/recipe.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const weft::Result<weft::Recipe> recipe =
      weft::parse_recipe(weft::to_text(weft::ByteSpan(data, size)), "fuzz.toml");
  if (!recipe.ok()) {
    WEFT_CHECK(recipe.status().code() == weft::Code::kInvalidArgument);
    WEFT_CHECK(!recipe.status().message().empty());
    return 0;
  }
  const std::string text = weft::canonical_text(*recipe);
  const weft::Result<weft::Recipe> again = weft::parse_recipe(text, "canonical.toml");
  WEFT_CHECK(again.ok());
  WEFT_CHECK(weft::canonical_text(*again) == text);
  return 0;
}
