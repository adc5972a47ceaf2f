// Times forward passes of an ONNX file in ONNX Runtime, through its C interface.
//
// usage: onnxruntime_forward LIBRARY MODEL THREADS SECONDS TYPE INPUT OUTPUT DIM...
// LIBRARY is libonnxruntime.so.1; TYPE is f32 or i64; INPUT holds the values of the model's only
// input, of shape DIM..., and OUTPUT gets those of its only output, all without a header. Prints
// one JSON object. Input and output stay in the memory of this program, so a timed call is the pass
// and nothing else; "empty_call_us" is a call through the same table that computes nothing.
// bench/rivals/forward.py compiles and runs it; with OLDER_PROCESSOR defined it is linked with
// older_processor.cpp, and "answers" says how often the library asked what the processor can do.
//
// The package that holds the library has no header. The interface is a table of functions whose
// places never change (version 1 of it has all that is used here).
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <dlfcn.h>

#include "older_processor.h"

namespace {

using Handle = void*;  // of an object of the library; a status that is null is success

// Places in the table of functions.
enum Place : std::size_t {
  kGetErrorMessage = 2,
  kCreateEnv = 3,
  kCreateSession = 7,
  kRun = 9,
  kCreateSessionOptions = 10,
  kSetIntraOpNumThreads = 24,
  kSetInterOpNumThreads = 25,
  kSessionGetInputCount = 30,
  kCreateTensorWithDataAsOrtValue = 49,
  kGetTensorMutableData = 51,
  kGetTensorShapeElementCount = 64,
  kGetTensorTypeAndShape = 65,
  kCreateCpuMemoryInfo = 69,
};

struct ApiBase {
  const Handle* (*api)(std::uint32_t version);
  const char* (*version)();
};

constexpr int kFloat = 1;  // numbers of element types
constexpr int kInt64 = 7;
constexpr int kWarning = 2;
constexpr std::size_t kRunsMin = 10;
constexpr int kWarmUpRuns = 3;

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "onnxruntime_forward: %s\n", why.c_str());
  std::exit(1);
}

const Handle* table = nullptr;

// Calls the function at a place of the table; one that returns a status ends the program on
// failure.
template <class... Arguments>
void call(Place place, Arguments... arguments) {
  const Handle status = reinterpret_cast<Handle (*)(Arguments...)>(table[place])(arguments...);
  if (status == nullptr) return;
  fail(reinterpret_cast<const char* (*)(Handle)>(table[kGetErrorMessage])(status));
}

const char* load(const char* library) {
  void* const opened = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) fail(dlerror());
  const auto base = reinterpret_cast<const ApiBase* (*)()>(dlsym(opened, "OrtGetApiBase"));
  if (base == nullptr) fail("the library has no OrtGetApiBase");
  table = base()->api(1);
  return base()->version();
}

Handle open_session(const char* model, int threads) {
  Handle env = nullptr;
  Handle options = nullptr;
  Handle session = nullptr;
  call(kCreateEnv, kWarning, "bench", &env);
  call(kCreateSessionOptions, &options);
  call(kSetIntraOpNumThreads, options, threads);
  call(kSetInterOpNumThreads, options, 1);
  call(kCreateSession, env, model, options, &session);
  return session;
}

std::string read_file(const char* path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) fail(std::string("cannot read ") + path);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

Handle make_tensor(std::string& bytes, const std::vector<std::int64_t>& shape, int type) {
  Handle memory = nullptr;
  Handle tensor = nullptr;
  call(kCreateCpuMemoryInfo, 1, 0, &memory);  // arena allocator, default memory
  call(kCreateTensorWithDataAsOrtValue, memory, static_cast<void*>(bytes.data()), bytes.size(),
       shape.data(), shape.size(), type, &tensor);
  return tensor;
}

void write_output(Handle output, const char* path) {
  Handle info = nullptr;
  std::size_t values = 0;
  void* data = nullptr;
  call(kGetTensorTypeAndShape, output, &info);
  call(kGetTensorShapeElementCount, info, &values);
  call(kGetTensorMutableData, output, &data);
  std::ofstream(path, std::ios::binary)
      .write(static_cast<const char*>(data), static_cast<std::streamsize>(values * sizeof(float)));
}

double milliseconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(now).count();
}

// A call of the table that reads one number of the session.
double empty_call_us(Handle session) {
  constexpr int kCalls = 100000;
  std::size_t count = 0;
  const double before = milliseconds();
  for (int i = 0; i < kCalls; ++i) call(kSessionGetInputCount, session, &count);
  return (milliseconds() - before) * 1e3 / kCalls;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 9) fail("expected LIBRARY MODEL THREADS SECONDS TYPE INPUT OUTPUT DIM...");
#if defined(OLDER_PROCESSOR)
  answer_as_an_older_processor();
#endif
  const char* const version = load(argv[1]);
  const Handle session = open_session(argv[2], std::atoi(argv[3]));
  const bool tokens = std::string(argv[5]) == "i64";
  std::string bytes = read_file(argv[6]);
  std::vector<std::int64_t> shape;
  for (int i = 8; i < argc; ++i) shape.push_back(std::atoll(argv[i]));
  const Handle input = make_tensor(bytes, shape, tokens ? kInt64 : kFloat);
  const char* const input_name = "input";
  const char* const output_name = "output";
  Handle output = nullptr;  // made by the first run, reused by the others
  const Handle no_options = nullptr;
  const auto run = [&] {
    call(kRun, session, no_options, &input_name, &input, std::size_t{1}, &output_name,
         std::size_t{1}, &output);
  };
  for (int i = 0; i < kWarmUpRuns; ++i) run();
  std::vector<double> times;
  const double end = milliseconds() + 1e3 * std::atof(argv[4]);
  for (double before = milliseconds(); times.size() < kRunsMin || before < end;) {
    run();
    const double after = milliseconds();
    times.push_back(after - before);
    before = after;
  }
  write_output(output, argv[7]);
  std::sort(times.begin(), times.end());
  int answers = 0;
#if defined(OLDER_PROCESSOR)
  answers = answers_of_an_older_processor();
#endif
  std::printf(
      "{\"version\": \"%s\", \"median_ms\": %.6f, \"p10_ms\": %.6f, \"runs\": %zu, "
      "\"empty_call_us\": %.4f, \"answers\": %d}\n",
      version, times[times.size() / 2], times[times.size() / 10], times.size(),
      empty_call_us(session), answers);
  return 0;
}
