#include "base/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include "base/status.h"

namespace skipstone {
namespace {

std::string reason(int error) { return std::generic_category().message(error); }

/// The size of a file that can be read by place; throws where `info` says otherwise.
std::uint64_t regular_size(const struct stat& info, const std::string& path) {
  if (S_ISDIR(info.st_mode)) fail(Code::bad_file, "{}: is a directory and not a regular file; name a file in it", path);
  if (!S_ISREG(info.st_mode)) fail(Code::bad_file, "{}: is not a regular file; copy what it gives to a file", path);
  return static_cast<std::uint64_t>(std::max<off_t>(0, info.st_size));
}

}  // namespace

InputFile::InputFile(const std::string& path) : path_(path) {
  if (path.find('\0') != std::string::npos) fail(Code::not_found, "a file name cannot contain a zero byte");
  // O_NONBLOCK: opening a named pipe would otherwise wait for a writer before it could be refused.
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) {
    const int error = errno;
    if (error == ENOENT || error == ENOTDIR) fail(Code::not_found, "{}: there is no such file; check the path", path);
    fail(Code::io, "{}: cannot open the file: {}", path, reason(error));
  }
  try {
    struct stat info {};
    if (::fstat(descriptor_, &info) != 0) fail(Code::io, "{}: cannot ask for the file's size: {}", path, reason(errno));
    size_ = regular_size(info, path);
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_) {}

InputFile& InputFile::operator=(InputFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(size_, other.size_);
  return *this;
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void InputFile::read(std::uint64_t offset, std::span<std::byte> to) const {
  constexpr std::size_t most_at_once = std::size_t{1} << 30;
  while (!to.empty()) {
    const ssize_t got = ::pread(descriptor_, to.data(), std::min(to.size(), most_at_once), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(Code::io, "{}: cannot read at byte {}: {}", path_, offset, reason(errno));
    if (got == 0) {
      fail(Code::bad_file, "{}: ends at byte {} of {} now: it was cut short while it was read; get the whole file, and leave it in peace",
           path_, offset, size_);
    }
    offset += static_cast<std::uint64_t>(got);
    to = to.subspan(static_cast<std::size_t>(got));
  }
}

std::string read_whole_file(const std::string& path, std::uint64_t most_bytes) {
  const InputFile file(path);
  if (file.size() > most_bytes) fail(Code::bad_file, "{}: has {} bytes, more than the {} that such a file may have", path, file.size(), most_bytes);
  std::string text(static_cast<std::size_t>(file.size()), '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

}  // namespace skipstone
