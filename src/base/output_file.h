// A file that stands under its name only when it is complete.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace skipstone {

/// Written beside the final path and renamed to it by finish(); removed again where finish() is not reached.
/// Every member throws io with the path and the reason; nothing is left behind then, and what stood under the name before stays.
class OutputFile {
 public:
  explicit OutputFile(const std::string& path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  void write(std::span<const std::byte> bytes);
  void finish();

 private:
  [[noreturn]] void failed(const char* what) const;

  std::string path_;
  std::string temporary_;
  int descriptor_ = -1;
  bool renamed_ = false;
};

}  // namespace skipstone
