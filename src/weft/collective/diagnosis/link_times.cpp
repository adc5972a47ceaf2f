#include "weft/collective/diagnosis/link_times.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace weft {

// A row or column is slow if at least this many of its known links are, ...
static constexpr int kSlowLinksMin = 2;
// ... and more than two of three.
static constexpr int kSlowOf = 3;
static constexpr int kSlowShare = 2;

double lower_median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

LinkTimes::LinkTimes(int members)
    : members_(members),
      pairs_(static_cast<std::size_t>(members) * static_cast<std::size_t>(members)) {}

const LinkTimes::Pair& LinkTimes::at(int from, int to) const {
  return pairs_[static_cast<std::size_t>(from) * static_cast<std::size_t>(members_) +
                static_cast<std::size_t>(to)];
}

void LinkTimes::add(const LinkTime& link, int reporter) {
  const Pair& found = at(link.from, link.to);
  Pair& pair = pairs_[static_cast<std::size_t>(&found - pairs_.data())];
  End& end = reporter == link.from ? pair.sender : pair.receiver;
  end.bytes += link.bytes;
  end.seconds += link.seconds;
  ++end.records;
}

// The faster one of the two ends' measurements: one end alone accuses nobody.
std::optional<LinkTimes::Cell> LinkTimes::cell(int from, int to) const {
  const Pair& pair = at(from, to);
  std::optional<Cell> best;
  for (const End* const end : {&pair.sender, &pair.receiver}) {
    if (end->bytes <= 0) continue;
    const double bytes = end->bytes / end->records;
    const Cell made = {per_byte(*end), per_byte(*end) * bytes};
    if (!best || made.per_byte < best->per_byte) best = made;
  }
  return best;
}

double LinkTimes::usual() const {
  std::vector<double> known;
  for (int from = 0; from < members_; ++from) {
    for (int to = 0; to < members_; ++to) {
      if (const auto each = cell(from, to)) known.push_back(each->per_byte);
    }
  }
  return known.empty() ? 0 : lower_median(std::move(known));
}

// The slow links that no row or column has explained yet.
class LinkTimes::Search {
 public:
  Search(const LinkTimes& table, double factor, double least) : size_(table.members_) {
    const double usual = table.usual();
    places_.resize(static_cast<std::size_t>(size_) * static_cast<std::size_t>(size_));
    for (int from = 0; from < size_; ++from) {
      for (int to = 0; to < size_; ++to) {
        const std::optional<Cell> cell = table.cell(from, to);
        if (!cell) continue;
        Place& place = at(from, to);
        place.known = true;
        place.per_byte = cell->per_byte;
        const double share = cell->per_byte > 0 ? 1 - usual / cell->per_byte : 0;
        place.slow = cell->per_byte > factor * usual && share * cell->round_seconds > least;
      }
    }
  }

  std::vector<Slow> run() {
    std::vector<Slow> found;
    for (std::optional<Slow> line = take_line(); line; line = take_line()) found.push_back(*line);
    for (int from = 0; from < size_; ++from) {
      for (int to = 0; to < size_; ++to) {
        const Place& place = at(from, to);
        if (place.known && place.slow) found.push_back({from, to, place.per_byte});
      }
    }
    return found;
  }

 private:
  struct Place {
    bool known = false;
    bool slow = false;
    double per_byte = 0;
  };
  struct Count {
    int known = 0;
    int slow = 0;
  };

  Place& at(int from, int to) {
    return places_[static_cast<std::size_t>(from) * static_cast<std::size_t>(size_) +
                   static_cast<std::size_t>(to)];
  }
  Place& in_line(bool row, int line, int other) { return row ? at(line, other) : at(other, line); }

  Count count(bool row, int line) {
    Count sum;
    for (int other = 0; other < size_; ++other) {
      const Place& place = in_line(row, line, other);
      sum.known += place.known ? 1 : 0;
      sum.slow += place.known && place.slow ? 1 : 0;
    }
    return sum;
  }

  // The row or column with the largest share of slow links, if that is large; its links are
  // explained then.
  std::optional<Slow> take_line() {
    Count best;
    std::pair<bool, int> line;
    for (const bool row : {true, false}) {
      for (int i = 0; i < size_; ++i) {
        const Count each = count(row, i);
        if (each.slow < kSlowLinksMin || kSlowOf * each.slow <= kSlowShare * each.known) continue;
        const int shares = each.slow * best.known - best.slow * each.known;
        if (best.known > 0 && (shares < 0 || (shares == 0 && each.slow <= best.slow))) continue;
        best = each;
        line = {row, i};
      }
    }
    if (best.known == 0) return std::nullopt;
    std::vector<double> slow;
    for (int other = 0; other < size_; ++other) {
      Place& place = in_line(line.first, line.second, other);
      if (place.known && place.slow) slow.push_back(place.per_byte);
      place.known = false;
    }
    const double middle = lower_median(std::move(slow));
    return line.first ? Slow{line.second, -1, middle} : Slow{-1, line.second, middle};
  }

  int size_;
  std::vector<Place> places_;
};

std::vector<LinkTimes::Slow> LinkTimes::slow(double factor, double least) const {
  return Search(*this, factor, least).run();
}

std::vector<LinkTimes::Contradiction> LinkTimes::contradictions(double factor, double least) const {
  std::vector<Contradiction> found;
  for (int from = 0; from < members_; ++from) {
    for (int to = 0; to < members_; ++to) {
      const Pair& pair = at(from, to);
      const double sender = per_byte(pair.sender);
      const double receiver = per_byte(pair.receiver);
      if (sender <= 0 || receiver <= 0) continue;
      const End& slower = sender > receiver ? pair.sender : pair.receiver;
      const double round_bytes = slower.bytes / slower.records;
      const bool costs = std::abs(sender - receiver) * round_bytes > least;
      if (costs && std::max(sender, receiver) > factor * std::min(sender, receiver)) {
        found.push_back({from, to, sender, receiver});
      }
    }
  }
  return found;
}

}  // namespace weft
