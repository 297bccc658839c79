#include "terminal/exit_code.h"

#include "terminal/output.h"

namespace cli {

const char* const exit_code_help =
    "Exit codes: 0 done, 1 failed, 2 wrong options or prompt, 3 model file missing, damaged or not supported,\n"
    "4 no Vulkan device, 5 out of memory, 6 device lost, 130 interrupted.";

ExitCode exit_code(skipstone_status status, bool about_model) {
  switch (status) {
    case SKIPSTONE_OK:
      return ExitCode::ok;
    case SKIPSTONE_INVALID_ARGUMENT:
      return ExitCode::usage;
    case SKIPSTONE_NOT_FOUND:
      return about_model ? ExitCode::bad_model : ExitCode::no_device;
    case SKIPSTONE_BAD_FILE:
      return ExitCode::bad_model;
    case SKIPSTONE_UNSUPPORTED:
      return about_model ? ExitCode::bad_model : ExitCode::failure;
    case SKIPSTONE_OUT_OF_MEMORY:
      return ExitCode::out_of_memory;
    case SKIPSTONE_NO_DEVICE:
      return ExitCode::no_device;
    case SKIPSTONE_DEVICE_LOST:
      return ExitCode::device_lost;
    case SKIPSTONE_CANCELLED:
      return ExitCode::interrupted;
    case SKIPSTONE_IO:
    case SKIPSTONE_INTERNAL:
      return ExitCode::failure;
  }
  return ExitCode::failure;
}

void print_error(const std::string& sentence) {
  const bool ends = sentence.empty() || sentence.back() == '.';
  note("error: {}{}", sentence, ends ? "" : ".");
}

}  // namespace cli
