// One rule of aggregation on updates from a file, for bench/rivals/aggregators.py.
//
// usage: aggregators RULE MEMBERS LIARS ROUNDS INPUT OUTPUT
// INPUT has the members' updates one after another, f32; the result goes to OUTPUT. Prints a line
// of JSON with the median time of the rounds. One thread.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <span>
#include <vector>

#include "weft/aggregate/aggregator.h"

namespace {

std::vector<float> read_floats(const char* path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return {};
  std::vector<float> values(static_cast<std::size_t>(file.tellg()) / sizeof(float));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(values.data()),
            static_cast<std::streamsize>(values.size() * sizeof(float)));
  return values;
}

int fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) return fail("usage: aggregators RULE MEMBERS LIARS ROUNDS INPUT OUTPUT");
  const auto rule = weft::Aggregator::parse(argv[1]);
  if (!rule.ok()) return fail(rule.status().message().c_str());
  const int members = std::atoi(argv[2]);
  const weft::AggregateRound round{.liars = std::atoi(argv[3])};
  const weft::Status sound = rule->check(members, round.liars);
  if (!sound.ok()) return fail(sound.message().c_str());
  const std::vector<float> values = read_floats(argv[5]);
  const std::size_t elements = values.size() / static_cast<std::size_t>(std::max(1, members));
  if (elements == 0) return fail("expected updates in INPUT");

  std::vector<std::span<const float>> inputs;
  for (std::size_t at = 0; at + elements <= values.size(); at += elements) {
    inputs.push_back(std::span(values).subspan(at, elements));
  }
  std::vector<float> out(elements);
  std::vector<double> times;
  for (int i = 0; i < std::max(1, std::atoi(argv[4])); ++i) {
    const auto begin = std::chrono::steady_clock::now();
    rule->aggregate(inputs, round, out);
    times.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
            .count());
  }
  std::ranges::sort(times);
  std::ofstream(argv[6], std::ios::binary)
      .write(reinterpret_cast<const char*>(out.data()),
             static_cast<std::streamsize>(out.size() * sizeof(float)));
  std::printf("{\"median_ms\": %.3f}\n", times[times.size() / 2]);
  return 0;
}
