// Reads a file from front to back and never past its end.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/input_file.h"
#include "base/status.h"

namespace skipstone::gguf {

/// Every read first checks the bytes left; one that does not fit throws bad_file with the file, the position and the item being read.
class Cursor {
 public:
  /// `file` has to outlive it.
  explicit Cursor(const InputFile& file) : file_(file) {}

  const std::string& path() const { return file_.path(); }
  std::uint64_t position() const { return position_; }
  std::uint64_t remaining() const { return file_.size() - position_; }

  /// The next `most` bytes or as many as are left, without advancing. Valid until the next call of any member.
  std::string_view peek(std::uint64_t most) {
    const auto bytes = window(std::min(most, remaining()));
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  /// Valid until the next call of any member.
  std::span<const std::byte> take(std::uint64_t count, std::string_view what) {
    if (count > remaining()) {
      fail(Code::bad_file, "{}: {} at byte {} takes {} bytes but only {} are left; the file is damaged or incomplete, download it again",
           path(), what, position_, count, remaining());
    }
    const auto taken = window(count);
    position_ += count;
    return taken;
  }

  template <typename T>
  T scalar(std::string_view what) {
    T value;
    std::memcpy(&value, take(sizeof(T), what).data(), sizeof(T));
    return value;
  }

  /// Valid until the next call of any member.
  std::string_view string(std::string_view what) {
    constexpr std::uint64_t longest = std::uint64_t{64} << 20;  // far beyond any template or licence
    const auto length = scalar<std::uint64_t>(what);
    if (length > longest && length <= remaining()) {
      fail(Code::bad_file, "{}: {} before byte {} is a text of {} bytes, more than the {} that are read; the file is damaged", path(), what,
           position_, length, longest);
    }
    const auto text = take(length, what);
    return {reinterpret_cast<const char*>(text.data()), text.size()};
  }

  /// A count of things of at least `least` bytes each, refused where the file cannot hold that many.
  std::uint64_t count(std::uint64_t least, std::string_view what) {
    const std::uint64_t at = position_;
    const auto number = scalar<std::uint64_t>(what);
    if (number > remaining() / least) {
      fail(Code::bad_file, "{}: {} at byte {} is {}, more than the remaining {} bytes can hold; the file is damaged", path(), what, at,
           number, remaining());
    }
    return number;
  }

 private:
  /// `count` bytes from the position on, read together with the bytes after them.
  std::span<const std::byte> window(std::uint64_t count) {
    constexpr std::uint64_t usual = 256u << 10;
    if (position_ < begin_ || position_ + count > begin_ + window_.size()) {
      window_.resize(static_cast<std::size_t>(std::min(std::max(count, usual), remaining())));
      begin_ = position_;
      file_.read(begin_, window_);
    }
    return std::span(window_).subspan(static_cast<std::size_t>(position_ - begin_), static_cast<std::size_t>(count));
  }

  const InputFile& file_;
  std::vector<std::byte> window_;  ///< the file from begin_ on
  std::uint64_t begin_ = 0, position_ = 0;
};

}  // namespace skipstone::gguf
