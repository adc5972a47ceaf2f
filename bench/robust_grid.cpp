// Rules against attacks, on data that members share alike and on data sorted by label; and what the
// members' momentum does for rules. Checks what the papers say of both.
//
// usage: robust_grid [CSV]
// Prints tables in Markdown of the accuracy after training, in a few minutes, and writes them to
// the file CSV as well. The exit code is 1 if something that must hold does not. The test
// src/weft/attack/robust_experiment_test.cpp does a few of the cells.
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "weft/attack/robust_experiment.h"
#include "weft/base/parallel.h"

namespace {

using weft::RobustOptions;

const std::vector<std::string> kRules = {
    "mean",
    "krum",
    "multi_krum",
    "median",
    "trimmed_mean",
    "meamed",
    "geometric_median",
    "bulyan",
    "centered_clip:norm=0.3",
    "nnm trimmed_mean",
    "nnm geometric_median",
    "bucketing geometric_median",
    "bucketing centered_clip:norm=0.3",
    "flag",
};
const std::vector<std::string> kAttacks = {"",         "sign_flip",  "ipm",   "ipm:scale=10",
                                           "gaussian", "alie:z=1.5", "mimic", "label_flip"};

class Grid {
 public:
  explicit Grid(std::FILE* csv) : csv_(csv) {
    if (csv_ != nullptr) std::fprintf(csv_, "rule,attack,same_data,liars,momentum,accuracy\n");
  }

  // Negative where the rule needs more members.
  double cell(const RobustOptions& options) {
    const double accuracy = weft::robust_accuracy(options).value_or(-1);
    if (csv_ != nullptr) {
      std::fprintf(csv_, "%s,%s,%d,%d,%g,%.4f\n", options.rule.c_str(), options.attack.c_str(),
                   options.same_data ? 1 : 0, options.liars, options.momentum, accuracy);
    }
    if (accuracy < 0) {
      std::printf(" - |");
    } else {
      std::printf(" %.3f |", accuracy);
    }
    std::fflush(stdout);
    return accuracy;
  }
  void row(const std::string& name) { std::printf("\n| %s |", name.c_str()); }
  void head(const std::string& corner, const std::vector<std::string>& columns) {
    std::printf("\n| %s |", corner.c_str());
    for (const std::string& column : columns) {
      std::printf(" %s |", column.empty() ? "none" : column.c_str());
    }
    std::printf("\n|---|");
    for (std::size_t i = 0; i < columns.size(); ++i) std::printf("---|");
  }
  void require(bool holds, const std::string& claim) {
    if (holds) return;
    std::printf("\ndoes not hold: %s", claim.c_str());
    failed_ = true;
  }
  int end() const {
    std::printf("\n");
    return failed_ ? 1 : 0;
  }

 private:
  std::FILE* csv_;
  bool failed_ = false;
};

using Table = std::map<std::string, std::map<std::string, double>>;

Table rules_by_attacks(Grid& grid, const RobustOptions& base, const std::vector<std::string>& rules,
                       const std::vector<std::string>& attacks) {
  Table table;
  grid.head(base.same_data ? "data shared alike" : "data sorted by label", attacks);
  for (const std::string& rule : rules) {
    grid.row(rule);
    for (const std::string& attack : attacks) {
      RobustOptions options = base;
      options.rule = rule;
      options.attack = attack;
      table[rule][attack] = grid.cell(options);
    }
  }
  std::printf("\n");
  return table;
}

void check_alike(Grid& grid, const Table& table) {
  for (const auto& [rule, by_attack] : table) {
    const double accuracy = by_attack.at("ipm:scale=10");
    if (rule == "mean") {
      grid.require(accuracy < 0.3, "ten times the mean the other way breaks the mean");
    } else {
      grid.require(accuracy > 0.8, rule + " holds where data are alike");
    }
  }
}

void check_sorted(Grid& grid, const Table& table) {
  const auto at = [&](const char* rule, const char* attack) { return table.at(rule).at(attack); };
  grid.require(at("median", "sign_flip") < 0.4, "the median alone fails on sorted data");
  grid.require(at("trimmed_mean", "sign_flip") < 0.4, "the trimmed mean alone fails there");
  grid.require(at("nnm trimmed_mean", "sign_flip") > 0.65, "neighbours mixed first help");
  grid.require(at("krum", "") < 0.4, "krum alone fails on sorted data without an attack");
  grid.require(at("bucketing geometric_median", "sign_flip") > 0.8, "buckets help");
}

void momentum(Grid& grid) {
  const std::vector<std::string> rules = {"trimmed_mean", "geometric_median",
                                          "centered_clip:norm=0.3", "nnm trimmed_mean", "krum"};
  const std::vector<double> momenta = {0, 0.9, 0.99};
  for (const std::string attack : {"alie:z=1.5", "ipm"}) {
    grid.head(attack + ", 8 of 20 lie, momentum", {"0", "0.9", "0.99"});
    for (const std::string& rule : rules) {
      grid.row(rule);
      std::vector<double> accuracy;
      for (const double share : momenta) {
        accuracy.push_back(grid.cell({.rule = rule,
                                      .attack = attack,
                                      .honest = 12,
                                      .liars = 8,
                                      .batch = 4,
                                      .steps = 400,
                                      .momentum = share}));
      }
      if (attack != "ipm" || rule == "krum" || rule.starts_with("nnm")) continue;
      grid.require(accuracy[2] - accuracy[0] > 0.3, "momentum helps " + rule);
    }
    std::printf("\n");
  }
}

int run_grid(Grid& grid) {
  RobustOptions options;
  check_alike(grid, rules_by_attacks(grid, options, kRules, kAttacks));
  options.same_data = false;
  check_sorted(grid, rules_by_attacks(grid, options, kRules, kAttacks));
  momentum(grid);
  return grid.end();
}

}  // namespace

int main(int argc, char** argv) {
  std::FILE* const csv = argc > 1 ? std::fopen(argv[1], "w") : nullptr;
  if (argc > 2 || (argc > 1 && csv == nullptr)) {
    std::fprintf(stderr, "usage: robust_grid [CSV]\n");
    return 2;
  }
  weft::set_thread_count(1);
  Grid grid(csv);
  const int code = run_grid(grid);
  if (csv != nullptr) std::fclose(csv);
  return code;
}
