// MPI_Allreduce of float32 vectors.
// usage: mpirun -np N mpi_all_reduce BYTES REPETITIONS [BYTES REPETITIONS]...
// Rank 0 prints one JSON object for each size. A repetition lasts from a barrier until the slowest
// rank is done, as in `weft bench allreduce`.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <mpi.h>

namespace {

constexpr int kWarmUps = 2;

// False if a sum is wrong.
bool measure(long bytes, int repetitions, int rank, int ranks) {
  const std::size_t elements = static_cast<std::size_t>(bytes) / 4;
  const std::vector<float> input(elements, static_cast<float>(rank + 1));
  std::vector<float> output(elements);
  std::vector<double> seconds;
  for (int repetition = 0; repetition < repetitions + kWarmUps; ++repetition) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    MPI_Allreduce(input.data(), output.data(), static_cast<int>(elements), MPI_FLOAT, MPI_SUM,
                  MPI_COMM_WORLD);
    const double own = MPI_Wtime() - start;
    double longest = 0;
    MPI_Allreduce(&own, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (repetition >= kWarmUps) seconds.push_back(longest);
  }
  std::sort(seconds.begin(), seconds.end());
  if (rank == 0) {
    std::printf("{\"bytes\": %ld, \"median_seconds\": %.9f, \"min_seconds\": %.9f}\n", bytes,
                seconds[seconds.size() / 2], seconds[0]);
  }
  return output[elements - 1] == static_cast<float>(ranks * (ranks + 1) / 2);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  bool right = argc > 2;
  for (int i = 1; i + 1 < argc; i += 2) {
    right &= measure(std::atol(argv[i]), std::atoi(argv[i + 1]), rank, ranks);
  }
  MPI_Finalize();
  return right ? 0 : 1;
}
