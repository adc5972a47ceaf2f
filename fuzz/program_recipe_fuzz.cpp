// Any bytes as a recipe with [program]: refused with a message, without one, or one whose keys read
// back; and whatever names a program is no recipe for anybody else.
#include <string>

#include "weft/base/bytes.h"
#include "weft/base/check.h"
#include "weft/train/recipe/program_recipe.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = weft::to_text(weft::ByteSpan(data, size));
  const auto program = weft::parse_program_recipe(text, "fuzz.toml");
  if (!program.ok()) {
    WEFT_CHECK(program.status().code() == weft::Code::kInvalidArgument);
    WEFT_CHECK(!program.status().message().empty());
    return 0;
  }
  if (!program->has_value()) return 0;
  WEFT_CHECK(!weft::parse_recipe(text, "fuzz.toml").ok());
  WEFT_CHECK(!(*program)->command.empty());
  std::string again;
  for (const auto& [name, value] : weft::program_texts(**program)) {
    again.append(name).append(" = ").append(value).append("\n");
  }
  WEFT_CHECK(weft::parse_program_recipe(again, "again.toml")->has_value());
  return 0;
}
