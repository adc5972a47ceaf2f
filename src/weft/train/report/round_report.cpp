#include "weft/train/report/round_report.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string_view>

#include "weft/wire/codec.h"

namespace weft {
namespace {

constexpr std::uint8_t kReportVersion = 1;
constexpr std::uint8_t kHasErrors = 1;
constexpr std::uint8_t kHasMember = 2;
constexpr double kCountMax = 9007199254740992.0;  // 2^53: up to here counts are exact

constexpr double ValueErrors::*kErrorSums[] = {&ValueErrors::absolute, &ValueErrors::squared,
                                               &ValueErrors::values, &ValueErrors::value_squares};

// All values that are not numbers are written in one form.
void write_number(Writer& out, double value) {
  if (std::isnan(value)) value = std::numeric_limits<double>::quiet_NaN();
  out.u64(std::bit_cast<std::uint64_t>(value));
}

double read_number(Reader& in, std::string_view field) {
  const std::uint64_t bits = in.u64(field);
  const auto value = std::bit_cast<double>(bits);
  const auto none = std::bit_cast<std::uint64_t>(std::numeric_limits<double>::quiet_NaN());
  if (std::isnan(value) && bits != none) in.fail(field, "is not a number in another form");
  return value;
}

double read_count(Reader& in, std::string_view field) {
  const double count = in.f64(field);
  if (!(count >= 0 && count <= kCountMax)) in.fail(field, "expected 0 to 2^53");
  return count;
}

template <class Sums>
void write_sums(Writer& out, const Sums& sums) {
  write_number(out, sums.loss);
  write_number(out, sums.correct);
  out.f64(sums.samples).f64(sums.labels);
}

template <class Sums>
void read_sums(Reader& in, Sums& sums) {
  sums.loss = read_number(in, "loss");
  sums.correct = read_number(in, "correct");
  sums.samples = read_count(in, "samples");
  sums.labels = read_count(in, "labels");
}

template <class Sums>
void add_sums(Sums& to, const Sums& more) {
  to.loss += more.loss;
  to.correct += more.correct;
  to.samples += more.samples;
  to.labels += more.labels;
}

}  // namespace

double ValueErrors::mean_absolute(double labels) const {
  return labels > 0 ? absolute / labels : std::numeric_limits<double>::quiet_NaN();
}

double ValueErrors::r2(double labels) const {
  const double spread = labels > 0 ? value_squares - values * values / labels : 0.0;
  return spread > 0 ? 1.0 - squared / spread : std::numeric_limits<double>::quiet_NaN();
}

Bytes RoundReport::encode() const {
  Writer out;
  out.u8(kReportVersion);
  out.u8(static_cast<std::uint8_t>((errors ? kHasErrors : 0) | (member ? kHasMember : 0)));
  write_sums(out, *this);
  out.f64(compute_seconds);
  write_sums(out, validation);
  if (errors) {
    for (const auto sum : kErrorSums) write_number(out, *errors.*sum);
  }
  if (member) {
    MemberReport told = *member;
    told.compute_seconds = compute_seconds;
    told.write(out);
  }
  return out.take();
}

Result<RoundReport> RoundReport::decode(ByteSpan bytes) {
  Reader in("round report", bytes);
  RoundReport report;
  if (in.u8("version") != kReportVersion) in.fail("version", "expected 1");
  const std::uint8_t flags = in.u8("flags");
  if (flags > (kHasErrors | kHasMember)) in.fail("flags", "expected 0 to 3");
  read_sums(in, report);
  report.compute_seconds = in.f64("compute seconds");
  if (report.compute_seconds < 0) in.fail("compute seconds", "is below 0");
  read_sums(in, report.validation);
  if ((flags & kHasErrors) != 0) {
    report.errors.emplace();
    for (const auto sum : kErrorSums) *report.errors.*sum = read_number(in, "errors");
  }
  if ((flags & kHasMember) != 0) {
    report.member = MemberReport::read(in);
    if (report.member->compute_seconds != report.compute_seconds) {
      in.fail("member", "took another time");
    }
  }
  WEFT_TRY(in.finish());
  return report;
}

RoundMetrics fold_reports(std::span<const Bytes> reports) {
  RoundMetrics sum;
  for (const Bytes& bytes : reports) {
    sum.compute_seconds.push_back(0.0);
    sum.members.emplace_back();
    const Result<RoundReport> report = RoundReport::decode(bytes);
    if (!report.ok()) continue;
    add_sums<ComputedSums>(sum, *report);
    add_sums(sum.validation, report->validation);
    if (report->errors) {
      if (!sum.errors) sum.errors.emplace();
      for (const auto each : kErrorSums) *sum.errors.*each += *report->errors.*each;
    }
    sum.compute_seconds.back() = report->compute_seconds;
    sum.members.back() = report->member.value_or(MemberReport());
  }
  return sum;
}

double median_loss(std::span<const Bytes> reports, double batch) {
  std::vector<double> losses;
  for (const Bytes& bytes : reports) {
    const Result<RoundReport> report = RoundReport::decode(bytes);
    if (!report.ok() || report->samples <= 0) continue;
    const double mean = report->loss * batch / report->samples;
    losses.push_back(std::isnan(mean) ? std::numeric_limits<double>::infinity() : mean);
  }
  if (losses.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto middle = losses.begin() + static_cast<std::ptrdiff_t>((losses.size() - 1) / 2);
  std::ranges::nth_element(losses, middle);
  return *middle;
}

}  // namespace weft
