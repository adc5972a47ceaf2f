#include "weft/data/look/look.h"

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/base/file.h"
#include "weft/data/file_ending.h"
#include "weft/data/open_path.h"
#include "weft/data/safe_text.h"
#include "weft/data/text_file.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

bool holds(const std::string& folder, bool (*wanted)(const fs::directory_entry&)) {
  std::error_code fault;
  for (fs::directory_iterator at(folder, fault); !fault && at != fs::directory_iterator();
       at.increment(fault)) {
    if (wanted(*at)) return true;
  }
  return false;
}

bool is_visible_folder(const fs::directory_entry& entry) {
  std::error_code fault;
  return entry.is_directory(fault) && !entry.path().filename().string().starts_with(".");
}

bool is_image_entry(const fs::directory_entry& entry) {
  return has_ending(entry.path().filename().string(), {".png", ".jpg", ".jpeg"});
}

bool is_text_entry(const fs::directory_entry& entry) {
  std::error_code fault;
  return is_text_name(entry.path().string()) && entry.is_regular_file(fault);
}

Status look_at_folder(const std::string& folder, DataLook& look) {
  if (is_file(folder + "/train.bin")) return look_at_tokens(folder, look);
  if (!array_file(folder, 'x').empty()) return look_at_arrays(folder, look);
  if (holds(folder, is_visible_folder)) return look_at_images(folder, look);
  if (holds(folder, is_text_entry)) return look_at_text(folder, look);
  return invalid_argument(fmt::format(
      "{}: is a folder, but holds no folders of images, one a class, no x.npy and y.npy, no "
      "train.bin, and no files .txt{}",
      safe_text(folder, 200),
      holds(folder, is_image_entry)
          ? "; the images in it belong into a folder for each class, named like it"
          : ""));
}

Status look_at_file(const std::string& path, DataLook& look) {
  if (is_table_name(path)) return look_at_table(path, look);
  if (is_text_name(path)) return look_at_text(path, look);
  if (has_ending(path, ".bin")) {
    return look_at_tokens(path, look);
  }
  return invalid_argument(
      fmt::format("{}: expected a table (.csv, .tsv), a text (.txt, .text, .txt.gz), tokens "
                  "(.bin), or a folder "
                  "of images, texts or arrays, got a file of another name",
                  safe_text(path, 200)));
}

OrderedJson counted(const std::vector<std::pair<std::string, std::int64_t>>& counts) {
  OrderedJson list = OrderedJson::array();
  for (const auto& [name, count] : counts) list.push_back({{"name", name}, {"count", count}});
  return list;
}

OrderedJson images_json(const ImagesLook& images) {
  return {{"images", images.images},         {"classes", counted(images.classes)},
          {"looked_at", images.looked_at},   {"own_test_set", images.own_split},
          {"grey", images.all_grey},         {"width_min", images.width_min},
          {"width_max", images.width_max},   {"height_min", images.height_min},
          {"height_max", images.height_max}, {"side_median", images.side_median}};
}

OrderedJson column_json(const ColumnLook& column) {
  OrderedJson json = {
      {"name", column.name},           {"type", column.of_numbers ? "numbers" : "words"},
      {"values", column.values},       {"missing", column.missing},
      {"different", column.different}, {"identifier", column.identifier},
      {"dates", column.dates}};
  if (column.of_numbers) {
    json["whole"] = column.whole;
    json["min"] = column.min;
    json["max"] = column.max;
  } else {
    json["words"] = counted(column.words);
  }
  return json;
}

OrderedJson table_json(const TableLook& table) {
  OrderedJson columns = OrderedJson::array();
  for (const ColumnLook& column : table.columns) columns.push_back(column_json(column));
  return {{"rows", table.rows},
          {"separator", separator_name(table.form.separator)},
          {"decimal", table.form.decimal == ',' ? "comma" : "point"},
          {"header", table.form.header},
          {"columns", columns}};
}

}  // namespace

std::string_view to_string(LookKind kind) {
  switch (kind) {
    case LookKind::kImages:
      return "images";
    case LookKind::kTable:
      return "table";
    case LookKind::kTokens:
      return "tokens";
    case LookKind::kArrays:
      return "arrays";
    case LookKind::kText:
      break;
  }
  return "text";
}

Result<DataLook> look_at_data(const std::string& path) {
  DataLook look;
  look.path = path;
  while (look.path.size() > 1 && look.path.ends_with('/')) look.path.pop_back();
  if (is_folder(path)) {
    WEFT_TRY(look_at_folder(look.path, look));
  } else if (is_file(path)) {
    WEFT_TRY(look_at_file(look.path, look));
  } else {
    return unavailable(fmt::format("{}: no such file or folder", safe_text(path, 200)));
  }
  return look;
}

std::string look_json(const DataLook& look) {
  OrderedJson json = {{"path", look.path}, {"kind", to_string(look.kind)}};
  switch (look.kind) {
    case LookKind::kImages:
      json.update(images_json(look.images));
      break;
    case LookKind::kTable:
      json.update(table_json(look.table));
      break;
    case LookKind::kText:
      json.update({{"files", look.text.files},
                   {"bytes", look.text.bytes},
                   {"characters", look.text.characters},
                   {"lines", look.text.lines},
                   {"alphabet", look.text.alphabet}});
      break;
    case LookKind::kTokens:
      json.update({{"tokens", look.tokens.tokens},
                   {"token_bytes", look.tokens.token_bytes},
                   {"largest", look.tokens.largest},
                   {"own_test_set", look.tokens.own_split}});
      break;
    case LookKind::kArrays:
      json.update({{"rows", look.arrays.rows},
                   {"x", look.arrays.inputs},
                   {"y", look.arrays.targets},
                   {"classes", look.arrays.classes}});
      break;
  }
  json["samples"] = look.samples;
  json["oddities"] = look.oddities;
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace weft
