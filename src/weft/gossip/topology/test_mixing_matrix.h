// The matrix W of a whole topology and its eigenvalues, as the tests' oracle; for the tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "weft/base/rng.h"
#include "weft/gossip/topology/topology.h"
#include "weft/wire/codec.h"

namespace weft::testing_gossip {

inline std::vector<PeerId> test_ids(std::size_t count, std::uint64_t seed) {
  std::vector<PeerId> ids;
  for (std::size_t i = 0; i < count; ++i) {
    Writer out;
    out.u64(seed).u64(i);
    ids.push_back({sha256(out.written())});
  }
  return ids;
}

// The weights of a topology's graph in one round, of which the matrix has as many rows as ids, in
// their order. Each member counts as one of at least `weight_degree` neighbours.
class MixingMatrix {
 public:
  MixingMatrix(const std::vector<PeerId>& ids, const Topology& topology, Round round = Round(1),
               std::size_t weight_degree = 0)
      : rows_(ids.size(), std::vector<double>(ids.size())) {
    std::map<PeerId, std::size_t> place;
    for (std::size_t i = 0; i < ids.size(); ++i) place[ids[i]] = i;
    std::vector<std::vector<PeerId>> neighbours;
    neighbours.reserve(ids.size());
    for (const PeerId& id : ids) {
      const Neighbourhood all = topology.neighbours(id, ids);
      neighbours.emplace_back();
      for (const PeerId& peer : all.peers) {
        if (all.exchanges(peer, round)) neighbours.back().push_back(peer);
      }
    }
    entries_.resize(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      rows_[i][i] = 1;
      for (const PeerId& other : neighbours[i]) {
        const std::size_t j = place.at(other);
        rows_[i][j] =
            metropolis_weight(std::max(neighbours[i].size(), weight_degree), neighbours[j].size());
        rows_[i][i] -= rows_[i][j];
      }
      for (std::size_t j = 0; j < ids.size(); ++j) {
        if (rows_[i][j] != 0) entries_[i].push_back({j, rows_[i][j]});
      }
    }
  }

  std::size_t size() const { return rows_.size(); }
  double at(std::size_t i, std::size_t j) const { return rows_[i][j]; }

  std::vector<double> times(const std::vector<double>& vector) const {
    std::vector<double> out(size());
    for (std::size_t i = 0; i < size(); ++i) {
      for (const Entry& entry : entries_[i]) out[i] += entry.weight * vector[entry.column];
    }
    return out;
  }

  // The largest magnitude of an eigenvalue but that of the mean: power iteration on what is
  // orthogonal to ones, twice W so that the sign does not matter.
  double second_eigenvalue() const {
    Rng rng(1);
    std::vector<double> vector(size());
    for (double& value : vector) value = rng.normal();
    double estimate = 0;
    for (int i = 0; i < 20000; ++i) {
      double mean = 0;
      for (const double value : vector) mean += value / static_cast<double>(size());
      double norm = 0;
      for (double& value : vector) {
        value -= mean;
        norm += value * value;
      }
      // Nothing but the mean is left, up to rounding.
      if (norm < 1e-24) return 0;
      for (double& value : vector) value /= std::sqrt(norm);
      vector = times(times(vector));
      double grown = 0;
      for (const double value : vector) grown += value * value;
      const double next = std::sqrt(std::sqrt(grown));
      if (std::abs(next - estimate) < 1e-14) return next;
      estimate = next;
    }
    return estimate;
  }

 private:
  struct Entry {
    std::size_t column = 0;
    double weight = 0;
  };
  std::vector<std::vector<double>> rows_;
  // The entries that are not 0 by row: a few of hundreds.
  std::vector<std::vector<Entry>> entries_;
};

}  // namespace weft::testing_gossip
