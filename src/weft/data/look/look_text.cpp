// What a text holds, and how the look at data of any kind is printed.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "weft/base/file.h"
#include "weft/base/utf8.h"
#include "weft/data/look/look.h"
#include "weft/data/safe_text.h"
#include "weft/data/text_file.h"

namespace weft {
namespace {

constexpr std::size_t kSampleCharacters = 100;
constexpr std::int64_t kShortText = 10000;
constexpr std::size_t kClassesInText = 20;

std::string thousands(std::int64_t number) {
  std::string digits = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > (number < 0 ? 1 : 0);
       at -= 3) {
    digits.insert(static_cast<std::size_t>(at), ",");
  }
  return digits;
}

std::string line(std::string_view name, const std::string& text) {
  return fmt::format("  {:<10} {}\n", name, text);
}

std::string range_text(std::int64_t least, std::int64_t most) {
  return least == most ? std::to_string(least) : fmt::format("{} to {}", least, most);
}

std::string images_text(const DataLook& look) {
  const ImagesLook& images = look.images;
  std::string text = fmt::format("{}: images in folders, {} in {} class{}\n", safe_text(look.path),
                                 thousands(images.images), images.classes.size(),
                                 images.classes.size() == 1 ? "" : "es");
  for (std::size_t i = 0; i < images.classes.size(); ++i) {
    if (i == kClassesInText) {
      text += line("", fmt::format("and {} more classes", images.classes.size() - i));
      break;
    }
    text += line(i == 0 ? "classes" : "", fmt::format("{} {}", images.classes[i].first,
                                                      thousands(images.classes[i].second)));
  }
  text += line("pixels",
               fmt::format("{} wide, {} high; {}", range_text(images.width_min, images.width_max),
                           range_text(images.height_min, images.height_max),
                           images.all_grey ? "grey" : "in colour"));
  text += line("test set", images.own_split ? "of its own, beside train/"
                                            : "none of its own: a tenth is kept for it");
  if (images.looked_at < images.images) {
    text +=
        line("looked at", fmt::format("{} pictures, evenly spread", thousands(images.looked_at)));
  }
  return text;
}

std::string column_text(const ColumnLook& column) {
  std::string text;
  if (column.values == 0) {
    text = "nothing";
  } else if (column.of_numbers) {
    text = fmt::format("{} from {:.6g} to {:.6g}", column.whole ? "whole numbers" : "numbers",
                       column.min, column.max);
  } else {
    text = fmt::format("{}{} word{}:", thousands(column.different),
                       column.different >= kLookDifferentMax ? " or more" : "",
                       column.different == 1 ? "" : "s");
    for (const auto& [word, count] : column.words) text += fmt::format(" {} ({})", word, count);
  }
  if (column.missing > 0) text += fmt::format(", {} missing", thousands(column.missing));
  return text;
}

std::string table_text(const DataLook& look) {
  const TableLook& table = look.table;
  std::string text = fmt::format("{}: a table, {} rows of {} columns\n", safe_text(look.path),
                                 thousands(table.rows), table.columns.size());
  text += line(
      "written",
      fmt::format("fields separated by a {}, decimal {}, {}", separator_name(table.form.separator),
                  table.form.decimal == ',' ? "comma" : "point",
                  table.form.header ? "names in the first line" : "no line of names"));
  for (const ColumnLook& column : table.columns) text += line(column.name, column_text(column));
  return text;
}

std::string text_text(const DataLook& look) {
  const TextLook& text = look.text;
  std::string out = fmt::format("{}: text, {} characters in {} lines\n", safe_text(look.path),
                                thousands(text.characters), thousands(text.lines));
  if (text.files > 1) out += line("files", thousands(text.files));
  out += line("alphabet", fmt::format("{} different characters", thousands(text.alphabet)));
  return out;
}

}  // namespace

Status look_at_text(const std::string& path, DataLook& look) {
  look.kind = LookKind::kText;
  WEFT_TRY_ASSIGN(const std::string text, read_text(path));
  TextLook& seen = look.text;
  if (is_folder(path)) {
    WEFT_TRY_ASSIGN(const std::vector<std::string> files, text_files(path));
    seen.files = static_cast<std::int64_t>(files.size());
  }
  seen.bytes = static_cast<std::int64_t>(text.size());
  seen.characters = count_characters(text);
  seen.lines = std::count(text.begin(), text.end(), '\n');
  std::set<std::uint32_t> alphabet;
  std::int64_t controls = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const Utf8Character character = first_character(rest);
    rest.remove_prefix(std::max<std::size_t>(1, character.length));
    alphabet.insert(character.code_point);
    const bool usual = character.code_point == '\n' || character.code_point == '\t' ||
                       character.code_point == '\r' || character.code_point == '\f';
    if (character.code_point < 0x20 && !usual) ++controls;
  }
  seen.alphabet = static_cast<std::int64_t>(alphabet.size());
  for (const std::size_t at : {std::size_t{0}, text.size() / 2}) {
    std::size_t begin = at;
    while (begin < text.size() && (static_cast<std::uint8_t>(text[begin]) & 0xC0U) == 0x80U)
      ++begin;
    look.samples.push_back(safe_text(std::string_view(text).substr(begin), kSampleCharacters));
  }
  if (seen.alphabet == 1) {
    look.oddities.emplace_back("The text is one character, again and again.");
  }
  if (controls > 0) {
    look.oddities.push_back(
        fmt::format("{} control characters: is this a text?", thousands(controls)));
  }
  if (seen.characters < kShortText) {
    look.oddities.push_back(fmt::format(
        "The text is short: {} characters. A model learns its letters, and few of its words.",
        thousands(seen.characters)));
  }
  return {};
}

std::string look_text(const DataLook& look) {
  std::string text;
  switch (look.kind) {
    case LookKind::kImages:
      text = images_text(look);
      break;
    case LookKind::kTable:
      text = table_text(look);
      break;
    case LookKind::kText:
      text = text_text(look);
      break;
    case LookKind::kTokens:
      text = fmt::format("{}: tokens, {} numbers up to {}\n", safe_text(look.path),
                         thousands(look.tokens.tokens), thousands(look.tokens.largest)) +
             line("written",
                  fmt::format("{} byte{} a number, as they look; no header",
                              look.tokens.token_bytes, look.tokens.token_bytes == 1 ? "" : "s")) +
             line("test set", look.tokens.own_split ? "of its own, beside train.bin"
                                                    : "none of its own: the last tenth is kept");
      break;
    case LookKind::kArrays:
      text =
          fmt::format("{}: arrays, {} rows\n", safe_text(look.path), thousands(look.arrays.rows)) +
          line("x.npy", look.arrays.inputs) +
          line("y.npy",
               look.arrays.targets + (look.arrays.classes
                                          ? fmt::format(", {} classes", look.arrays.class_count)
                                          : std::string(", values")));
      break;
  }
  for (std::size_t i = 0; i < look.samples.size(); ++i) {
    text += line(i == 0 ? "samples" : "", look.samples[i]);
  }
  if (look.oddities.empty()) text += line("odd", "nothing");
  for (std::size_t i = 0; i < look.oddities.size(); ++i) {
    text += line(i == 0 ? "odd" : "", look.oddities[i]);
  }
  return text;
}

}  // namespace weft
