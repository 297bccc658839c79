#include "fuzz/live_memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

// Each request is preceded by its size.
constexpr std::size_t head = 16;
std::size_t live = 0, most_live = 0;  // bytes; one thread reads

}  // namespace

namespace skipstone::fuzz {

LiveMemory::LiveMemory() : before_(live) { most_live = live; }

std::size_t LiveMemory::most() const { return most_live - before_; }

}  // namespace skipstone::fuzz

// Not inlined, or the compiler sees free() take what it believes the usual operator new returned.
[[gnu::noinline]] void* operator new(std::size_t size) {
  auto* memory = static_cast<char*>(std::malloc(size + head));
  if (memory == nullptr) throw std::bad_alloc();
  std::memcpy(memory, &size, sizeof size);
  live += size;
  most_live = std::max(most_live, live);
  return memory + head;
}
// With its own nothrow form, for sanitizers bring another than the library's, which calls the one above.
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  try {
    return operator new(size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  if (memory == nullptr) return;
  std::size_t size = 0;
  std::memcpy(&size, static_cast<char*>(memory) - head, sizeof size);
  live -= size;
  std::free(static_cast<char*>(memory) - head);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }
