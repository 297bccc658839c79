// Result files of commands; each gets its name only when it is complete.
#pragma once

#include <string>
#include <string_view>

namespace cli {

/// Throws Failure if a result could not be written to `path`: to be called before hours of work. Leaves no file.
void check_writable(const std::string& path);

/// Writes a temporary file next to `path` and renames it, replacing an earlier file. Throws Failure with the reason, and then leaves no
/// temporary file and keeps the earlier file.
void write_file(const std::string& path, std::string_view content);

}  // namespace cli
