#include "weft/collective/link/ring_order.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "weft/base/check.h"
#include "weft/base/rng.h"

namespace weft {
namespace {

constexpr int kClusterMax = 64;
constexpr int kClusterAim = 32;
constexpr int kSweepsMax = 20;
// So many members or fewer: every one is tried as the beginning.
constexpr int kAllStartsMax = 16;
constexpr int kStarts = 4;
constexpr std::size_t kMovedMax = 3;
constexpr int kKicks = 60;
// What a link is taken for of which nothing at all is known.
constexpr LinkFacts kOrdinaryLink{12.5e6, 1e-3};
// An improvement below this is rounding.
constexpr double kLeastGain = 1e-9;

double median(std::vector<double> values, double otherwise) {
  if (values.empty()) return otherwise;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double transfer_seconds(const LinkFacts& link, const RingLoad& load) {
  return load.bytes / link.bytes_per_s;
}

// One member's wait for the first bytes of the one before.
double hop_seconds(const LinkFacts& link, const RingLoad& load, int size) {
  return link.delay_s + std::min(load.segment_bytes, load.bytes / size) / link.bytes_per_s;
}

// The order under search, over a matrix of at most kClusterMax members.
class Search {
 public:
  Search(const LinkMatrix& links, const RingLoad& load) : size_(links.size()) {
    const auto cells = static_cast<std::size_t>(size_) * static_cast<std::size_t>(size_);
    transfer_.resize(cells);
    hop_.resize(cells);
    for (int from = 0; from < size_; ++from) {
      for (int to = 0; to < size_; ++to) {
        if (from == to) continue;
        transfer_[cell(from, to)] = transfer_seconds(links.at(from, to), load);
        hop_[cell(from, to)] = hop_seconds(links.at(from, to), load, size_);
      }
    }
  }

  std::vector<int> best() const {
    std::vector<int> best;
    double best_score = 0;
    const int starts = size_ <= kAllStartsMax ? size_ : kStarts;
    for (int i = 0; i < starts; ++i) {
      std::vector<int> order = nearest_neighbours(i * size_ / starts);
      improve(order, Judge::kSmooth);
      const double found = improve(order, Judge::kExact);
      if (!best.empty() && found >= best_score * (1 - kLeastGain)) continue;
      best = std::move(order);
      best_score = found;
    }
    if (size_ <= kAllStartsMax) kick(best, best_score);
    return best;
  }

 private:
  std::size_t cell(int from, int to) const {
    return static_cast<std::size_t>(from) * static_cast<std::size_t>(size_) +
           static_cast<std::size_t>(to);
  }

  // ring_seconds() without its factor; kSmooth: the slowest link counts most, but not alone, so
  // that there is something to gain as long as any slow link is used.
  enum class Judge { kExact, kSmooth };
  double score(const std::vector<int>& order, Judge judge) const {
    double slowest = 0;
    double slow = 0;
    double hops = 0;
    int from = order.back();
    for (const int to : order) {
      const double transfer = transfer_[cell(from, to)];
      slowest = std::max(slowest, transfer);
      slow += transfer * transfer;
      hops += hop_[cell(from, to)];
      from = to;
    }
    return (judge == Judge::kExact ? slowest : std::sqrt(slow)) + hops;
  }

  std::vector<int> nearest_neighbours(int start) const {
    std::vector<int> order = {start};
    std::vector<bool> used(static_cast<std::size_t>(size_));
    used[static_cast<std::size_t>(start)] = true;
    while (static_cast<int>(order.size()) < size_) {
      int next = -1;
      for (int each = 0; each < size_; ++each) {
        if (used[static_cast<std::size_t>(each)]) continue;
        if (next < 0 || length(order.back(), each) < length(order.back(), next)) next = each;
      }
      used[static_cast<std::size_t>(next)] = true;
      order.push_back(next);
    }
    return order;
  }

  double length(int from, int to) const { return transfer_[cell(from, to)] + hop_[cell(from, to)]; }

  // The order under change, how it is judged and how good it is.
  struct State {
    std::vector<int>& order;
    Judge judge;
    double least;
  };

  double improve(std::vector<int>& order, Judge judge) const {
    State state{order, judge, score(order, judge)};
    for (int sweep = 0; sweep < kSweepsMax; ++sweep) {
      const double before = state.least;
      reverse_parts(state);
      move_parts(state);
      if (state.least >= before * (1 - kLeastGain)) break;
    }
    return state.least;
  }

  // Changes that the moves above cannot make in one step: two neighbouring parts trade places.
  void kick(std::vector<int>& best, double best_score) const {
    Rng rng(1);
    const auto cut = [&] {
      return static_cast<std::ptrdiff_t>(rng.below(static_cast<std::uint64_t>(size_) + 1));
    };
    for (int i = 0; i < kKicks; ++i) {
      std::array<std::ptrdiff_t, 3> cuts = {cut(), cut(), cut()};
      std::sort(cuts.begin(), cuts.end());
      std::vector<int> order = best;
      std::rotate(order.begin() + cuts[0], order.begin() + cuts[1], order.begin() + cuts[2]);
      const double found = improve(order, Judge::kExact);
      if (found >= best_score * (1 - kLeastGain)) continue;
      best = std::move(order);
      best_score = found;
    }
  }

  // Keeps `changed` if it is better.
  bool take(State& state, std::vector<int>& changed) const {
    const double found = score(changed, state.judge);
    if (found >= state.least * (1 - kLeastGain)) return false;
    state.least = found;
    state.order.swap(changed);
    return true;
  }

  void reverse_parts(State& state) const {
    std::vector<int> changed;
    for (std::ptrdiff_t first = 0; first + 1 < size_; ++first) {
      for (std::ptrdiff_t last = first + 2; last <= size_; ++last) {
        changed = state.order;
        std::reverse(changed.begin() + first, changed.begin() + last);
        take(state, changed);
      }
    }
  }

  void move_parts(State& state) const {
    const std::size_t size = state.order.size();
    std::vector<int> rest;
    std::vector<int> changed;
    for (std::size_t length = 1; length <= std::min(kMovedMax, size - 1); ++length) {
      for (std::size_t first = 0; first < size; ++first) {
        // Round the ring, so that the part lies at the end.
        rest = state.order;
        std::rotate(rest.begin(),
                    rest.begin() + static_cast<std::ptrdiff_t>((first + length) % size),
                    rest.end());
        const std::ptrdiff_t part = static_cast<std::ptrdiff_t>(size - length);
        for (std::ptrdiff_t place = 1; place < part; ++place) {
          changed = rest;
          std::rotate(changed.begin() + place, changed.begin() + part, changed.end());
          if (take(state, changed)) break;
          if (length == 1) continue;
          std::reverse(changed.begin() + place,
                       changed.begin() + place + static_cast<std::ptrdiff_t>(length));
          if (take(state, changed)) break;
        }
      }
    }
  }

  int size_;
  // By `cell`: seconds for all bytes of a round; seconds until the next member can begin.
  std::vector<double> transfer_;
  std::vector<double> hop_;
};

// Members in clusters of at most kClusterMax; the first of each is its seed.
std::vector<std::vector<int>> clusters_of(const LinkMatrix& links, const RingLoad& load) {
  const int size = links.size();
  const auto apart = [&](int a, int b) {
    if (a == b) return 0.0;
    return std::max(transfer_seconds(links.at(a, b), load) + links.at(a, b).delay_s,
                    transfer_seconds(links.at(b, a), load) + links.at(b, a).delay_s);
  };
  std::vector<std::vector<int>> clusters = {{0}};
  std::vector<double> nearest(static_cast<std::size_t>(size));
  for (int each = 0; each < size; ++each) nearest[static_cast<std::size_t>(each)] = apart(0, each);
  while (static_cast<int>(clusters.size()) * kClusterAim < size) {
    const auto farthest = std::max_element(nearest.begin(), nearest.end());
    const int seed = static_cast<int>(farthest - nearest.begin());
    // All others are in no way apart from a seed: any will do.
    if (*farthest <= 0) break;
    clusters.push_back({seed});
    for (int each = 0; each < size; ++each) {
      double& least = nearest[static_cast<std::size_t>(each)];
      least = std::min(least, apart(seed, each));
    }
  }
  std::vector<bool> is_seed(static_cast<std::size_t>(size));
  for (const auto& cluster : clusters) is_seed[static_cast<std::size_t>(cluster[0])] = true;
  for (int each = 0; each < size; ++each) {
    if (is_seed[static_cast<std::size_t>(each)]) continue;
    std::vector<int>* home = nullptr;
    for (auto& cluster : clusters) {
      if (static_cast<int>(cluster.size()) >= kClusterMax) continue;
      if (home == nullptr || apart(cluster[0], each) < apart((*home)[0], each)) home = &cluster;
    }
    home->push_back(each);
  }
  return clusters;
}

std::vector<int> order_clusters(const LinkMatrix& links, const RingLoad& load) {
  std::vector<std::vector<int>> clusters = clusters_of(links, load);
  std::vector<int> seeds;
  seeds.reserve(clusters.size());
  for (const auto& cluster : clusters) seeds.push_back(cluster[0]);
  std::vector<int> order;
  for (const int index : Search(links.part(seeds), load).best()) {
    const std::vector<int>& members = clusters[static_cast<std::size_t>(index)];
    std::vector<int> ring;
    for (const int place : Search(links.part(members), load).best()) {
      ring.push_back(members[static_cast<std::size_t>(place)]);
    }
    if (!order.empty()) {
      const auto first = std::min_element(ring.begin(), ring.end(), [&](int a, int b) {
        return transfer_seconds(links.at(order.back(), a), load) <
               transfer_seconds(links.at(order.back(), b), load);
      });
      std::rotate(ring.begin(), first, ring.end());
    }
    order.insert(order.end(), ring.begin(), ring.end());
  }
  return order;
}

}  // namespace

double LinkMatrix::known_share() const {
  if (size_ < 2) return 1;
  const auto known = std::count_if(lines_.begin(), lines_.end(),
                                   [](const LinkFacts& link) { return link.bytes_per_s > 0; });
  return static_cast<double>(known) / (static_cast<double>(size_) * (size_ - 1));
}

LinkMatrix LinkMatrix::filled() const {
  std::vector<double> rates;
  std::vector<double> delays;
  for (const LinkFacts& link : lines_) {
    if (link.bytes_per_s > 0) rates.push_back(link.bytes_per_s);
    if (link.delay_s > 0) delays.push_back(link.delay_s);
  }
  const LinkFacts usual{median(std::move(rates), kOrdinaryLink.bytes_per_s),
                        median(std::move(delays), kOrdinaryLink.delay_s)};
  LinkMatrix full = *this;
  for (int from = 0; from < size_; ++from) {
    for (int to = 0; to < size_; ++to) {
      if (from == to) continue;
      LinkFacts& link = full.at(from, to);
      const LinkFacts& back = at(to, from);
      if (link.bytes_per_s <= 0) {
        link.bytes_per_s = back.bytes_per_s > 0 ? back.bytes_per_s : usual.bytes_per_s;
      }
      if (link.delay_s <= 0) link.delay_s = back.delay_s > 0 ? back.delay_s : usual.delay_s;
    }
  }
  return full;
}

double LinkMatrix::all_to_all_rate() const {
  if (size_ < 2) return 0;
  double slowest = std::numeric_limits<double>::max();
  double narrowest = slowest;
  for (int one = 0; one < size_; ++one) {
    double up = 0;
    double down = 0;
    for (int other = 0; other < size_; ++other) {
      if (other == one) continue;
      up = std::max(up, at(one, other).bytes_per_s);
      down = std::max(down, at(other, one).bytes_per_s);
      if (at(one, other).bytes_per_s > 0) slowest = std::min(slowest, at(one, other).bytes_per_s);
    }
    narrowest = std::min({narrowest, up, down});
  }
  return std::min(narrowest, (size_ - 1) * slowest);
}

LinkMatrix LinkMatrix::part(std::span<const int> members) const {
  LinkMatrix out(static_cast<int>(members.size()));
  for (int from = 0; from < out.size(); ++from) {
    for (int to = 0; to < out.size(); ++to) {
      out.at(from, to) =
          at(members[static_cast<std::size_t>(from)], members[static_cast<std::size_t>(to)]);
    }
  }
  return out;
}

double ring_seconds(const LinkMatrix& links, std::span<const int> order, const RingLoad& load) {
  const auto size = static_cast<int>(order.size());
  if (size < 2) return 0;
  double slowest = 0;
  double hops = 0;
  int from = order.back();
  for (const int to : order) {
    const LinkFacts& link = links.at(from, to);
    slowest = std::max(slowest, transfer_seconds(link, load));
    hops += hop_seconds(link, load, size);
    from = to;
  }
  // A part of the vector goes round twice, all but one link of the ring each time.
  return 2.0 * (size - 1) / size * (slowest + hops);
}

std::vector<int> ring_order(const LinkMatrix& links, const RingLoad& load) {
  WEFT_CHECK(links.size() >= 1);
  std::vector<int> order(static_cast<std::size_t>(links.size()));
  std::iota(order.begin(), order.end(), 0);
  if (links.size() < 3) return order;
  order = links.size() <= kClusterMax ? Search(links, load).best() : order_clusters(links, load);
  std::rotate(order.begin(), std::find(order.begin(), order.end(), 0), order.end());
  return order;
}

}  // namespace weft
