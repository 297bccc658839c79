// Files that a command writes its result to; each stands under its name only when it is complete.
#pragma once

#include <string>
#include <string_view>

namespace cli {

/// Throws Failure where a result could not be written to `path`: to be asked before hours of work. Leaves nothing behind.
void check_writable(const std::string& path);

/// Writes beside `path` and renames; what stood there before is replaced. Throws Failure with the reason, and then nothing is left behind
/// and what stood there before stays.
void write_file(const std::string& path, std::string_view content);

}  // namespace cli
