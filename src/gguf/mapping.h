// A file mapped for reading.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace skipstone::gguf {

/// Movable; unmaps on destruction.
class Mapping {
 public:
  Mapping() = default;  ///< of nothing
  /// Throws not_found (no such file), io (no permission, a read error), bad_file (a directory, a device, an empty file).
  explicit Mapping(const std::string& path);
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace skipstone::gguf
