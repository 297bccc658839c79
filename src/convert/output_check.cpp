#include "convert/output_check.h"

#include <filesystem>

#include "base/output_file.h"
#include "base/platform/files.h"
#include "base/status.h"
#include "gguf/gguf.h"
#include "gguf/parts.h"

namespace skipstone::convert {

std::vector<std::string> parts_of(const gguf::File& model) {
  std::vector<std::string> files{model.path()};
  if (model.integer("split.count", 1) <= 1) return files;
  const auto split = gguf::parse_split_name(model.path());
  for (std::uint32_t part = 1; split && part <= split->count; ++part) files.push_back(gguf::split_name(split->prefix, part, split->count));
  return files;
}

void check_output(const std::string& output, std::span<const std::string> inputs, bool overwrite) {
  if (output.empty()) fail(Code::invalid_argument, "the file to write has no name");
  const platform::FileKind there = platform::kind_of(output);
  if (there == platform::FileKind::directory) fail(Code::invalid_argument, "{}: is a folder; name the file to write", output);
  for (const std::string& file : inputs) {
    if (platform::are_same(file, output)) {
      fail(Code::invalid_argument, "{}: is the input ({}) itself; choose another name for the output", output, file);
    }
  }
  std::error_code ignored;
  const bool link = std::filesystem::is_symlink(platform::path_of(output), ignored);  // possibly a dangling one
  if (!overwrite && (link || there != platform::FileKind::nothing)) {
    fail(Code::invalid_argument, "{}: is there already; choose another name, or allow it to be replaced (--force)", output);
  }
  const OutputFile trial(output);  // throws what the real one would
}

}  // namespace skipstone::convert
