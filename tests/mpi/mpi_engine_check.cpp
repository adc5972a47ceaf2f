// One rank of a check of the MPI engine: mpirun -n N mpi_engine_check. Exit code 0 if all held.
#include <cstdio>
#include <cstdlib>

#include "weft/collective/engine/mpi_engine.h"
#include "weft/collective/engine/test_engine_checks.h"

int main() {
  auto engine = weft::make_mpi_engine();
  if (!engine.ok()) {
    std::fprintf(stderr, "%s\n", engine.status().to_string().c_str());
    return EXIT_FAILURE;
  }
  const weft::Status checked = weft::check_engine(**engine);
  if (!checked.ok()) {
    std::fprintf(stderr, "rank %d: %s\n", (*engine)->rank(), checked.to_string().c_str());
    (*engine)->abandon();
    return EXIT_FAILURE;
  }
  if ((*engine)->rank() == 0) {
    std::printf("%d ranks: every call is right\n1 passed, 0 failed\n", (*engine)->size());
  }
  return EXIT_SUCCESS;
}
