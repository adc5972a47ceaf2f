// A profile as tables and as JSON.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/base/printable.h"
#include "weft/train/profile/step_profile.h"

namespace weft {
namespace {

constexpr std::size_t kNameWidth = 42;

std::string cut(const std::string& name) {
  return name.size() <= kNameWidth ? name : name.substr(0, kNameWidth - 3) + "...";
}

// The rates of a row, or of a whole step.
struct Rates {
  double gflops = 0;         // 0: not such a row
  double gb_per_s = 0;       // likewise
  double share_of_peak = 0;  // 0: not known
};

// Rows that compute products are measured by these, all others by their bytes.
Rates rates_of(const ProfileRow& row, const ProfileReport& report) {
  Rates rates;
  if (row.ms <= 0) return rates;
  if (row.flops > 0) {
    rates.gflops = row.flops / row.ms * 1e-6;
    if (report.peak_flops > 0) rates.share_of_peak = rates.gflops * 1e9 / report.peak_flops;
  } else if (row.bytes > 0) {
    rates.gb_per_s = row.bytes / row.ms * 1e-6;
    if (report.triad_bytes > 0) rates.share_of_peak = rates.gb_per_s * 1e9 / report.triad_bytes;
  }
  return rates;
}

std::string number_or_blank(double value) {
  return value > 0 ? fmt::format("{:.1f}", value) : std::string();
}

std::string line_of(const ProfileRow& row, const ProfileReport& report) {
  const Rates rates = rates_of(row, report);
  const double share = report.step_ms > 0 ? 100.0 * row.ms / report.step_ms : 0;
  std::string line =
      fmt::format("{:<42} {:<8} {:>6} {:>9.3f} {:>6.1f} % {:>8} {:>6} {:>5}",
                  cut((row.is_part ? "  of it " : "") + row.name), to_string(row.pass),
                  row.calls > 0 ? fmt::format("{:.4g}", row.calls) : std::string(), row.ms, share,
                  number_or_blank(rates.gflops), number_or_blank(rates.gb_per_s),
                  rates.share_of_peak > 0 ? fmt::format("{:.0f} %", 100.0 * rates.share_of_peak)
                                          : std::string());
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string rows_text(const char* title, const char* second, const std::vector<ProfileRow>& rows,
                      const ProfileReport& report) {
  std::string text = fmt::format("{:<42} {:<8} {:>6} {:>9} {:>8} {:>8} {:>6} {:>5}\n", title,
                                 second, "calls", "ms", "share", "GFLOP/s", "GB/s", "peak");
  for (const ProfileRow& row : rows) text += line_of(row, report);
  ProfileRow rest;
  rest.name = "outside of all kernels";
  rest.ms = report.outside_ms;
  ProfileRow step;
  step.name = "the whole " + report.unit;
  step.ms = report.step_ms;
  step.flops = report.flops;
  return text + line_of(rest, report) + line_of(step, report);
}

nlohmann::ordered_json profile_json(const ProfileRow& row, const ProfileReport& report) {
  const Rates rates = rates_of(row, report);
  nlohmann::ordered_json json = {{"name", row.name}};
  if (row.pass != Pass::kNone) json["pass"] = to_string(row.pass);
  if (row.is_part) json["part"] = true;
  json["calls"] = row.calls;
  json["ms"] = row.ms;
  json["share"] = report.step_ms > 0 ? row.ms / report.step_ms : 0;
  json["flops"] = row.flops;
  json["bytes"] = row.bytes;
  if (rates.gflops > 0) json["gflops"] = rates.gflops;
  if (rates.gb_per_s > 0) json["gb_per_s"] = rates.gb_per_s;
  if (rates.share_of_peak > 0) json["share_of_peak"] = rates.share_of_peak;
  return json;
}

nlohmann::ordered_json profile_json(const std::vector<ProfileRow>& rows,
                                    const ProfileReport& report) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const ProfileRow& row : rows) list.push_back(profile_json(row, report));
  return list;
}

}  // namespace

const char* to_string(Pass pass) {
  switch (pass) {
    case Pass::kForward:
      return "forward";
    case Pass::kBackward:
      return "backward";
    case Pass::kNone:
      break;
  }
  return "";
}

std::string to_table(const ProfileReport& report) {
  std::string text =
      fmt::format("profile with {}: {:.3f} ms a {} in the mean of {}\n",
                  counted(report.threads, "thread"), report.step_ms, report.unit, report.steps);
  const std::string products = report.peak_flops > 0
                                   ? fmt::format("{:.1f} GFLOP/s of f32", report.peak_flops * 1e-9)
                                   : std::string("not known for products");
  text += fmt::format("peak, measured now: {}, {:.1f} GB/s of a triad\n\n", products,
                      report.triad_bytes * 1e-9);
  text += rows_text("operation", "pass", report.ops, report);
  return text + "\n" + rows_text("kernel", "", report.kernels, report);
}

std::string to_json(const ProfileReport& report) {
  return nlohmann::ordered_json{
      {"steps", report.steps},
      {"threads", report.threads},
      {"step_ms", report.step_ms},
      {"outside_ms", report.outside_ms},
      {"flops", report.flops},
      {"peak_gflops", report.peak_flops * 1e-9},
      {"triad_gb_per_s", report.triad_bytes * 1e-9},
      {"operations", profile_json(report.ops, report)},
      {"kernels", profile_json(report.kernels, report)},
  }
      .dump();
}

}  // namespace weft
