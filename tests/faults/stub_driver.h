// The stub driver (tests/faults/stub) as the only one of this process, and what can be asked of it.
#pragma once

#include <dlfcn.h>
#include <stdlib.h>

#include <cstdint>
#include <stdexcept>
#include <string>

#include "faults/stub/control.h"
#include "fixtures/temporary_directory.h"

namespace skipstone::faults {

/// Make it before anything else uses Vulkan. Caches go to a folder of its own.
class StubDriver {
 public:
  StubDriver() {
    ::setenv("VK_ICD_FILENAMES", SKIPSTONE_STUB_MANIFEST, 1);
    ::setenv("VK_DRIVER_FILES", SKIPSTONE_STUB_MANIFEST, 1);
    // Layers that systems put into every program; some do not survive a driver that fails.
    ::setenv("VK_LOADER_LAYERS_DISABLE", "~implicit~", 1);
    ::setenv("NODEVICE_SELECT", "1", 1);
    ::setenv("SKIPSTONE_CACHE", cache_.path().c_str(), 1);
    ::unsetenv("SKIPSTONE_VALIDATION");
    // Held open, so that what it counts outlives the instances.
    library_ = ::dlopen(SKIPSTONE_STUB_DRIVER, RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) throw std::runtime_error(std::string("the stub driver cannot be loaded: ") + ::dlerror());
    find(fail, "stub_fail");
    find(calls, "stub_calls");
    find(failed_call, "stub_failed_call");
    find(failed_result, "stub_failed_result");
    find(objects, "stub_objects");
    find(executed, "stub_executed");
    find(misuse, "stub_misuse");
    find(forget_misuse, "stub_forget_misuse");
  }

  std::string cache() const { return cache_.path().string(); }

  decltype(&stub_fail) fail = nullptr;
  decltype(&stub_calls) calls = nullptr;
  decltype(&stub_failed_call) failed_call = nullptr;
  decltype(&stub_failed_result) failed_result = nullptr;
  decltype(&stub_objects) objects = nullptr;
  decltype(&stub_executed) executed = nullptr;
  decltype(&stub_misuse) misuse = nullptr;
  decltype(&stub_forget_misuse) forget_misuse = nullptr;

 private:
  template <typename Function>
  void find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(::dlsym(library_, name));
    if (function == nullptr) throw std::runtime_error(std::string("the stub driver has no ") + name);
  }

  fixtures::TemporaryDirectory cache_;
  void* library_ = nullptr;
};

}  // namespace skipstone::faults
