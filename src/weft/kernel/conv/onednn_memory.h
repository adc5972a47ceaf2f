// oneDNN's engine, streams and memory over Arrays.
//
// For the sources of this folder that call oneDNN: the one header that includes it.
// Threads: oneDNN runs on the compute threads; caches and streams belong to the calling thread.
#pragma once

#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>

#include "weft/array/array.h"
#include "weft/base/parallel.h"

namespace weft {

using MemoryDesc = dnnl::memory::desc;

const dnnl::engine& onednn_engine();
dnnl::stream& onednn_stream();

// While one lives, oneDNN sees one thread.
class OneThread {
 public:
  OneThread() : before_(thread_count()) { set_thread_count(1); }
  ~OneThread() { set_thread_count(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

class OneDnnFormat final : public MemoryFormat {
 public:
  explicit OneDnnFormat(const MemoryDesc& desc) : desc_(desc) {}
  const MemoryDesc& desc() const { return desc_; }
  std::size_t size_bytes() const override { return desc_.get_size(); }
  Array to_strided(const Array& blocked) const override;

 private:
  MemoryDesc desc_;
};

// An order of f32 values, for as many 16-bit ones.
class HalfFormat final : public MemoryFormat {
 public:
  explicit HalfFormat(std::shared_ptr<const MemoryFormat> single) : single_(std::move(single)) {}
  const std::shared_ptr<const MemoryFormat>& single() const { return single_; }
  std::size_t size_bytes() const override { return single_->size_bytes() / 2; }
  Array to_strided(const Array& blocked) const override;

 private:
  std::shared_ptr<const MemoryFormat> single_;
};

// Row-major f32.
MemoryDesc plain_desc(const Shape& shape);
// The order `array` is in. REQUIRES: contiguous or blocked by oneDNN.
MemoryDesc desc_of(const Array& array);

// An order that results will have; null format: row-major.
struct ResultOrder {
  Shape shape;
  std::shared_ptr<const OneDnnFormat> format;
  ResultOrder() = default;
  ResultOrder(const Shape& shape, const MemoryDesc& desc);
  Array make(Device device) const;
};

// Copies between two orders of the same values.
void reorder(const MemoryDesc& from, const void* source, const MemoryDesc& to, void* target);
// `array` in the order `desc`: itself if it is so already. `keep` holds a copy alive.
const void* in_order(const Array& array, const MemoryDesc& desc, std::shared_ptr<Storage>& keep);

dnnl::memory memory_on(const MemoryDesc& desc, const void* data);

// A primitive with the memory it needs while it runs; several threads may run one at a time each.
class Primitive {
 public:
  Primitive() = default;
  template <class Made, class Desc>
  static Primitive make(const Desc& desc) {
    Primitive result;
    result.primitive_ = Made(desc);
    result.scratchpad_ = desc.scratchpad_desc();
    return result;
  }
  void run(std::unordered_map<int, dnnl::memory> arguments) const;

 private:
  dnnl::primitive primitive_;
  MemoryDesc scratchpad_;
};

// Scratchpads are ours: Primitive brings them.
dnnl::primitive_attr onednn_attributes(bool relu);

// The values made for the latest keys, at most kEntriesMax. Keys compare with ==.
template <class Key, class Value>
class PlanCache {
 public:
  // Calls make() for an unknown key. The result lives until other keys push it out.
  template <class Make>
  std::shared_ptr<const Value> get(const Key& key, Make&& make) {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (entries_[i].first == key) return entries_[i].second;
    }
    auto value = std::make_shared<const Value>(make());
    if (entries_.size() >= kEntriesMax) entries_.erase(entries_.begin());
    entries_.emplace_back(key, value);
    return value;
  }

 private:
  static constexpr std::size_t kEntriesMax = 128;
  std::vector<std::pair<Key, std::shared_ptr<const Value>>> entries_;
};

}  // namespace weft
