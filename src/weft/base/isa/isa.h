// The instruction sets that loops are compiled for (isa_list.h) and which of them is in use.
//
// The one in use is the last that this processor runs, or what the environment has in WEFT_ISA,
// which tests use; a set that this processor lacks is replaced by the next lower one that it has.
// Avx2Pairs has the loops of AVX-512 in pairs of AVX2's registers: it is never chosen by itself,
// and is how those loops are tested where AVX-512 is not. Threads: any. The environment is read
// once.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "weft/base/isa/isa_list.h"
#include "weft/base/status.h"

namespace weft {

#define WEFT_ISA_ENUMERATOR(Name, ...) k##Name,
enum class Isa : std::uint8_t { WEFT_ISAS(WEFT_ISA_ENUMERATOR) };
#undef WEFT_ISA_ENUMERATOR

struct InstructionSet {
  Isa isa;
  std::string_view name;
  // The processor's features that it needs, separated by commas.
  std::string_view features;
  // Whether it is used where WEFT_ISA does not ask for it.
  bool chosen;
};

// All of isa_list.h, in its order. Fails: never.
std::span<const InstructionSet> instruction_sets();

// Whether this processor has its features. Fails: never.
bool runs_here(const InstructionSet& set);

// What `choice`, the value of WEFT_ISA, makes of this processor's best; an empty one is no choice.
// Fails: kInvalidArgument for a name that no set has.
Result<Isa> chosen_isa(std::string_view choice);

// The value of WEFT_ISA; empty if it is not set.
std::string_view asked_isa();

// OK, or what is wrong with WEFT_ISA, which then is as if it were not set. For programs that start.
Status check_isa_choice();

// The one in use. Fails: never.
Isa isa_in_use();

}  // namespace weft
