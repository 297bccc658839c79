// The program's exit codes and error messages.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "skipstone/skipstone.h"

namespace cli {

enum class ExitCode : int {
  ok = 0,
  failure = 1,    ///< any error without its own code; doctor: a test failed
  usage = 2,      ///< invalid options or an invalid prompt
  bad_model = 3,  ///< the model file is missing, damaged or of a kind that this build does not run
  no_device = 4,  ///< no Vulkan driver or device, or none that matches --device
  out_of_memory = 5,
  device_lost = 6,
  interrupted = 130,  ///< Ctrl-C, by the shells' convention
};

/// Ends the program with a message and an exit code; for errors outside the library.
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

/// `about_model`: the call opened a model file, so that "not found" and "unsupported" concern that file.
ExitCode exit_code(skipstone_status status, bool about_model);

/// The list that every --help ends with.
extern const char* const exit_code_help;

/// "error: SENTENCE" to standard error.
void print_error(const std::string& sentence);

}  // namespace cli
