#include "model_path.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif

#include "exit_code.h"

namespace cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* model_name = "skipstone-py.gguf";

/// The folder of the running program; empty where the system does not say.
fs::path program_folder() {
  std::error_code error;
#ifdef __APPLE__
  char buffer[4096];
  std::uint32_t size = sizeof(buffer);
  if (_NSGetExecutablePath(buffer, &size) != 0) return {};
  return fs::canonical(buffer, error).parent_path();
#else
  return fs::read_symlink("/proc/self/exe", error).parent_path();
#endif
}

}  // namespace

std::string bundled_model() {
  const fs::path here = program_folder();
  // "../../.." is the source tree seen from build/<preset>/bin.
  for (const char* folder : {".", "models", "../share/skipstone/models", "../../../models", "../../models"}) {
    const fs::path candidate = here / folder / model_name;
    std::error_code error;
    if (!here.empty() && fs::is_regular_file(candidate, error)) return candidate.lexically_normal().string();
  }
  fail(ExitCode::bad_model,
       "no model is bundled with this program ({} was looked for around {}); name one with -m FILE "
       "or SKIPSTONE_MODEL",
       model_name, here.string());
}

}  // namespace cli
