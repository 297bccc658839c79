// What the stub driver keeps: its objects, what is in flight, which call is to fail. Nothing here comes from operator new, so that a test
// may replace it.
#pragma once

#define VK_NO_PROTOTYPES
#include <vulkan/vk_icd.h>
#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <initializer_list>
#include <memory_resource>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace stub {

std::pmr::memory_resource* malloc_resource();

template <typename T>
using List = std::pmr::vector<T>;
using Id = std::uint64_t;

struct Object {
  const char* type = "";
  Id parent = 0;
  List<Id> uses{malloc_resource()};  ///< a command buffer's and a descriptor set's
  std::uint32_t commands = 0;        ///< recorded in a command buffer
  std::uint32_t pending = 0;         ///< submissions of a command buffer that are in flight
  std::uint64_t value = 0;           ///< of a semaphore or fence
  char use = 0;                      ///< see Ledger::find_alone()
  void* bytes = nullptr;             ///< of memory
  std::uint64_t size = 0;
};

struct Submission {
  List<Id> commands{malloc_resource()};
  Id semaphore = 0, fence = 0;
  std::uint64_t value = 0;
};

/// Instances, devices, queues and command buffers: the loader writes its table into the first word.
struct Dispatchable {
  VK_LOADER_DATA loader;
  Id id;
};

class Ledger {
 public:
  std::mutex mutex;

  // ---- objects
  Id add(const char* type, Id parent);
  Object* find(Id id, const char* type);  ///< null and a misuse where it is not there
  /// The same, for a use that the specification wants kept apart from all others ("externally synchronized"). The thread sanitizer takes it
  /// for a write, so that a program whose threads do not keep them apart is reported.
  Object* find_alone(Id id, const char* type);
  void remove(Id id, const char* type);  ///< nothing for 0
  void release_children(Id parent, const char* type);
  bool has_children(Id parent) const;
  bool contains(Id id) const { return objects_.contains(id); }
  std::uint64_t count() const { return objects_.size(); }

  // ---- what runs
  void submit(Submission submission);
  bool complete(Id semaphore, std::uint64_t value);  ///< false where nothing that was submitted gets there
  bool complete_fence(Id fence);
  void complete_all();
  void lose() { lost_ = true; }
  bool lost() const { return lost_; }
  void recover() { lost_ = false; }  ///< with a new device

  // ---- failing
  /// The result to return at once, where this call is the one; VK_SUCCESS otherwise.
  VkResult enter(const char* call, std::initializer_list<VkResult> possible);
  void fail(const char* call, std::uint64_t number, std::uint32_t choice);
  std::uint64_t calls = 0;
  const char* failed_call = "";
  VkResult failed_result = VK_SUCCESS;

  void misuse(const char* format, ...) __attribute__((format(printf, 2, 3)));
  char first_misuse[256] = "";
  std::uint64_t executed = 0;

 private:
  void finish(std::size_t submissions);
  bool in_flight(Id id) const;

  std::pmr::unordered_map<Id, Object> objects_{malloc_resource()};
  List<Submission> pending_{malloc_resource()};
  Id next_ = 0x1000;
  bool lost_ = false;
  char only_[64] = "";
  std::uint64_t fail_at_ = 0;
  std::uint32_t choice_ = 0;
};

Ledger& ledger();

/// A handle's number, and back.
template <typename Handle>
Id id_of(Handle handle) {
  return reinterpret_cast<Id>(handle);
}
template <typename Handle>
Handle handle_of(Id id) {
  return reinterpret_cast<Handle>(id);
}
template <typename Handle>
Id dispatchable_id(Handle handle) {
  return handle == nullptr ? 0 : reinterpret_cast<const Dispatchable*>(handle)->id;
}
/// Never freed: a handle that is used too late can still be told from others.
void* new_dispatchable(Id id);

constexpr VkResult no_host_memory = VK_ERROR_OUT_OF_HOST_MEMORY, no_device_memory = VK_ERROR_OUT_OF_DEVICE_MEMORY;

PFN_vkVoidFunction find_entry_point(const char* name);

}  // namespace stub
