// control_traffic: what an idle member sends and receives a second, against the members of its
// group; a table, the growth laws, and a picture of both.
//
//   control_traffic [--svg FILE] [--members 10,100,1000,10000]
//
// membership       the agreed view (sim/membership/scale.h): up to 4,096 members, of which 8 are
//                  real; a run admits 256
// gossip           the loose exchange (sim/membership/gossip_scale.h): one real member, with a book
//                  of all
// gossip, all real the same with every member a real core, where memory allows it
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "weft/app/chart/line_plot.h"
#include "weft/gossip/test_gossip_network.h"
#include "weft/sim/membership/gossip_scale.h"
#include "weft/sim/membership/scale.h"

namespace weft {
namespace {

constexpr int kViewMost = 4096;     // the decoders' bound
constexpr int kAllRealMost = 1000;  // a book for each member

double per_second(const Traffic& traffic, double seconds) {
  return static_cast<double>(traffic.bytes_sent + traffic.bytes_received) / seconds;
}

std::optional<double> of_view(int members) {
  if (members > kViewMost) return std::nullopt;
  return per_second(measure_scale(members, 8).quiet, 60);
}

std::optional<double> of_gossip(int members) {
  GossipScaleOptions options;
  options.members = members;
  const GossipScaleResult result = measure_idle_gossip(options);
  return per_second(result.traffic, result.seconds);
}

std::optional<double> of_real_gossip(int members) {
  if (members > kAllRealMost) return std::nullopt;
  const IdleTraffic idle = idle_gossip_traffic(members, 16);
  return idle.bytes_per_member_second;
}

struct Line {
  const char* name;
  std::optional<double> (*measure)(int members);
  std::vector<double> members{};
  std::vector<double> bytes{};
};

// The slope of log(bytes) over log(members), by least squares.
double exponent(const Line& line) {
  const auto count = static_cast<double>(line.members.size());
  double x = 0;
  double y = 0;
  double xx = 0;
  double xy = 0;
  for (std::size_t i = 0; i < line.members.size(); ++i) {
    const double a = std::log(line.members[i]);
    const double b = std::log(line.bytes[i]);
    x += a;
    y += b;
    xx += a * a;
    xy += a * b;
  }
  return (count * xy - x * y) / (count * xx - x * x);
}

bool write_picture(const std::vector<Line>& lines, const std::string& path) {
  LinePlot plot;
  plot.title = "control traffic of one idle member";
  plot.x = {"members", Quantity::kCount, true};
  plot.y = {"bytes a second, sent and received", Quantity::kBytes, true};
  for (const Line& line : lines) {
    char name[80];
    std::snprintf(name, sizeof name, "%s: N^%.2f", line.name, exponent(line));
    PlotLine drawn{name, plot.lines.size(), {}};
    for (std::size_t i = 0; i < line.members.size(); ++i) {
      drawn.points.push_back({line.members[i], line.bytes[i], line.bytes[i], line.bytes[i]});
    }
    plot.lines.push_back(std::move(drawn));
  }
  std::ofstream out(path);
  out << plot_svg(plot, SvgUse::kFile);
  return out.good();
}

int measure_control_traffic(int argc, char** argv) {
  std::string svg;
  std::string list = "10,100,1000,10000";
  for (int i = 1; i < argc; i += 2) {
    const std::string flag = argv[i];
    if (i + 1 == argc || (flag != "--svg" && flag != "--members")) {
      std::fprintf(stderr, "usage: control_traffic [--svg FILE] [--members N,N,...]\n");
      return 2;
    }
    (flag == "--svg" ? svg : list) = argv[i + 1];
  }
  std::vector<Line> lines = {{"membership (agreed view)", of_view},
                             {"gossip", of_gossip},
                             {"gossip, all real", of_real_gossip}};
  std::printf("| members | membership | gossip | gossip, all real |\n|---|---|---|---|\n");
  std::stringstream sizes(list);
  for (std::string size; std::getline(sizes, size, ',');) {
    const int members = std::atoi(size.c_str());
    if (members < 8 || members > 100'000) {
      std::fprintf(stderr, "control_traffic: --members: expected 8 to 100000, got %s\n",
                   size.c_str());
      return 2;
    }
    std::printf("| %d |", members);
    for (Line& line : lines) {
      const std::optional<double> bytes = line.measure(members);
      if (bytes) {
        line.members.push_back(members);
        line.bytes.push_back(*bytes);
        std::printf(" %.0f |", *bytes);
      } else {
        std::printf(" - |");
      }
      std::fflush(stdout);
    }
    std::printf("\n");
  }
  for (const Line& line : lines) std::printf("%s: N^%.2f\n", line.name, exponent(line));
  if (!svg.empty() && !write_picture(lines, svg)) {
    std::fprintf(stderr, "control_traffic: %s: cannot be written\n", svg.c_str());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) { return weft::measure_control_traffic(argc, argv); }
