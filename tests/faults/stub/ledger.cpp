#include "ledger.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "control.h"

// The thread sanitizer's, where the program has it. The driver itself is built without, for what its lock puts into an order would count as
// ordered by the program (see the suppressions beside this).
extern "C" __attribute__((weak)) void __tsan_write1(void* address);

namespace stub {
namespace {

class MallocResource : public std::pmr::memory_resource {
  void* do_allocate(std::size_t bytes, std::size_t) override {
    void* memory = std::malloc(bytes);
    if (memory == nullptr) std::abort();
    return memory;
  }
  void do_deallocate(void* memory, std::size_t, std::size_t) override { std::free(memory); }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

/// SKIPSTONE_STUB_FAIL=[CALL:]NUMBER[:CHOICE], for programs.
void take_environment(Ledger& ledger) {
  const char* text = std::getenv("SKIPSTONE_STUB_FAIL");
  if (text == nullptr) return;
  char call[64] = "";
  const char* colon = std::strchr(text, ':');
  if (text[0] == 'v' && colon != nullptr) {
    std::snprintf(call, sizeof call, "%.*s", static_cast<int>(colon - text), text);
    text = colon + 1;
  }
  char* end = nullptr;
  const std::uint64_t number = std::strtoull(text, &end, 10);
  ledger.fail(call, number, *end == ':' ? static_cast<std::uint32_t>(std::strtoul(end + 1, nullptr, 10)) : 0);
}

}  // namespace

std::pmr::memory_resource* malloc_resource() {
  static MallocResource resource;
  return &resource;
}

Ledger& ledger() {
  static Ledger one;
  static const bool read = (take_environment(one), true);
  (void)read;
  return one;
}

void* new_dispatchable(Id id) {
  static List<Dispatchable*> all{malloc_resource()};  // reachable for leak checkers
  auto* memory = static_cast<Dispatchable*>(std::malloc(sizeof(Dispatchable)));
  set_loader_magic_value(memory);
  memory->id = id;
  all.push_back(memory);
  return memory;
}

void Ledger::misuse(const char* format, ...) {
  if (first_misuse[0] != '\0') return;
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(first_misuse, sizeof first_misuse, format, arguments);
  va_end(arguments);
}

Id Ledger::add(const char* type, Id parent) {
  next_ += 16;
  Object& object = objects_[next_];
  object.type = type;
  object.parent = parent;
  return next_;
}

Object* Ledger::find(Id id, const char* type) {
  const auto found = objects_.find(id);
  if (found != objects_.end() && std::strcmp(found->second.type, type) == 0) return &found->second;
  misuse("a %s was used that is not there (handle %#llx)", type, static_cast<unsigned long long>(id));
  return nullptr;
}

Object* Ledger::find_alone(Id id, const char* type) {
  Object* object = find(id, type);
  if (object != nullptr && __tsan_write1 != nullptr) __tsan_write1(&object->use);
  return object;
}

bool Ledger::in_flight(Id id) const {
  const auto uses = [&](Id command) {
    const auto found = objects_.find(command);
    if (found == objects_.end()) return false;
    const auto& used = found->second.uses;
    return command == id || found->second.parent == id || std::find(used.begin(), used.end(), id) != used.end();
  };
  return std::any_of(pending_.begin(), pending_.end(), [&](const Submission& submission) {
    return submission.semaphore == id || submission.fence == id ||
           std::any_of(submission.commands.begin(), submission.commands.end(), uses);
  });
}

bool Ledger::has_children(Id parent) const {
  return std::any_of(objects_.begin(), objects_.end(), [&](const auto& each) { return each.second.parent == parent; });
}

void Ledger::remove(Id id, const char* type) {
  if (id == 0) return;
  Object* object = find_alone(id, type);
  if (object == nullptr) return misuse("a %s was destroyed that is not there", type);
  if (in_flight(id)) misuse("a %s was destroyed while submitted commands use it", type);
  std::free(object->bytes);
  objects_.erase(id);
}

void Ledger::release_children(Id parent, const char* type) {
  std::erase_if(objects_, [&](const auto& each) { return each.second.parent == parent && std::strcmp(each.second.type, type) == 0; });
}

void Ledger::submit(Submission submission) {
  for (const Id command : submission.commands) {
    if (Object* object = find(command, "command buffer")) ++object->pending;
  }
  pending_.push_back(std::move(submission));
}

void Ledger::finish(std::size_t submissions) {
  for (std::size_t i = 0; i < submissions; ++i) {
    const Submission& done = pending_[i];
    for (const Id command : done.commands) {
      const auto found = objects_.find(command);
      if (found == objects_.end()) continue;
      --found->second.pending;
      if (!lost_) executed += found->second.commands;
    }
    if (const auto found = objects_.find(done.semaphore); found != objects_.end()) found->second.value = done.value;
    if (const auto found = objects_.find(done.fence); found != objects_.end()) found->second.value = 1;
  }
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(submissions));
}

bool Ledger::complete(Id semaphore, std::uint64_t value) {
  const Object* object = find(semaphore, "semaphore");
  if (object == nullptr || object->value >= value) return object != nullptr;
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    if (pending_[i].semaphore != semaphore || pending_[i].value < value) continue;
    finish(i + 1);
    return true;
  }
  return false;
}

bool Ledger::complete_fence(Id fence) {
  const Object* object = find(fence, "fence");
  if (object == nullptr || object->value == 1) return object != nullptr;
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    if (pending_[i].fence != fence) continue;
    finish(i + 1);
    return true;
  }
  return false;
}

void Ledger::complete_all() { finish(pending_.size()); }

void Ledger::fail(const char* call, std::uint64_t number, std::uint32_t choice) {
  std::snprintf(only_, sizeof only_, "%s", call == nullptr ? "" : call);
  fail_at_ = number;
  choice_ = choice;
  calls = 0;
  failed_call = "";
  failed_result = VK_SUCCESS;
}

VkResult Ledger::enter(const char* call, std::initializer_list<VkResult> possible) {
  if (only_[0] != '\0' && std::strcmp(only_, call) != 0) return VK_SUCCESS;
  if (++calls != fail_at_) return VK_SUCCESS;
  failed_call = call;
  failed_result = *(possible.begin() + choice_ % possible.size());
  if (failed_result == VK_ERROR_DEVICE_LOST) lose();
  return failed_result;
}

}  // namespace stub

extern "C" {

__attribute__((visibility("default"))) void stub_fail(const char* call, uint64_t number, uint32_t choice) {
  const std::lock_guard lock(stub::ledger().mutex);
  stub::ledger().fail(call, number, choice);
}
__attribute__((visibility("default"))) uint64_t stub_calls(void) {
  const std::lock_guard lock(stub::ledger().mutex);
  return stub::ledger().calls;
}
__attribute__((visibility("default"))) const char* stub_failed_call(void) {
  const std::lock_guard lock(stub::ledger().mutex);
  return stub::ledger().failed_call;
}
__attribute__((visibility("default"))) int32_t stub_failed_result(void) {
  const std::lock_guard lock(stub::ledger().mutex);
  return stub::ledger().failed_result;
}
__attribute__((visibility("default"))) uint64_t stub_objects(void) {
  const std::lock_guard lock(stub::ledger().mutex);
  return stub::ledger().count();
}
__attribute__((visibility("default"))) uint64_t stub_executed(void) {
  const std::lock_guard lock(stub::ledger().mutex);
  return stub::ledger().executed;
}
__attribute__((visibility("default"))) const char* stub_misuse(void) { return stub::ledger().first_misuse; }
__attribute__((visibility("default"))) void stub_forget_misuse(void) {
  const std::lock_guard lock(stub::ledger().mutex);
  stub::ledger().first_misuse[0] = '\0';
}

}  // extern "C"
