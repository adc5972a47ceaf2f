#include "weft/train/exchange/audit_exchange.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "weft/base/bytes.h"
#include "weft/train/report/round_report.h"

namespace weft {
namespace {

constexpr std::size_t kSignsAWord = 64;

// 64 signs, the same on every machine: SplitMix64 of the word's number (Steele, Lea, Flood 2014).
std::uint64_t signs_of(std::uint64_t word, std::uint64_t projection) {
  std::uint64_t z = (word * kAuditProjections + projection + 1) * 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

std::string text_of(std::span<const double> numbers) {
  return fmt::format("{:.17g}", fmt::join(numbers, " "));
}

class AuditExchange final : public RoundExchange {
 public:
  AuditExchange(RoundExchange& inner, EventLog& log) : inner_(inner), log_(log) {}

  Result<Turn> next() override {
    Result<Turn> turn = inner_.next();
    if (!turn.ok()) return turn;
    turn_ = *turn;
    turn_.state = {};
    turn_.reports.clear();
    if (turn->kind == TurnKind::kApply) tell_sum({turn->reduced, turn->reports}, true);
    return turn;
  }
  Status begin(std::int64_t elements) override {
    input_.assign(static_cast<std::size_t>(elements), 0.0F);
    missing_ = elements;
    report_.reset();
    return inner_.begin(elements);
  }
  void contribute(std::int64_t offset, std::span<const float> values) override {
    std::copy(values.begin(), values.end(), input_.begin() + offset);
    missing_ -= static_cast<std::int64_t>(values.size());
    tell_input();
    inner_.contribute(offset, values);
  }
  Status report(Bytes report) override {
    report_ = report;
    tell_input();
    return inner_.report(std::move(report));
  }
  Result<RoundResult> finish() override {
    Result<RoundResult> result = inner_.finish();
    if (result.ok()) tell_sum(*result, false);
    return result;
  }
  Status stand_in(const StandIn& stand_in) override { return inner_.stand_in(stand_in); }
  void applied(Round round, const StateHash& hash) override { inner_.applied(round, hash); }
  StateLender* state_lender() override { return inner_.state_lender(); }
  Result<ResidualState> residual_state() override { return inner_.residual_state(); }

 private:
  Event event_about(std::string_view kind, std::span<const float> vector,
                    std::span<const Bytes> reports) const {
    const VectorDigest digest = digest_of(vector);
    Event event(kind);
    event.with("round", turn_.round.value())
        .with("view", turn_.view.number.value())
        .with("view_hash", to_hex(turn_.view.hash).substr(0, 16))
        .with("elements", vector.size())
        .with("samples", fold_reports(reports).samples)
        .with("hash", to_hex(digest.hash))
        .with("magnitude", digest.magnitude)
        .with("projections", text_of(digest.projections))
        .with("values", text_of(digest.values));
    return event;
  }
  // Once it is whole.
  void tell_input() {
    if (missing_ > 0 || !report_) return;
    Event event = event_about("audit_input", input_, std::span(&*report_, 1));
    event.with("rank", turn_.rank.value()).with("members", turn_.members);
    log_.append(std::move(event));
  }
  void tell_sum(const RoundResult& result, bool caught_up) {
    Event event = event_about("audit_sum", result.sums, result.reports);
    event.with("caught_up", caught_up);
    log_.append(std::move(event));
  }

  RoundExchange& inner_;
  EventLog& log_;
  Turn turn_;
  std::vector<float> input_;
  // Elements of `input_` that are still to come.
  std::int64_t missing_ = 0;
  std::optional<Bytes> report_;
};

}  // namespace

VectorDigest digest_of(std::span<const float> vector) {
  VectorDigest digest;
  digest.hash = xxh3_128(as_bytes(vector));
  for (const float value : vector) digest.magnitude += std::abs(static_cast<double>(value));
  for (std::size_t projection = 0; projection < kAuditProjections; ++projection) {
    double sum = 0;
    for (std::size_t begin = 0; begin < vector.size(); begin += kSignsAWord) {
      std::uint64_t signs = signs_of(begin / kSignsAWord, projection);
      const std::size_t end = std::min(vector.size(), begin + kSignsAWord);
      for (std::size_t i = begin; i < end; ++i, signs >>= 1U) {
        const double value = static_cast<double>(vector[i]);
        sum += (signs & 1U) != 0 ? value : -value;
      }
    }
    digest.projections[projection] = sum;
  }
  if (vector.empty()) return digest;
  for (std::size_t i = 0; i < kAuditValues; ++i) {
    digest.values[i] = static_cast<double>(vector[vector.size() * i / kAuditValues]);
  }
  return digest;
}

std::unique_ptr<RoundExchange> make_audit_exchange(RoundExchange& inner, EventLog& log) {
  return std::make_unique<AuditExchange>(inner, log);
}

}  // namespace weft
