// Reads a file from front to back and never past its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace skipstone::gguf {

/// Every read checks what is left first; what does not fit throws bad_file with the file, the position and what was being read.
class Cursor {
 public:
  Cursor(std::span<const std::byte> bytes, std::string path) : bytes_(bytes), path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  std::uint64_t position() const { return position_; }
  std::uint64_t remaining() const { return bytes_.size() - position_; }

  std::span<const std::byte> take(std::uint64_t count, std::string_view what) {
    if (count > remaining()) {
      fail(Code::bad_file, "{}: {} at byte {} takes {} bytes but only {} are left; the file is damaged or incomplete, download it again",
           path_, what, position_, count, remaining());
    }
    const auto taken = bytes_.subspan(static_cast<std::size_t>(position_), static_cast<std::size_t>(count));
    position_ += count;
    return taken;
  }

  template <typename T>
  T scalar(std::string_view what) {
    T value;
    std::memcpy(&value, take(sizeof(T), what).data(), sizeof(T));
    return value;
  }

  std::string_view string(std::string_view what) {
    const auto length = scalar<std::uint64_t>(what);
    const auto text = take(length, what);
    return {reinterpret_cast<const char*>(text.data()), text.size()};
  }

  /// A count of things of at least `least` bytes each, refused where the file cannot hold that many.
  std::uint64_t count(std::uint64_t least, std::string_view what) {
    const std::uint64_t at = position_;
    const auto number = scalar<std::uint64_t>(what);
    if (number > remaining() / least) {
      fail(Code::bad_file, "{}: {} at byte {} is {}, more than the remaining {} bytes can hold; the file is damaged", path_, what, at,
           number, remaining());
    }
    return number;
  }

 private:
  std::span<const std::byte> bytes_;
  std::string path_;
  std::uint64_t position_ = 0;
};

}  // namespace skipstone::gguf
