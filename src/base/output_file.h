// A file that stands under its name only when it is complete.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <system_error>

#include "base/platform/files.h"

namespace skipstone {

/// Written beside the final path, under a random name, and renamed to it by finish(); removed again where finish() is not reached. What a
/// killed process left behind is in nobody's way, and the next one that writes the same path removes it.
/// Every member throws io with the path and the reason; nothing is left behind then, and what stood under the name before stays.
class OutputFile {
 public:
  explicit OutputFile(const std::string& path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  void write(std::span<const std::byte> bytes);
  /// The file, and that it has this name, are on the disk when this returns, where the file system can say so.
  void finish();

 private:
  [[noreturn]] void failed(const char* what, const std::error_code& reason) const;

  std::string path_;
  std::string temporary_;
  platform::OpenFile file_;
};

/// The whole of it at once. Throws like OutputFile.
void write_whole_file(const std::string& path, std::span<const std::byte> bytes);

}  // namespace skipstone
