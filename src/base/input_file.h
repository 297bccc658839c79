// A regular file, or memory in place of one, read by offset. Files are not mapped: one that another program truncates would end this
// program with SIGBUS.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/platform/files.h"

namespace skipstone {

/// Movable; on destruction closes the file that it has opened.
class InputFile {
 public:
  /// Never waits, whatever `path` is. Throws not_found (no such file), io (no permission, a read error), bad_file (a folder, a pipe, a
  /// device).
  explicit InputFile(const std::string& path);
  /// A part of a file that the caller has opened and closes: `size` bytes from `offset` on, or all up to its end. The descriptor's own
  /// position is neither used nor moved. Throws invalid_argument (not an open file, a part outside it), io, bad_file like the above.
  static InputFile borrow(int descriptor, std::uint64_t offset, std::optional<std::uint64_t> size);
  /// Bytes that the caller keeps as long as this object; `name` replaces the path in messages.
  static InputFile in_memory(std::span<const std::byte> bytes, std::string name);

  const std::string& path() const { return path_; }
  /// In bytes, as it was when the file was opened; of a part, the part's.
  std::uint64_t size() const { return size_; }

  /// Fills `to` with the bytes from `offset` on; several threads may read at once. Throws io where that fails, bad_file where the file has
  /// become shorter.
  void read(std::uint64_t offset, std::span<std::byte> to) const;

 private:
  InputFile() = default;

  std::string path_;
  platform::OpenFile file_;
  const std::byte* memory_ = nullptr;  ///< instead of a file
  std::uint64_t begin_ = 0;            ///< where in the file byte 0 lies
  std::uint64_t size_ = 0;
};

/// All bytes of a file. Throws like InputFile, and bad_file where there are more than `most_bytes`.
std::string read_whole_file(const std::string& path, std::uint64_t most_bytes);

}  // namespace skipstone
