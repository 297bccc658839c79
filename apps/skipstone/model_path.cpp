#include "model_path.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "base/platform/files.h"
#include "base/platform/system.h"
#include "exit_code.h"

namespace cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* model_name = "skipstone-py.gguf";

}  // namespace

std::string bundled_model() {
  namespace platform = skipstone::platform;
  const fs::path here = platform::path_of(platform::program_folder());
  // "../../.." is the source tree seen from build/<preset>/bin.
  for (const char* folder : {".", "models", "../share/skipstone/models", "../../../models", "../../models"}) {
    const fs::path candidate = here / folder / model_name;
    std::error_code error;
    if (!here.empty() && fs::is_regular_file(candidate, error)) return platform::text_of(candidate.lexically_normal());
  }
  fail(ExitCode::bad_model,
       "no model is bundled with this program ({} was looked for around {}); name one with -m FILE "
       "or SKIPSTONE_MODEL",
       model_name, platform::text_of(here));
}

}  // namespace cli
