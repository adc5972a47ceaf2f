// The catalogue's reports as the command line prints them.
#include <fmt/format.h>

#include "weft/data/catalog.h"

namespace weft {

std::string data_list_text(const std::vector<DatasetReport>& reports) {
  std::string text;
  for (const DatasetReport& report : reports) {
    text += fmt::format("{:<14} {}\n", report.name, report.description);
    if (!report.found) {
      text += fmt::format("{:<14} not found; {}\n", "", report.remedy);
    } else if (!report.folder.empty()) {
      text += fmt::format("{:<14} found in {}\n", "", report.folder);
    } else {
      text += fmt::format("{:<14} needs no files\n", "");
    }
  }
  text += "images, rows, text and tokens are your own data, at data.path: weft new PATH\n";
  return text;
}

std::string data_get_text(const DatasetReport& report) {
  if (!report.found) {
    std::string text = fmt::format("{}: not found; {}\n", report.name, report.remedy);
    for (const std::string& step : report.steps) text += fmt::format("  {}\n", step);
    return text;
  }
  if (report.folder.empty()) return fmt::format("{}: needs no files\n", report.name);
  return fmt::format("{}: found in {}, nothing to do\n", report.name, report.folder);
}

std::string data_check_text(std::string_view name, const std::vector<FileReport>& files) {
  if (files.empty()) return fmt::format("{}: needs no files\n", name);
  std::string text;
  for (const FileReport& file : files) {
    if (!file.status.ok()) {
      text += fmt::format("BAD  {}\n", file.status.to_string());
    } else {
      text += fmt::format("ok   {}: {}\n", file.path,
                          file.sha256_known ? "counts, values and SHA-256 as expected"
                                            : "counts and values as expected; no checksum known");
    }
  }
  return text;
}

}  // namespace weft
