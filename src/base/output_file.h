// A file that has its name only when it is complete.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <system_error>

#include "base/platform/files.h"

namespace skipstone {

/// Written next to the final path, under a random name, and renamed to it by finish(); removed again where finish() is not reached. The
/// file of a killed process does no harm, and the next process that writes the same path removes it.
/// Every member throws io with the path and the reason; no file remains then, and any earlier file of that name stays.
class OutputFile {
 public:
  explicit OutputFile(const std::string& path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  void write(std::span<const std::byte> bytes);
  /// The file and its name are on the disk when this returns, where the file system can say so.
  void finish();

 private:
  [[noreturn]] void failed(const char* what, const std::error_code& reason) const;

  std::string path_;
  std::string temporary_;
  platform::OpenFile file_;
};

/// Writes a whole file at once. Throws like OutputFile.
void write_whole_file(const std::string& path, std::span<const std::byte> bytes);

}  // namespace skipstone
