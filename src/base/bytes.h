// Bytes in memory, or in a part of an open file, from which they are read on demand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace skipstone {

class InputFile;

/// Cheap to copy. Those in a file keep it open; those in memory are valid as long as the memory is. Reading from a file throws like
/// InputFile::read.
class Bytes {
 public:
  Bytes() = default;
  Bytes(std::span<const std::byte> memory) : memory_(memory.data()), size_(memory.size()) {}
  Bytes(const std::vector<std::byte>& memory) : Bytes(std::span(memory)) {}
  /// The range has to lie in the file.
  Bytes(std::shared_ptr<const InputFile> file, std::uint64_t offset, std::uint64_t size);

  std::uint64_t size() const { return size_; }

  /// `count` bytes from `offset` on, which have to exist: in place, or in `buffer`, valid until that changes.
  std::span<const std::byte> view(std::uint64_t offset, std::uint64_t count, std::vector<std::byte>& buffer) const;

  std::vector<std::byte> all() const;
  friend bool operator==(const Bytes& a, const Bytes& b);

  /// Calls `visit(offset, bytes)` for all of them in order, in pieces of some whole units of `unit` bytes.
  template <typename Visit>
  void for_each_piece(std::uint64_t unit, Visit visit) const {
    constexpr std::uint64_t usual = 256u << 10;  // stays in a core's cache
    const std::uint64_t step = unit >= usual ? unit : usual / unit * unit;
    std::vector<std::byte> buffer;
    for (std::uint64_t at = 0; at < size_; at += step) visit(at, view(at, size_ - at < step ? size_ - at : step, buffer));
  }

 private:
  const std::byte* memory_ = nullptr;
  std::shared_ptr<const InputFile> file_;
  std::uint64_t offset_ = 0, size_ = 0;
};

}  // namespace skipstone
