// same_bits: what a swarm must agree on, computed from seeds and compared with what was recorded.
//
//   same_bits FILE            compares; ends with "N passed, N failed", and with status 1 for any
//   same_bits --write FILE    records anew
//
// A line of FILE is "NAME HASH". Every optimizer, codec, robust rule, gate and code of the tables
// has lines, so a new one must be recorded, and none may disappear.
#include <cstdio>
#include <exception>
#include <map>
#include <sstream>
#include <string_view>

#include "agreed.h"
#include "weft/base/file.h"

namespace weft::same_bits {
namespace {

constexpr std::size_t kFileBytesMax = 1 << 20;

Lines compute() {
  Lines lines;
  for (const auto add :
       {add_optimizers, add_clipping, add_schedules, add_random_numbers, add_initial_values,
        add_codecs, add_sums, add_aggregators, add_gates, add_codes, add_replayed}) {
    add(lines);
  }
  return lines;
}

std::map<std::string, std::string> read(const std::string& path) {
  const Bytes bytes = read_file(path, kFileBytesMax).value();
  std::istringstream text(std::string(bytes.begin(), bytes.end()));
  std::map<std::string, std::string> recorded;
  std::string name;
  std::string hash;
  while (text >> name >> hash) recorded[name] = hash;
  return recorded;
}

int write(const std::string& path) {
  std::string text;
  for (const auto& [name, hash] : compute())
    text.append(name).append(" ").append(hash).append("\n");
  const Status written = write_output_file(path, as_bytes(text));
  if (!written.ok()) std::fprintf(stderr, "same_bits: %s\n", written.message().c_str());
  return written.ok() ? 0 : 1;
}

int compare(const std::string& path) {
  std::map<std::string, std::string> recorded = read(path);
  int passed = 0;
  int failed = 0;
  for (const auto& [name, hash] : compute()) {
    const auto found = recorded.find(name);
    const std::string expected = found == recorded.end() ? "no such line" : found->second;
    if (found != recorded.end()) recorded.erase(found);
    (hash == expected ? passed : failed) += 1;
    if (hash != expected) {
      std::printf("%s: expected %s, got %s\n", name.c_str(), expected.c_str(), hash.c_str());
    }
  }
  for (const auto& [name, hash] : recorded) {
    std::printf("%s: expected %s, got no such line\n", name.c_str(), hash.c_str());
    ++failed;
  }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}

int run(int argc, char** argv) {
  const bool writes = argc == 3 && std::string_view(argv[1]) == "--write";
  if (argc != 2 && !writes) {
    std::fprintf(stderr, "usage: same_bits [--write] FILE\n");
    return 2;
  }
  return writes ? write(argv[2]) : compare(argv[1]);
}

}  // namespace
}  // namespace weft::same_bits

int main(int argc, char** argv) {
  try {
    return weft::same_bits::run(argc, argv);
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "same_bits: %s\n", fault.what());
    return 1;
  }
}
