// NcclEngine: the Engine of processes that have a GPU each, by NVIDIA's NCCL.
//
// Built where CMake finds CUDA and NCCL; elsewhere make_nccl_engine() fails. Members meet over
// another engine (MPI, or a swarm), which sends them NCCL's id of the group. Values come from and
// go to the host's memory by way of the GPU: this is for groups whose fast links are those of their
// GPUs.
//
// Threads: one owner. Fails: make_nccl_engine() with kUnavailable where it is not built in or there
// is no GPU. A Work that does not end in time aborts the group's communicator: later calls give
// kUnavailable. Precision is f32; priorities have no effect.
#pragma once

#include <cstdint>
#include <memory>

#include "weft/base/status.h"
#include "weft/collective/engine/engine.h"

namespace weft {

// Channels 0 to this - 1 may be used.
inline constexpr std::uint16_t kNcclChannels = 2;

bool nccl_built_in();
// Takes `meeting`, settled; every member of it calls this. `gpu`: of this process.
Result<std::unique_ptr<Engine>> make_nccl_engine(std::unique_ptr<Engine> meeting, int gpu);

}  // namespace weft
