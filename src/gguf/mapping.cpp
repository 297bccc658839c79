#include "gguf/mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

#include "base/status.h"

namespace skipstone::gguf {
namespace {

class Descriptor {
 public:
  // O_NONBLOCK: opening a named pipe would otherwise wait for a writer before we could refuse it.
  explicit Descriptor(const std::string& path) : number_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }

 private:
  int number_;
};

std::string reason(int error) { return std::generic_category().message(error); }

}  // namespace

Mapping::Mapping(const std::string& path) {
  if (path.find('\0') != std::string::npos) fail(Code::not_found, "a file name cannot contain a zero byte");
  const Descriptor file(path);
  if (file.number() < 0) {
    const int error = errno;
    if (error == ENOENT || error == ENOTDIR) fail(Code::not_found, "{}: there is no such file; check the path of the model", path);
    fail(Code::io, "{}: cannot open the file: {}", path, reason(error));
  }
  struct stat info {};
  if (::fstat(file.number(), &info) != 0) fail(Code::io, "{}: cannot ask for the file's size: {}", path, reason(errno));
  if (S_ISDIR(info.st_mode)) fail(Code::bad_file, "{}: is a directory; name the .gguf file in it", path);
  if (!S_ISREG(info.st_mode)) fail(Code::bad_file, "{}: is not a regular file, so it cannot be mapped; copy the model to a file", path);
  if (info.st_size <= 0) fail(Code::bad_file, "{}: is empty; download the model again", path);
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (size > SIZE_MAX / 2) fail(Code::unsupported, "{}: is too large for this machine's address space ({} bytes)", path, size);
  void* start = ::mmap(nullptr, static_cast<std::size_t>(size), PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (start == MAP_FAILED) fail(Code::io, "{}: cannot map {} bytes: {}", path, size, reason(errno));
  bytes_ = {static_cast<const std::byte*>(start), static_cast<std::size_t>(size)};
}

Mapping::Mapping(Mapping&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

Mapping::~Mapping() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace skipstone::gguf
