#include "weft/collective/team/round_plan.h"

#include <fmt/format.h>

#include "weft/wire/collective_message.h"

namespace weft {

Status RoundPlan::check(std::int64_t elements_max) const {
  if (exchanges.empty() || exchanges.size() > kExchangesMax) {
    return invalid_argument(
        fmt::format("round of {} exchanges: expected 1 to {}", exchanges.size(), kExchangesMax));
  }
  std::int64_t left = elements_max;
  for (const ExchangePlan& each : exchanges) {
    WEFT_TRY(check_purpose(each.purpose));
    if (each.elements < 0 || each.elements > left) {
      return invalid_argument(fmt::format("round of {} elements: at most {}",
                                          exchanges.size() == 1
                                              ? std::to_string(each.elements)
                                              : fmt::format("{} more", each.elements),
                                          left));
    }
    left -= each.elements;
  }
  return {};
}

std::int64_t RoundPlan::elements() const { return offset(exchanges.size()); }

std::int64_t RoundPlan::offset(std::size_t exchange) const {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < exchange; ++i) sum += exchanges[i].elements;
  return sum;
}

std::span<const float> RoundPlan::result(std::span<const float> round, std::size_t exchange) const {
  return round.subspan(static_cast<std::size_t>(offset(exchange)),
                       static_cast<std::size_t>(exchanges[exchange].elements));
}

}  // namespace weft
