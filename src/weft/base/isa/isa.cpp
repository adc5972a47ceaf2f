#include "weft/base/isa/isa.h"

#include <array>
#include <cstdlib>
#include <string>
#include <utility>

#include "weft/base/check.h"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace weft {
namespace {

#define WEFT_ISA_ENTRY(Name, name, features, lanes, use, ...) \
  InstructionSet{Isa::k##Name, name, features, std::string_view(#use) != "tests"},
constexpr InstructionSet kSets[] = {WEFT_ISAS(WEFT_ISA_ENTRY)};
#undef WEFT_ISA_ENTRY

#if defined(__x86_64__)
// Clang 14 does not know this feature by name. The system saves its registers where it saves
// AVX2's.
bool has_f16c() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

bool has_feature(std::string_view feature) {
  // The built-in function takes literals only.
  const std::array<std::pair<std::string_view, bool>, 8> features = {{
      {"avx2", __builtin_cpu_supports("avx2") != 0 && has_f16c()},
      {"fma", __builtin_cpu_supports("fma") != 0},
      {"avx512f", __builtin_cpu_supports("avx512f") != 0},
      {"avx512bw", __builtin_cpu_supports("avx512bw") != 0},
      {"avx512dq", __builtin_cpu_supports("avx512dq") != 0},
      {"avx512vl", __builtin_cpu_supports("avx512vl") != 0},
      {"avx512vnni", __builtin_cpu_supports("avx512vnni") != 0},
      {"avx512bf16", __builtin_cpu_supports("avx512bf16") != 0},
  }};
  for (const auto& [name, here] : features) {
    if (name == feature) return here;
  }
  WEFT_CHECK(false && "a feature of isa_list.h that isa.cpp does not ask the processor for");
  return false;
}
#elif defined(__aarch64__) && defined(__linux__)
bool has_feature(std::string_view feature) {
  // By the kernel's numbers, which older headers of the C library lack.
  constexpr unsigned long kDotProducts = 1UL << 20;
  constexpr unsigned long kBf16 = 1UL << 14;
  if (feature == "dotprod") return (getauxval(AT_HWCAP) & kDotProducts) != 0;
  if (feature == "bf16") return (getauxval(AT_HWCAP2) & kBf16) != 0;
  WEFT_CHECK(false && "a feature of isa_list.h that isa.cpp does not ask the processor for");
  return false;
}
#else
bool has_feature(std::string_view) { return false; }
#endif

// The last set up to `most` that runs here and is meant for use, or `most` itself.
Isa best_up_to(Isa most) {
  Isa best = Isa::kGeneric;
  for (const InstructionSet& set : kSets) {
    if (set.isa <= most && (set.chosen || set.isa == most) && runs_here(set)) best = set.isa;
  }
  return best;
}

Isa best_here() { return best_up_to(kSets[std::size(kSets) - 1].isa); }

}  // namespace

std::span<const InstructionSet> instruction_sets() { return kSets; }

bool runs_here(const InstructionSet& set) {
  for (std::string_view rest = set.features; !rest.empty();) {
    const std::size_t comma = rest.find(',');
    if (!has_feature(rest.substr(0, comma))) return false;
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  return true;
}

Result<Isa> chosen_isa(std::string_view choice) {
  if (choice.empty()) return best_here();
  std::string names;
  for (const InstructionSet& set : kSets) {
    if (set.name == choice) return best_up_to(set.isa);
    names += (names.empty() ? "" : ", ") + std::string(set.name);
  }
  return invalid_argument("WEFT_ISA is \"" + std::string(choice) +
                          "\", which is no instruction set: choose one of " + names +
                          ", or unset it");
}

std::string_view asked_isa() {
  // Nothing of ours changes the environment. NOLINTNEXTLINE(concurrency-mt-unsafe)
  const char* const isa = std::getenv("WEFT_ISA");  // tidy: allow getenv: for tests
  return isa == nullptr ? std::string_view() : isa;
}

Status check_isa_choice() { return chosen_isa(asked_isa()).status(); }

Isa isa_in_use() {
  static const Isa isa = [] {
    const Result<Isa> chosen = chosen_isa(asked_isa());
    return chosen.ok() ? *chosen : best_here();
  }();
  return isa;
}

}  // namespace weft
