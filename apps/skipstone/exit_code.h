// What the program's exit codes mean, and how it says what went wrong.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "skipstone/skipstone.h"

namespace cli {

enum class ExitCode : int {
  ok = 0,
  failure = 1,    ///< anything that has no code of its own; doctor: a test failed
  usage = 2,      ///< options or a prompt that cannot be
  bad_model = 3,  ///< the model file is missing, damaged or of a kind that this build does not run
  no_device = 4,  ///< no Vulkan driver or device, or none that matches --device
  out_of_memory = 5,
  device_lost = 6,
  interrupted = 130,  ///< Ctrl-C, as shells count it
};

/// Ends the program with a sentence and a code of its own; for what the library knows nothing of.
class Failure : public std::runtime_error {
 public:
  Failure(ExitCode code, const std::string& sentence) : std::runtime_error(sentence), code_(code) {}
  ExitCode code() const noexcept { return code_; }

 private:
  ExitCode code_;
};

/// Throws Failure{code, formatted sentence}.
template <typename... Args>
[[noreturn]] void fail(ExitCode code, fmt::format_string<Args...> format, Args&&... args) {
  throw Failure(code, fmt::format(format, std::forward<Args>(args)...));
}

/// `about_model`: the call opened a model file, so that "not found" and "unsupported" speak of it.
ExitCode exit_code(skipstone_status status, bool about_model);

/// The list that every --help ends with.
extern const char* const exit_code_help;

/// "error: SENTENCE" to standard error.
void print_error(const std::string& sentence);

}  // namespace cli
