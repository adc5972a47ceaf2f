// IntrusivePtr<T>: a shared pointer whose count is in the object: one word, one allocation.
//
// T derives from RefCounted and gets static void destroy(T*) called when its last owner goes, so
// that a long chain of objects can be destroyed by a loop instead of by recursion. HandlePtr<T>
// owns in the same way and has a second count, so that T is notified when its last handle is
// destroyed although others, such as a graph, still hold it.
// Threads: the counts are atomic, so pointers may be copied and dropped on any thread.
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
  bool drop_reference() { return low(count_.fetch_sub(1, std::memory_order_acq_rel)) == 1; }

  // A handle is a reference too; one addition counts it as both.
  void add_handle() { count_.fetch_add(kHandle + 1, std::memory_order_relaxed); }
  // Whether that was the last reference.
  bool drop_handle() { return low(count_.fetch_sub(kHandle + 1, std::memory_order_acq_rel)) == 1; }
  // The handle becomes a plain reference. Whether it was the last handle.
  bool demote_handle() {
    return count_.fetch_sub(kHandle, std::memory_order_acq_rel) / kHandle == 1;
  }
  std::uint32_t handles() const {
    return static_cast<std::uint32_t>(count_.load(std::memory_order_relaxed) / kHandle);
  }

 protected:
  ~RefCounted() = default;

 private:
  static constexpr std::uint64_t kHandle = std::uint64_t{1} << 32;
  static std::uint32_t low(std::uint64_t count) { return static_cast<std::uint32_t>(count); }
  std::atomic<std::uint64_t> count_{0};  // references, and handles in the upper half
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

// T also has watches_handles(), which returns whether handles_gone() should be called.
template <class T>
class HandlePtr {
 public:
  HandlePtr() = default;
  explicit HandlePtr(T* object) : object_(object) {
    if (object_ != nullptr) object_->add_handle();
  }
  HandlePtr(const HandlePtr& other) : HandlePtr(other.object_) {}
  HandlePtr(HandlePtr&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  HandlePtr& operator=(HandlePtr other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~HandlePtr() {
    if (object_ == nullptr) return;
    if (!object_->watches_handles()) {
      if (object_->drop_handle()) T::destroy(object_);
      return;
    }
    if (object_->demote_handle()) object_->handles_gone();
    if (object_->drop_reference()) T::destroy(object_);
  }

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  IntrusivePtr<T> pointer() const { return IntrusivePtr<T>(object_); }

 private:
  T* object_ = nullptr;
};

}  // namespace weft
