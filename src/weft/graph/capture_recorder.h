// CaptureRecorder: turns the launches of one run into a Program. For this folder.
//
// It holds no memory that the run makes, so a run needs as much memory as without a recorder and
// arrays that are alive at its end can be told apart from freed ones.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "weft/graph/program.h"

namespace weft::internal {

class CaptureRecorder final : public Recorder {
 public:
  // Whether writes to arrays from before are remembered, so that they can be undone.
  enum class OuterWrites : std::uint8_t { kKeep, kUndo };
  explicit CaptureRecorder(OuterWrites outer_writes = OuterWrites::kKeep);
  void record(const LaunchNote& note, std::unique_ptr<LaunchBody> body) override;
  void constant(const Array& array) override;
  void host_read(const char* operation) override;

  // Learns the operations of the launches while an AttributionScope with it lives.
  OpAttribution* attribution() { return &attribution_; }
  // Restores the values that the run has overwritten.
  void undo_outer_writes();
  // Call when the run's results, and nothing else of it, are alive.
  Program finish();
  // The most bytes that planned and kept buffers held at once.
  std::size_t peak_bytes() const { return peak_bytes_; }

 private:
  struct Seen {
    std::weak_ptr<Storage> storage;
    std::size_t bytes = 0;
    bool born_inside = false;
    bool has_values = false;
  };
  // Bytes of an earlier array before the run first wrote there.
  struct Overwritten {
    Array place;
    Array bytes;
  };
  void keep_overwritten(const Array& array);
  int buffer_of(const Array& array);
  Operand operand_of(const Array& array);
  void read(const Array& array, const std::string& name);
  void write(const Array& array);
  // Values that the host wrote and the graph changes are put back before each replay.
  void restore_first(int buffer, const Array& array);
  void count_live();

  OuterWrites outer_writes_;
  std::uint64_t first_inside_;
  std::vector<Overwritten> overwritten_;
  Program program_;
  OpAttribution attribution_;  // of the nodes of program_, in their order
  std::vector<GraphNode> restores_;
  std::vector<Seen> seen_;  // by buffer
  std::vector<int> live_;   // born inside, not known to be dropped
  std::unordered_map<std::uint64_t, int> buffer_of_storage_;
  std::size_t peak_bytes_ = 0;
};

}  // namespace weft::internal
