// Any bytes as the recipe of a group that a SwarmTrainer has founded.
#include <string>

#include "weft/base/bytes.h"
#include "weft/base/check.h"
#include "weft/swarm/member_recipe.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const weft::Result<weft::MemberRecipe> recipe =
      weft::parse_member_recipe(weft::to_text(weft::ByteSpan(data, size)));
  if (!recipe.ok()) {
    WEFT_CHECK(recipe.status().code() == weft::Code::kInvalidArgument);
    return 0;
  }
  const weft::Result<std::string> text = weft::format_member_recipe(*recipe);
  WEFT_CHECK(text.ok());
  const weft::Result<weft::MemberRecipe> again = weft::parse_member_recipe(*text);
  WEFT_CHECK(again.ok() && weft::format_member_recipe(*again).value() == *text);
  return 0;
}
