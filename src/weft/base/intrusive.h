// IntrusivePtr<T>: a shared pointer whose count lives in the object: one word, one allocation.
//
// T derives from RefCounted and gets static void destroy(T*) called when its last owner goes, so
// that a long chain of objects can be taken down by a loop instead of by recursion.
// Threads: the count is atomic, so handles may be copied and dropped on any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace weft {

class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;

  void add_reference() { count_.fetch_add(1, std::memory_order_relaxed); }
  // Whether that was the last reference.
  bool drop_reference() { return count_.fetch_sub(1, std::memory_order_acq_rel) == 1; }

 protected:
  ~RefCounted() = default;

 private:
  std::atomic<std::uint32_t> count_{0};
};

template <class T>
class IntrusivePtr {
 public:
  IntrusivePtr() = default;
  explicit IntrusivePtr(T* object) : object_(object) {
    if (object_ != nullptr) object_->add_reference();
  }
  IntrusivePtr(const IntrusivePtr& other) : IntrusivePtr(other.object_) {}
  IntrusivePtr(IntrusivePtr&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  IntrusivePtr& operator=(IntrusivePtr other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~IntrusivePtr() {
    if (object_ != nullptr && object_->drop_reference()) T::destroy(object_);
  }

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  T* object_ = nullptr;
};

}  // namespace weft
