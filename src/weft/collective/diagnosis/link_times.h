// LinkTimes: the seconds per byte of the links between members, from what both ends measured, and
// the rows, columns and cells that stand out.
//
// A row is what one member sends, a column what one receives. A slow source makes all of its row
// slow, a slow destination all of its column. Rows and columns are taken in the order of the share
// of slow links in them, and what one explains does not count for another.
//
// Where it stands: Diagnosis -> here. Threads: one owner. Fails: never; see Diagnosis::add().
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace weft {

// One direction of a link, as one of its ends has measured it.
struct LinkTime {
  int from = 0;
  int to = 0;
  double bytes = 0;
  double seconds = 0;
};

class LinkTimes {
 public:
  // Seconds per byte, and the seconds that the bytes of a usual round take.
  struct Cell {
    double per_byte = 0;
    double round_seconds = 0;
  };
  // `to` is -1 for a slow source, `from` is -1 for a slow destination.
  struct Slow {
    int from = -1;
    int to = -1;
    double per_byte = 0;  // the median of its slow links
  };
  struct Contradiction {
    int from = 0;
    int to = 0;
    double sender = 0;  // seconds per byte, by the end that sends
    double receiver = 0;
  };

  explicit LinkTimes(int members);

  // `reporter` is link.from or link.to.
  void add(const LinkTime& link, int reporter);

  // The lower median of all known links; 0: none is known.
  double usual() const;
  // Links that are slower than `factor` times usual() and cost a round more than `least` seconds
  // longer than a usual link, as their rows, columns and cells.
  std::vector<Slow> slow(double factor, double least) const;
  // Links of which one end measures more than `factor` times what the other does, if that is more
  // than `least` seconds a round.
  std::vector<Contradiction> contradictions(double factor, double least) const;

 private:
  struct End {
    double bytes = 0;
    double seconds = 0;
    int records = 0;
  };
  struct Pair {
    End sender;
    End receiver;
  };
  class Search;

  static double per_byte(const End& end) { return end.bytes > 0 ? end.seconds / end.bytes : 0; }
  std::optional<Cell> cell(int from, int to) const;
  const Pair& at(int from, int to) const;

  int members_;
  std::vector<Pair> pairs_;
};

// The element in the middle, of two the smaller. REQUIRES: not empty.
double lower_median(std::vector<double> values);

}  // namespace weft
