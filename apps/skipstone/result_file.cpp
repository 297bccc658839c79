#include "result_file.h"

#include <span>

#include "base/output_file.h"
#include "base/status.h"
#include "exit_code.h"

namespace cli {
namespace {

template <typename Action>
void with_failures(Action action) {
  try {
    action();
  } catch (const skipstone::Error& error) {
    fail(ExitCode::failure, "{}", error.what());
  }
}

}  // namespace

void check_writable(const std::string& path) {
  with_failures([&] { const skipstone::OutputFile file(path); });
}

void write_file(const std::string& path, std::string_view content) {
  with_failures([&] { skipstone::write_whole_file(path, std::as_bytes(std::span(content))); });
}

}  // namespace cli
