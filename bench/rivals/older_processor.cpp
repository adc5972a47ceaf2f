// Answers for the instruction cpuid as a processor with AVX2 and without AVX-512 gives them, to a
// library whose cpuid instructions older_processor.py has replaced by ud2, which is as long.
//
// For onnxruntime_forward.cpp.
// Threads: a signal handler, which changes the registers of its own thread and a count.
#include "older_processor.h"

#include <csignal>
#include <cstdlib>

#include <cpuid.h>
#include <ucontext.h>

namespace {

// Bits of leaf 7: what came with AVX-512 or after it.
constexpr unsigned kEbx7 = 1U << 16 | 1U << 17 | 1U << 21 | 0x7U << 26 | 1U << 30 | 1U << 31;
constexpr unsigned kEcx7 = 1U << 1 | 1U << 6 | 1U << 11 | 1U << 12 | 1U << 14;
constexpr unsigned kEdx7 = 1U << 2 | 1U << 3 | 1U << 8 | 0xFU << 22;
// Its second part: AVX-VNNI, bf16, AMX and AVX-IFMA; all of edx, which has AVX10.
constexpr unsigned kEax71 = 1U << 4 | 1U << 5 | 1U << 21 | 1U << 23;
// Leaf 13: the registers of AVX-512.
constexpr unsigned kEax13 = 0xE0U;

volatile std::sig_atomic_t answered = 0;

void answer(int /*signal*/, siginfo_t* /*info*/, void* context) {
  greg_t* const registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const auto* const at = reinterpret_cast<const unsigned char*>(registers[REG_RIP]);
  if (at[0] != 0x0F || at[1] != 0x0B) std::abort();
  const auto leaf = static_cast<unsigned>(registers[REG_RAX]);
  const auto part = static_cast<unsigned>(registers[REG_RCX]);
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  __cpuid_count(leaf, part, eax, ebx, ecx, edx);
  if (leaf == 7 && part == 0) {
    ebx &= ~kEbx7;
    ecx &= ~kEcx7;
    edx &= ~kEdx7;
  } else if (leaf == 7 && part == 1) {
    eax &= ~kEax71;
    edx = 0;
  } else if (leaf == 13 && part == 0) {
    eax &= ~kEax13;
  }
  registers[REG_RAX] = eax;
  registers[REG_RBX] = ebx;
  registers[REG_RCX] = ecx;
  registers[REG_RDX] = edx;
  registers[REG_RIP] += 2;
  answered = answered + 1;
}

}  // namespace

void answer_as_an_older_processor() {
  struct sigaction action = {};
  action.sa_sigaction = answer;
  action.sa_flags = SA_SIGINFO;
  if (sigaction(SIGILL, &action, nullptr) != 0) std::abort();
}

int answers_of_an_older_processor() { return answered; }
