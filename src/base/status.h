// The one exception type. It never crosses the C API, which turns it into its code and message.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/escape.h"

namespace skipstone {

/// The kind of an error. The values are those of `skipstone_status` in the C API.
enum class Code : int {
  ok = 0,
  invalid_argument = 1,  ///< the caller asked for something impossible
  not_found = 2,         ///< a file, device or name does not exist
  bad_file = 3,          ///< a file is damaged or not what it says
  unsupported = 4,       ///< well-formed, but this build or device cannot do it
  out_of_memory = 5,     ///< host or device memory, found by planning or by the driver
  no_device = 6,         ///< no Vulkan loader, no driver or no device
  device_lost = 7,       ///< the driver gave the device up
  io = 8,                ///< reading or writing failed
  cancelled = 9,         ///< the caller's callback asked to stop
  internal = 10,         ///< a defect of ours
};

/// An error with a code and one sentence: what was wrong, where, and what to do. Whatever the sentence contains, it is safe to print
/// (message_text() in base/escape.h).
class Error : public std::runtime_error {
 public:
  Error(Code code, const std::string& message) : std::runtime_error(message_text(message)), code_(code) {}
  Code code() const noexcept { return code_; }

 private:
  Code code_;
};

[[noreturn]] void throw_error(Code code, fmt::string_view format, fmt::format_args args);

/// Throws Error{code, formatted message}.
template <typename... Args>
[[noreturn]] void fail(Code code, fmt::format_string<Args...> format, Args&&... args) {
  throw_error(code, format, fmt::make_format_args(args...));
}

}  // namespace skipstone
