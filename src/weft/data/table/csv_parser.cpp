// Records of a table, byte by byte, and how its columns are called.
#include <fstream>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "weft/data/csv.h"
#include "weft/data/safe_text.h"

namespace weft {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 16U;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

Status take_records(CsvParser& parser, const CsvRecordSink& take,
                    std::vector<std::string>& record) {
  for (;;) {
    WEFT_TRY_ASSIGN(const bool got, parser.next(record));
    if (!got) return {};
    WEFT_TRY(take(record, parser.line()));
  }
}

}  // namespace

std::vector<std::string> csv_column_names(const std::vector<std::string>& first, bool header) {
  std::vector<std::string> names;
  std::unordered_set<std::string> taken;
  std::unordered_map<std::string, std::size_t> doubles;  // how often a name was changed so far
  for (std::size_t i = 0; i < first.size(); ++i) {
    std::string wanted(header ? csv_trimmed(first[i]) : std::string_view());
    if (wanted.empty()) wanted = std::to_string(i);
    std::string name = wanted;
    while (!taken.insert(name).second) name = fmt::format("{}.{}", wanted, ++doubles[wanted]);
    names.push_back(std::move(name));
  }
  return names;
}

bool is_empty_line(const std::vector<std::string>& record) {
  return record.size() == 1 && record[0].empty();
}

std::string_view csv_trimmed(std::string_view field) {
  while (!field.empty() && (field.front() == ' ' || field.front() == '\t')) field.remove_prefix(1);
  while (!field.empty() && (field.back() == ' ' || field.back() == '\t')) field.remove_suffix(1);
  return field;
}

Status CsvParser::end_field(std::vector<std::string>& fields) {
  if (fields.size() == kCsvColumnsMax) {
    return corrupt(
        fmt::format("line {}: expected at most {} fields, got more", line_, kCsvColumnsMax));
  }
  fields.push_back(std::move(field_));
  field_.clear();
  place_ = Place::kFieldStart;
  return {};
}

// Takes one byte; `ended` says that it was the last of its record.
Status CsvParser::add(char byte, std::vector<std::string>& fields, bool& ended) {
  const bool second_of_end = std::exchange(after_return_, false) && byte == '\n';
  if (second_of_end) return {};
  if (place_ == Place::kQuoted) {
    if (byte == '\n') ++line_;
    if (byte == '"') {
      place_ = Place::kQuoteInQuoted;
      return {};
    }
  } else if (place_ == Place::kQuoteInQuoted && byte == '"') {
    place_ = Place::kQuoted;
  } else if (place_ == Place::kFieldStart && byte == '"') {
    place_ = Place::kQuoted;
    return {};
  } else if (byte == separator_) {
    return end_field(fields);
  } else if (byte == '\n' || byte == '\r') {
    after_return_ = byte == '\r';
    ++line_;
    ended = true;
    return end_field(fields);
  } else if (place_ == Place::kQuoteInQuoted) {
    return corrupt(fmt::format("line {}: expected a separator after a quoted field, got \"{}\"",
                               line_, safe_text(std::string_view(&byte, 1))));
  } else {
    place_ = Place::kPlain;
    if (byte == '"') {
      return corrupt(
          fmt::format("line {}: expected quotes around a whole field, got one inside", line_));
    }
  }
  if (field_.size() == kCsvFieldBytesMax || ++record_bytes_ > kCsvRecordBytesMax) {
    return corrupt(
        fmt::format("line {}: expected at most {} bytes a field and {} a record, got more", line_,
                    kCsvFieldBytesMax, kCsvRecordBytesMax));
  }
  field_.push_back(byte);
  return {};
}

Result<bool> CsvParser::next(std::vector<std::string>& fields) {
  if (record_.empty() && field_.empty() && place_ == Place::kFieldStart) record_line_ = line_;
  bool ended = false;
  while (!ended && used_ < pending_.size()) WEFT_TRY(add(pending_[used_++], record_, ended));
  if (used_ == pending_.size()) {
    pending_.clear();
    used_ = 0;
  }
  if (!ended && finished_) {
    if (place_ == Place::kQuoted) {
      return corrupt(fmt::format("line {}: expected a closing quote, got the end", record_line_));
    }
    if (record_.empty() && field_.empty() && place_ == Place::kFieldStart) return false;
    WEFT_TRY(end_field(record_));
    ended = true;
  }
  if (!ended) return false;
  fields.swap(record_);
  record_.clear();
  record_bytes_ = 0;
  return true;
}

Status parse_csv_records(std::string_view text, char separator, const CsvRecordSink& take) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  CsvParser parser(separator);
  std::vector<std::string> record;
  parser.feed(text);
  parser.finish();
  return take_records(parser, take, record);
}

Status read_csv_records(const std::string& path, char separator, const CsvRecordSink& take) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return unavailable(fmt::format("{}: expected a file that can be read, got none", path));
  CsvParser parser(separator);
  std::vector<std::string> record;
  std::string chunk(kChunkBytes, '\0');
  for (bool first = true; file; first = false) {
    file.read(chunk.data(), static_cast<std::streamsize>(chunk.size()));
    std::string_view bytes(chunk.data(), static_cast<std::size_t>(file.gcount()));
    if (first && bytes.starts_with(kByteOrderMark)) bytes.remove_prefix(kByteOrderMark.size());
    parser.feed(bytes);
    if (file.eof()) parser.finish();
    WEFT_TRY(take_records(parser, take, record).with_context(path));
  }
  if (file.bad() || !file.eof()) {
    return unavailable(fmt::format("{}: expected to read to its end, got a fault", path));
  }
  return {};
}

}  // namespace weft
