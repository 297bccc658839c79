// The one exception type. It never crosses the C API, which turns it into its code and message.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <memory>
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
  Error(Code code, const std::string& message, const std::string& where = {})
      : std::runtime_error(message_text(message)), code_(code), where_(std::make_shared<const std::string>(message_text(where))) {}
  Code code() const noexcept { return code_; }
  /// What is wrong, for programs: a field or parameter ("draft"), or the path of a part of a document ("messages[2].role"). "" where the
  /// error is about none. The sentence names it, too.
  const std::string& where() const noexcept { return *where_; }

 private:
  Code code_;
  std::shared_ptr<const std::string> where_;  ///< shared, so that a copy of the exception cannot throw
};

[[noreturn]] inline void throw_error(Code code, const std::string& where, fmt::string_view format, fmt::format_args args) {
  throw Error(code, fmt::vformat(format, args), where);
}

/// Throws Error{code, formatted message}.
template <typename... Args>
[[noreturn]] void fail(Code code, fmt::format_string<Args...> format, Args&&... args) {
  throw_error(code, {}, format, fmt::make_format_args(args...));
}

/// The same, about `where`. The sentence names the place itself.
template <typename... Args>
[[noreturn]] void fail_about(const std::string& where, Code code, fmt::format_string<Args...> format, Args&&... args) {
  throw_error(code, where, format, fmt::make_format_args(args...));
}

}  // namespace skipstone
