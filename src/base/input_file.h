// A regular file, read by place. Files are not mapped: one that another program cuts short would end this one with SIGBUS.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace skipstone {

/// Movable; closes on destruction.
class InputFile {
 public:
  /// Never waits, whatever `path` is. Throws not_found (no such file), io (no permission, a read error), bad_file (a folder, a pipe, a device).
  explicit InputFile(const std::string& path);
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&& other) noexcept;
  ~InputFile();

  const std::string& path() const { return path_; }
  /// In bytes, as it was when the file was opened.
  std::uint64_t size() const { return size_; }

  /// Fills `to` with the bytes from `offset` on; several threads may read at once. Throws io where that fails, bad_file where the file has
  /// become shorter.
  void read(std::uint64_t offset, std::span<std::byte> to) const;

 private:
  std::string path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

/// All bytes of a file. Throws like InputFile, and bad_file where there are more than `most_bytes`.
std::string read_whole_file(const std::string& path, std::uint64_t most_bytes);

}  // namespace skipstone
