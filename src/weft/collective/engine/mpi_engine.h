// MpiEngine: the Engine of processes that mpirun (or Slurm) has started together.
//
// Built where CMake finds MPI; elsewhere make_mpi_engine() fails. MPI is started with the first
// engine and ended with it, so a process has one engine.
//
// Threads: one owner, the thread that made it. Fails: make_mpi_engine() with kUnavailable where MPI
// is not built in or cannot start. MPI has no way to take a collective back: a Work that is
// destroyed past its limit ends the job (MPI_Abort), as memory that MPI may still write to would be
// gone. Precision is f32; priorities have no effect.
#pragma once

#include <cstdint>
#include <memory>

#include "weft/base/status.h"
#include "weft/collective/engine/engine.h"

namespace weft {

// Channels 0 to this - 1 may be used.
inline constexpr std::uint16_t kMpiChannels = 8;

bool mpi_built_in();
Result<std::unique_ptr<Engine>> make_mpi_engine();

}  // namespace weft
