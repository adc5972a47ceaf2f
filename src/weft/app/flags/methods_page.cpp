#include "weft/app/flags/methods_page.h"

#include <algorithm>

#include <fmt/format.h>

#include "weft/app/flags/help_page.h"
#include "weft/base/nearest_name.h"
#include "weft/base/printable.h"

namespace weft {
namespace {

std::string sentence(std::string text) {
  if (!text.empty() && text.back() != '.') text += '.';
  return text;
}

std::string method_lines(const MethodFamily& family, const Method& method, std::size_t width) {
  std::string out = fmt::format("  {}\n", method.name);
  out += wrapped("      " + sentence(std::string(method.summary)), width, 0) + "\n";
  if (!family.note_title.empty()) {
    out += wrapped(fmt::format("      {}: {}", family.note_title, method.note), width, 4) + "\n";
  }
  for (const Option& option : method.options) {
    out += wrapped("      " + option_text(option, ""), width, 4) + "\n";
  }
  return out;
}

}  // namespace

Result<std::vector<MethodFamily>> choose_methods(const std::vector<MethodFamily>& families,
                                                 std::string_view name) {
  std::vector<MethodFamily> chosen;
  std::vector<std::string_view> known;
  for (const MethodFamily& family : families) {
    known.push_back(family.key);
    MethodFamily some = family;
    if (family.key != name) {
      std::erase_if(some.methods, [&](const Method& method) { return method.name != name; });
    }
    if (!some.methods.empty()) chosen.push_back(some);
    for (const Method& method : family.methods) known.push_back(method.name);
  }
  if (chosen.empty()) {
    return invalid_argument(fmt::format(
        "methods: expected a method, a key of the recipe, code or program, got \"{}\"{}",
        printable(name), did_you_mean(name, known)));
  }
  return chosen;
}

std::string methods_page(const std::vector<MethodFamily>& families, std::size_t width) {
  std::string out;
  for (const MethodFamily& family : families) {
    if (!out.empty()) out += "\n";
    out += wrapped(fmt::format("{}: {}", family.key, sentence(std::string(family.purpose))), width,
                   2) +
           "\n";
    for (const Method& method : family.methods) out += method_lines(family, method, width);
  }
  return out;
}

}  // namespace weft
