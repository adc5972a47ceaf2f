// MPI_Allreduce of one float32 vector. usage: mpirun -np N mpi_all_reduce BYTES REPETITIONS
// Rank 0 prints one JSON object. A repetition lasts from a barrier until the slowest rank is done.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const long bytes = argc > 1 ? std::atol(argv[1]) : 4096;
  const int repetitions = argc > 2 ? std::atoi(argv[2]) : 9;
  const std::size_t elements = static_cast<std::size_t>(bytes) / 4;
  const std::vector<float> input(elements, static_cast<float>(rank + 1));
  std::vector<float> output(elements);
  std::vector<double> seconds;
  for (int repetition = 0; repetition < repetitions + 2; ++repetition) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    MPI_Allreduce(input.data(), output.data(), static_cast<int>(elements), MPI_FLOAT, MPI_SUM,
                  MPI_COMM_WORLD);
    const double own = MPI_Wtime() - start;
    double longest = 0;
    MPI_Allreduce(&own, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (repetition >= 2) seconds.push_back(longest);
  }
  std::sort(seconds.begin(), seconds.end());
  if (rank == 0) {
    std::printf("{\"bytes\": %ld, \"median_seconds\": %.9f, \"min_seconds\": %.9f}\n", bytes,
                seconds[seconds.size() / 2], seconds[0]);
  }
  const bool right = output[elements - 1] == static_cast<float>(ranks * (ranks + 1) / 2);
  MPI_Finalize();
  return right ? 0 : 1;
}
