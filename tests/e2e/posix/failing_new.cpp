// Preloaded into the program: makes allocations of its own code fail, by number. Those of drivers and of what they use (LLVM) do not count.
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

enum class Owner { ours, system, other };

struct Range {
  std::uintptr_t begin = 0, end = 0;
  bool contains(const void* address) const {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    return at >= begin && at < end;
  }
};

struct Images {
  Range ours[4], system;  ///< the program, and what allocates for who calls it: this file, the C++ library, fmt; the C library
  int count = 0;

  Images() {
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* self) {
          static_cast<Images*>(self)->add(*info);
          return 0;
        },
        this);
  }

  void add(const dl_phdr_info& info) {
    const bool main = info.dlpi_name == nullptr || *info.dlpi_name == '\0';
    const auto named = [&](const char* part) { return !main && std::strstr(info.dlpi_name, part) != nullptr; };
    const bool own = main || named("libstdc++") || named("libfmt") || named("failing_new");
    if (own ? count == 4 : !named("/libc.so")) return;
    Range& range = own ? ours[count++] : system;
    range.begin = UINTPTR_MAX;
    for (int i = 0; i < info.dlpi_phnum; ++i) {
      if (info.dlpi_phdr[i].p_type != PT_LOAD) continue;
      const std::uintptr_t begin = info.dlpi_addr + info.dlpi_phdr[i].p_vaddr;
      if (begin < range.begin) range.begin = begin;
      if (begin + info.dlpi_phdr[i].p_memsz > range.end) range.end = begin + info.dlpi_phdr[i].p_memsz;
    }
  }

  Owner owner(const void* address) const {
    for (const Range& range : ours) {
      if (range.contains(address)) return Owner::ours;
    }
    return system.contains(address) ? Owner::system : Owner::other;
  }
};

/// A driver's string may grow in a function that the program has too, so the callers decide: from the innermost on, none is the driver's
/// before one is the C library's, which starts every thread.
bool is_of_program(const void* caller) {
  static const Images images;
  thread_local bool inside = false;  // unwinding may allocate
  if (inside || images.owner(caller) != Owner::ours) return false;
  inside = true;
  void* frames[48];
  const int count = backtrace(frames, 48);
  inside = false;
  for (int i = 0; i < count; ++i) {
    const Owner owner = images.owner(frames[i]);
    if (owner != Owner::ours) return owner == Owner::system;
  }
  return true;
}

/// What static objects allocate comes before main(), where nothing can be caught.
std::atomic<bool> started{false};
int (*program_main)(int, char**, char**) = nullptr;

int begin(int argc, char** argv, char** environment) {
  started = true;
  return program_main(argc, argv, environment);
}

std::uint64_t number_in(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
}

/// SKIPSTONE_TEST_FAIL_AT: the first that fails, from 1 on; 0: none. SKIPSTONE_TEST_FAIL_COUNT: how many. How many there were goes to the
/// file SKIPSTONE_TEST_ALLOCATIONS.
struct Plan {
  std::uint64_t first = number_in("SKIPSTONE_TEST_FAIL_AT"), count = number_in("SKIPSTONE_TEST_FAIL_COUNT");
  std::atomic<std::uint64_t> made{0};
  ~Plan() {
    const char* path = std::getenv("SKIPSTONE_TEST_ALLOCATIONS");
    std::FILE* file = path == nullptr ? nullptr : std::fopen(path, "w");
    if (file == nullptr) return;
    std::fprintf(file, "%llu\n", static_cast<unsigned long long>(made.load()));
    std::fclose(file);
  }
};

Plan& plan() {
  static Plan instance;
  return instance;
}

void* allocate(std::size_t bytes, const void* caller) {
  if (started && is_of_program(caller)) {
    const std::uint64_t number = ++plan().made;
    if (plan().first != 0 && number >= plan().first && number - plan().first < plan().count) return nullptr;
  }
  return std::malloc(bytes == 0 ? 1 : bytes);
}

}  // namespace

extern "C" int __libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, void (*init)(), void (*fini)(), void (*rtld)(),
                                 void* end) {
  using Start = int (*)(int (*)(int, char**, char**), int, char**, void (*)(), void (*)(), void (*)(), void*);
  program_main = main;
  return reinterpret_cast<Start>(dlsym(RTLD_NEXT, "__libc_start_main"))(begin, argc, argv, init, fini, rtld, end);
}

void* operator new(std::size_t bytes) {
  if (void* memory = allocate(bytes, __builtin_return_address(0))) return memory;
  throw std::bad_alloc();
}
void* operator new[](std::size_t bytes) {
  if (void* memory = allocate(bytes, __builtin_return_address(0))) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes, __builtin_return_address(0)); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes, __builtin_return_address(0)); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
