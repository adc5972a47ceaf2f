// Runs ONNX's own tests of single operators: each a model, inputs and the outputs that are right.
//
//   onnx_nodes [--data FOLDER] [--all] [--verbose] [--check docs/onnx.md]
//
// A test passes if every output has the type, the shape and the values, to 1e-3 of each and 1e-7,
// as ONNX's own runner demands; a model that the importer refuses is counted as refused, with
// --all as failed; anything else is a failure. Prints a row for each operator; with --check the
// rows must stand in the page. The last line is "N passed, N failed". Exit: 0 none failed, 1
// failures, 77 no data.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "weft/base/file.h"
#include "weft/io/onnx/onnx_operator.h"
#include "weft/io/onnx_import.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr const char* kData = "/usr/share/libonnx-testdata/data/node";
constexpr std::size_t kBytesMax = std::size_t{64} << 20U;
constexpr double kRelative = 1e-3;
constexpr double kAbsolute = 1e-7;

enum class Verdict { kPassed, kRefused, kFailed };

struct Row {
  int passed = 0;
  int total = 0;
  std::set<std::string> reasons;
};

Result<std::vector<Array>> read_tensors(const fs::path& folder, const std::string& stem) {
  std::vector<Array> arrays;
  for (int i = 0;; ++i) {
    const fs::path path = folder / fmt::format("{}_{}.pb", stem, i);
    if (!fs::exists(path)) return arrays;
    WEFT_TRY_ASSIGN(const Bytes bytes, read_file(path.string(), kBytesMax));
    WEFT_TRY_ASSIGN(const OnnxTensor tensor, parse_onnx_tensor(bytes));
    arrays.push_back(tensor.value);
  }
}

// Empty if they agree.
std::string difference(const Array& got, const Array& want) {
  if (got.dtype() != want.dtype() || got.shape() != want.shape()) {
    return fmt::format("expected {} {}, got {} {}", to_string(want.dtype()),
                       to_string(want.shape()), to_string(got.dtype()), to_string(got.shape()));
  }
  const std::vector<double> a = got.to(DType::kF64).to_vector<double>();
  const std::vector<double> b = want.to(DType::kF64).to_vector<double>();
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])) ||
                      std::abs(a[i] - b[i]) <= kAbsolute + kRelative * std::abs(b[i]);
    if (!same) return fmt::format("value {}: expected {}, got {}", i, b[i], a[i]);
  }
  return "";
}

// `why` says why not. `op` becomes the operator under test.
Verdict run_test(const fs::path& folder, std::string& op, std::string& why) {
  Result<Bytes> bytes = read_file((folder / "model.onnx").string(), kBytesMax);
  Result<OnnxModel> model = bytes.ok() ? parse_onnx(*bytes) : bytes.status();
  const auto refused = [&](const Status& status) {
    why = status.message();
    return status.code() == Code::kInvalidArgument ? Verdict::kRefused : Verdict::kFailed;
  };
  if (!model.ok()) return refused(model.status());
  op = model->graph.nodes.size() == 1 ? model->graph.nodes[0].op : "several";
  Result<OnnxProgram> program = OnnxProgram::make(std::move(*model));
  if (!program.ok()) return refused(program.status());
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!entry.is_directory()) continue;
    const Result<std::vector<Array>> inputs = read_tensors(entry.path(), "input");
    const Result<std::vector<Array>> outputs = read_tensors(entry.path(), "output");
    if (!inputs.ok()) return refused(inputs.status());
    if (!outputs.ok()) return refused(outputs.status());
    const Result<std::vector<Array>> got = program->run(*inputs);
    if (!got.ok()) return refused(got.status());
    for (std::size_t i = 0; i < outputs->size(); ++i) {
      why = difference((*got)[i], (*outputs)[i]);
      if (!why.empty()) return Verdict::kFailed;
    }
  }
  return Verdict::kPassed;
}

std::string row_text(const std::string& op, const Row& row) {
  return fmt::format("| `{}` | {} of {} |", op, row.passed, row.total);
}

int check_page(const std::string& path, const std::map<std::string, Row>& rows) {
  const Result<Bytes> page = read_file(path, kBytesMax);
  if (!page.ok()) {
    fmt::print(stderr, "{}\n", page.status().message());
    return 1;
  }
  const std::string text = to_text(*page);
  int missing = 0;
  for (const auto& [op, row] : rows) {
    if (text.find(row_text(op, row)) != std::string::npos) continue;
    fmt::print("{}: lacks the row: {}\n", path, row_text(op, row));
    ++missing;
  }
  return missing;
}

struct Options {
  std::string data = kData;
  std::string page;
  bool verbose = false;
  bool all = false;
};

int run(const Options& options) {
  if (!fs::is_directory(options.data)) {
    fmt::print("skipped: {} is missing (Debian: libonnx-testdata)\n", options.data);
    return 77;
  }
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(options.data)) folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  std::map<std::string, Row> rows;
  int failed = 0;
  int passed = 0;
  for (const fs::path& folder : folders) {
    std::string op = "several";
    std::string why;
    const Verdict verdict = run_test(folder, op, why);
    Row& row = rows[op];
    ++row.total;
    if (verdict == Verdict::kPassed) ++row.passed;
    passed += verdict == Verdict::kPassed ? 1 : 0;
    failed += verdict == Verdict::kFailed ? 1 : 0;
    if (verdict == Verdict::kFailed || (options.verbose && verdict == Verdict::kRefused)) {
      fmt::print("{} {}: {}\n", verdict == Verdict::kFailed ? "FAILED" : "refused",
                 folder.filename().string(), why);
    }
  }
  for (const auto& [op, row] : rows) {
    if (options.page.empty()) fmt::print("{}\n", row_text(op, row));
  }
  const int refused = static_cast<int>(folders.size()) - passed - failed;
  if (options.all) failed += refused;
  // The page counts the tests of ONNX 1.12, which Debian 12 has.
  constexpr std::size_t kTestsOfPage = 932;
  const bool checked = !options.page.empty() && folders.size() == kTestsOfPage;
  failed += checked ? check_page(options.page, rows) : 0;
  fmt::print("{} of {} refused\n{} passed, {} failed\n", refused, folders.size(), passed, failed);
  return failed > 0 || passed == 0 ? 1 : 0;
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  weft::Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--verbose") {
      options.verbose = true;
    } else if (flag == "--all") {
      options.all = true;
    } else if (flag == "--data" && i + 1 < argc) {
      options.data = argv[++i];
    } else if (flag == "--check" && i + 1 < argc) {
      options.page = argv[++i];
    } else {
      fmt::print(stderr, "usage: onnx_nodes [--data FOLDER] [--all] [--verbose] [--check PAGE]\n");
      return 2;
    }
  }
  return weft::run(options);
}
