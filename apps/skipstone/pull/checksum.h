// The checksums by which a hub names the bytes of files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace cli::pull {

/// The checksum of bytes that come piece by piece: their SHA-256, as the hub names large files, or git's of a blob (SHA-1 over
/// "blob SIZE", a zero byte and the bytes), as it names those that are in the repository itself.
class Checksum {
 public:
  /// Whether `text` is one of them: 64 or 40 hexadecimal digits in lower case.
  static bool is_one(const std::string& text);

  /// `expected`: what is_one() accepts; `bytes`: of the whole file.
  Checksum(std::string expected, std::uint64_t bytes);
  Checksum(Checksum&&) noexcept;
  Checksum& operator=(Checksum&&) noexcept;
  ~Checksum();

  void add(std::span<const std::byte> bytes);
  /// Whether the bytes so far have the expected one; nothing can be added afterwards.
  bool matches();

 private:
  struct Context;
  std::string expected_;
  std::unique_ptr<Context> context_;
};

}  // namespace cli::pull
