#include "base/input_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/status.h"

namespace skipstone {
namespace {

std::string reason(int error) { return std::generic_category().message(error); }

struct stat facts_of(int descriptor, const std::string& path) {
  struct stat info {};
  if (::fstat(descriptor, &info) != 0) fail(Code::io, "{}: cannot ask for the file's size: {}", path, reason(errno));
  return info;
}

/// The size of a file that can be read by place; throws where `info` says otherwise.
std::uint64_t regular_size(const struct stat& info, const std::string& path) {
  if (S_ISDIR(info.st_mode)) fail(Code::bad_file, "{}: is a directory and not a regular file; name a file in it", path);
  if (!S_ISREG(info.st_mode)) fail(Code::bad_file, "{}: is not a regular file; copy what it gives to a file", path);
  return static_cast<std::uint64_t>(std::max<off_t>(0, info.st_size));
}

}  // namespace

InputFile::InputFile(const std::string& path) : path_(path), owned_(true) {
  if (path.find('\0') != std::string::npos) fail(Code::not_found, "a file name cannot contain a zero byte");
  // O_NONBLOCK: opening a named pipe would otherwise wait for a writer before it could be refused.
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) {
    const int error = errno;
    if (error == ENOENT || error == ENOTDIR) fail(Code::not_found, "{}: there is no such file; check the path", path);
    fail(Code::io, "{}: cannot open the file: {}", path, reason(error));
  }
  try {
    size_ = regular_size(facts_of(descriptor_, path), path);
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

InputFile InputFile::borrow(int descriptor, std::uint64_t offset, std::optional<std::uint64_t> size) {
  InputFile file;
  file.path_ = fmt::format("file descriptor {}", descriptor);
  const int flags = ::fcntl(descriptor, F_GETFL);
  if (flags < 0) fail(Code::invalid_argument, "{}: is not open; pass one that is, and close it after the call", file.path_);
  if ((flags & O_ACCMODE) == O_WRONLY) fail(Code::invalid_argument, "{}: is open for writing alone; open the file for reading", file.path_);
  const std::uint64_t whole = regular_size(facts_of(descriptor, file.path_), file.path_);
  if (offset > whole || size.value_or(0) > whole - offset) {
    fail(Code::invalid_argument, "{}: {} bytes from byte {} on are asked for, but its file has {}", file.path_, size.value_or(0), offset,
         whole);
  }
  file.descriptor_ = descriptor;
  file.begin_ = offset;
  file.size_ = size.value_or(whole - offset);
  return file;
}

InputFile InputFile::in_memory(std::span<const std::byte> bytes, std::string name) {
  InputFile file;
  file.path_ = std::move(name);
  file.memory_ = bytes.data();
  file.size_ = bytes.size();
  return file;
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(other.descriptor_),
      owned_(std::exchange(other.owned_, false)),
      memory_(other.memory_),
      begin_(other.begin_),
      size_(other.size_) {}

InputFile& InputFile::operator=(InputFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(owned_, other.owned_);
  std::swap(memory_, other.memory_);
  std::swap(begin_, other.begin_);
  std::swap(size_, other.size_);
  return *this;
}

InputFile::~InputFile() {
  if (owned_ && descriptor_ >= 0) ::close(descriptor_);
}

void InputFile::read(std::uint64_t offset, std::span<std::byte> to) const {
  constexpr std::size_t most_at_once = std::size_t{1} << 30;
  if (offset > size_ || to.size() > size_ - offset)
    fail(Code::internal, "{}: has {} bytes; byte {} was asked for", path_, size_, offset + to.size());
  if (memory_ != nullptr) {
    std::memcpy(to.data(), memory_ + offset, to.size());
    return;
  }
  while (!to.empty()) {
    const ssize_t got = ::pread(descriptor_, to.data(), std::min(to.size(), most_at_once), static_cast<off_t>(begin_ + offset));
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
  if (file.size() > most_bytes)
    fail(Code::bad_file, "{}: has {} bytes, more than the {} that such a file may have", path, file.size(), most_bytes);
  std::string text(static_cast<std::size_t>(file.size()), '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

}  // namespace skipstone
